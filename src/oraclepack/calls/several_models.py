"""`--models a,b`: one call for each model, with a key, a price, retries and adoption of its own.

Oracle asks all of them again when one fails. The files are those that it would write: `x.a.md`,
`x.b.md` and `x.oracle.json`. They go one after the other, since oracle refuses a prompt that
another session is asking.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls.answers import publish
from oraclepack.calls.call import Call
from oraclepack.calls.live_call import LiveCall
from oraclepack.calls.overrides import overridden
from oraclepack.errors import Refusal
from oraclepack.system.clock import rfc3339
from oraclepack.system.digests import canonical_file
from oraclepack.system.path_jail import jail
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_question import model_output, read_question
from oraclepack.tools.tool_names import ORACLE


class ModelCall(msgspec.Struct, frozen=True):
    """The part of a call that asks one of its models."""

    model: str
    output: str
    """As the step names it."""
    made: LiveCall


def calls_by_model(call: Call) -> tuple[ModelCall, ...]:
    """One call for each model; none where a call asks one model, or answers on the screen only."""
    made, table = call.made, table_of(ORACLE)
    argv = overridden(table, made.argv, call.context.options.overrides.for_step(call.step))
    question = read_question(parse_argv(table, argv), argv)
    if question.output is None:
        return ()
    parts = []
    for number, model in enumerate(question.models):
        output = model_output(question.output, model)
        words = overridden(table, argv, (f"--models={model}", f"--write-output={output}"))
        own = made.number if number == 0 else call.shim.next_call()
        part = replace(made, argv=words, number=own, is_overridden=True)
        parts.append(ModelCall(model, output, part))
    return tuple(parts)


def exit_code_of(call: Call, codes: Sequence[int]) -> int:
    """That of the whole call: all models must answer, or one where the pack says so."""
    parsed = parse_argv(table_of(ORACLE), call.made.argv)
    partial = parsed.last("--partial")
    may_be_partial = parsed.last("--allow-partial") or (partial and partial.value == "ok")
    if may_be_partial and 0 in codes:
        return 0
    return next((code for code in codes if code != 0), 0)


def publish_manifest(call: Call, parts: Sequence[ModelCall], codes: Sequence[int]) -> None:
    """Write `x.oracle.json` as oracle would; without any answer there is none."""
    if 0 not in codes:
        return
    cwd, argv = call.made.cwd, call.made.argv
    base = read_question(parse_argv(table_of(ORACLE), argv), argv).output or ""
    path = Path(base)
    place = jail(call.root, str(path.with_name(f"{path.stem}.oracle.json")), Path(cwd))
    if isinstance(place, Refusal):
        return
    models = [
        {
            "model": one.model,
            "status": "completed" if code == 0 else "error",
            **({"outputPath": str(Path(cwd, one.output))} if code == 0 else {}),
        }
        for one, code in zip(parts, codes, strict=True)
    ]
    manifest = {
        "version": 1,
        "status": "completed" if not any(codes) else "partial",
        "outputBasePath": str(Path(cwd, base)),
        "createdAt": rfc3339(call.context.clock.now()),
        "models": models,
    }
    publish(call, place, canonical_file(manifest))
