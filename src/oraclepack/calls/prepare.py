"""A call of oracle, understood: what it asks, where the answer goes, what its key is."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from oraclepack.calls.context import CallContext
from oraclepack.calls.key import InvocationKey, key_of, unkeyed
from oraclepack.calls.live_call import LiveCall, Shim, ToolRun
from oraclepack.calls.truth import contract_of_call
from oraclepack.calls.worst_case import most_tokens
from oraclepack.errors import InputError, Refusal
from oraclepack.pack.contract import OutputContract
from oraclepack.system.path_jail import AllowedPath, jail
from oraclepack.tools.argv import ParsedArgv
from oraclepack.tools.oracle_attachments import (
    AttachedFile,
    FileArgumentKind,
    kind_of,
    only_plain,
    read_attached,
    read_rendering,
    rendering_argv,
)
from oraclepack.tools.oracle_config import OracleContext, around_call
from oraclepack.tools.oracle_question import OracleQuestion, written_paths
from oraclepack.tools.providers import limit_name, model_of, provider_of

_RENDER_PATIENCE = 120.0
_LARGEST_RENDERING = 256_000_000


class PreparedCall(msgspec.Struct, frozen=True):
    """A call of oracle and everything known before it is made."""

    call: LiveCall
    argv: tuple[str, ...]
    """With overrides and what we add ourselves."""
    question: OracleQuestion
    outputs: tuple[AllowedPath, ...]
    contracts: tuple[OutputContract, ...]
    key: InvocationKey | Refusal
    provider: str
    model: str | None
    limit: str
    most_input: int | None = None
    """No fewer input tokens than it sends; None where its files are not known."""

    @property
    def key_value(self) -> str | None:
        return self.key.value if isinstance(self.key, InvocationKey) else None

    @property
    def output_path(self) -> str | None:
        """Relative to the project root."""
        return self.outputs[0].relative if self.outputs else None


def check_paths(
    context: CallContext, call: LiveCall, parsed: ParsedArgv
) -> tuple[AllowedPath, ...] | Refusal:
    """The paths a call of whatever tool writes to, or the first that it may not write to."""
    allowed = []
    for flag, path in written_paths(parsed):
        verdict = _jailed(context, call, path)
        if isinstance(verdict, Refusal):
            return Refusal(verdict.reason, subject=f"{flag} {path}")
        allowed.append(verdict)
    return tuple(allowed)


def promised(
    context: CallContext, call: LiveCall, question: OracleQuestion
) -> list[AllowedPath] | Refusal:
    """The files a call promises its answer in."""
    verdicts = [_jailed(context, call, path) for path in question.outputs]
    refused = next((verdict for verdict in verdicts if isinstance(verdict, Refusal)), None)
    return refused or [verdict for verdict in verdicts if isinstance(verdict, AllowedPath)]


def _jailed(context: CallContext, call: LiveCall, path: str) -> AllowedPath | Refusal:
    if not call.cwd:
        return Refusal("the step's current directory is gone", subject=path)
    return jail(context.root, path, Path(call.cwd))


def prepare(
    context: CallContext,
    call: LiveCall,
    argv: tuple[str, ...],
    question: OracleQuestion,
    outputs: Sequence[AllowedPath],
    key: InvocationKey | Refusal,
    around: OracleContext,
) -> PreparedCall:
    provider = provider_of(question, around)
    options, step = context.options, context.pack.step(call.step)
    contracts = [
        contract_of_call(
            step, out.relative, question.prompt, chunks=options.chunks, mode=options.contracts
        )
        for out in outputs
    ]
    return PreparedCall(
        call=call,
        argv=argv,
        question=question,
        outputs=tuple(outputs),
        contracts=tuple(contracts),
        key=key,
        provider=provider,
        model=model_of(question, around),
        limit=limit_name(question, provider),
    )


def oracle_context_of(call: LiveCall) -> OracleContext | Refusal:
    try:
        return around_call(call.cwd, call.env)
    except InputError as trouble:
        return Refusal(trouble.message)


def find_key(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    argv: tuple[str, ...],
    question: OracleQuestion,
    around: OracleContext,
) -> tuple[InvocationKey | Refusal, int | None]:
    """The key of a call, and the most input tokens; its files are remembered for the step."""
    attached = _attached(call, shim, argv, question)
    if isinstance(attached, Refusal):
        return unkeyed(question) or attached, None
    remember(context, call, attached)
    key = key_of(question, [(file.path, file.sha256) for file in attached], around)
    return key, most_tokens(
        (question.prompt.encode("utf-8", "replace"), *(file.data for file in attached))
    )


def remember(context: CallContext, call: LiveCall, attached: Sequence[AttachedFile]) -> None:
    """Keep what a step's calls attach, with paths relative to the project root."""
    parts = {}
    for file in attached:
        place = jail(context.root, file.path, Path(call.cwd))
        if isinstance(place, AllowedPath):
            parts[place.relative] = file.sha256
    context.shared.attach(call.step, call.attempt, parts)


def _attached(
    call: LiveCall, shim: Shim, argv: tuple[str, ...], question: OracleQuestion
) -> tuple[AttachedFile, ...] | Refusal:
    values = question.files
    plain = only_plain(values)
    if plain and any(kind_of(call.cwd, value) is FileArgumentKind.MISSING for value in values):
        return Refusal("an attached file does not exist")
    if not plain or any(kind_of(call.cwd, value) is FileArgumentKind.DIRECTORY for value in values):
        reply = _ask_tool(call, shim, argv, question)
        if isinstance(reply, Refusal):
            return reply
        values = reply
    try:
        return read_attached(call.cwd, values)
    except InputError as trouble:
        return Refusal(trouble.message)


def _ask_tool(
    call: LiveCall, shim: Shim, argv: tuple[str, ...], question: OracleQuestion
) -> tuple[str, ...] | Refusal:
    """The files the tool itself says it would attach: patterns are its own to read."""
    order = ToolRun(
        tool=call.tool,
        argv=rendering_argv(argv),
        cwd=call.cwd,
        env=call.env,
        timeout=_RENDER_PATIENCE,
        hidden=True,
        keep=_LARGEST_RENDERING,
    )
    end = shim.run(order, lambda _: None)
    if end.exit_code != 0 or end.cut:
        return Refusal(
            f"the tool does not list the files that it attaches (exit code {end.exit_code})"
        )
    rendering = read_rendering(end.out, question.prompt)
    if rendering is None:
        return Refusal("what the tool says it would send cannot be read")
    return rendering.files
