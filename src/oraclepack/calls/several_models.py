"""`--models a,b`: one call for each model, with a key, a price, retries and adoption of its own.

Oracle asks all of them again when one fails. The files are those that it would write: `x.a.md`,
`x.b.md` and `x.oracle.json`. They go one after the other, since oracle refuses a prompt that
another session is asking.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.overrides import overridden
from oraclepack.calls.publication import publish
from oraclepack.errors import Refusal
from oraclepack.system.clock import rfc3339
from oraclepack.system.digests import canonical_file
from oraclepack.system.path_jail import jail
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_question import OracleQuestion, model_output, read_question
from oraclepack.tools.tool_names import ORACLE


class ModelCall(msgspec.Struct, frozen=True):
    """The part of a call that asks one of its models."""

    model: str
    output: str
    """As the step names it."""
    call: LiveCall


def calls_by_model(context: CallContext, call: LiveCall, shim: Shim) -> tuple[ModelCall, ...]:
    """One call for each model; none where a call asks one model, or answers on the screen only."""
    if call.tool != ORACLE:
        return ()
    table = table_of(call.tool)
    argv = overridden(table, call.argv, context.options.overrides.for_step(call.step))
    question = read_question(parse_argv(table, argv), argv)
    if not question.models or question.output is None:
        return ()
    return tuple(
        _of_model(call, shim, argv, question, number) for number in range(len(question.models))
    )


def _of_model(
    call: LiveCall, shim: Shim, argv: tuple[str, ...], question: OracleQuestion, number: int
) -> ModelCall:
    model = question.models[number]
    output = model_output(question.output or "", model)
    words = (f"--models={model}", f"--write-output={output}")
    own = overridden(table_of(call.tool), argv, words)
    return ModelCall(
        model,
        output,
        replace(
            call,
            argv=own,
            number=call.number if number == 0 else shim.next_call(),
            is_overridden=True,
        ),
    )


def exit_code_of(call: LiveCall, codes: Sequence[int]) -> int:
    """That of the whole call: all models must answer, or one where the pack says so."""
    parsed = parse_argv(table_of(call.tool), call.argv)
    partial = parsed.last("--partial")
    may_be_partial = parsed.last("--allow-partial") or (partial and partial.value == "ok")
    if may_be_partial and 0 in codes:
        return 0
    return next((code for code in codes if code != 0), 0)


def publish_manifest(
    context: CallContext, call: LiveCall, calls: Sequence[ModelCall], codes: Sequence[int]
) -> None:
    """Write `x.oracle.json` as oracle would; without any answer there is none."""
    if 0 not in codes:
        return
    base = read_question(parse_argv(table_of(call.tool), call.argv), call.argv).output or ""
    path = Path(base)
    place = jail(context.root, str(path.with_name(f"{path.stem}.oracle.json")), Path(call.cwd))
    if isinstance(place, Refusal):
        return
    models = [
        {
            "model": one.model,
            "status": "completed" if code == 0 else "error",
            **({"outputPath": str(Path(call.cwd, one.output))} if code == 0 else {}),
        }
        for one, code in zip(calls, codes, strict=True)
    ]
    manifest = {
        "version": 1,
        "status": "completed" if not any(codes) else "partial",
        "outputBasePath": str(Path(call.cwd, base)),
        "createdAt": rfc3339(context.clock.now()),
        "models": models,
    }
    publish(context, call, place, canonical_file(manifest))
