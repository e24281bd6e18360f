"""A call of oracle, understood: what it asks, where the answer goes, what its key is."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls.context import CallContext
from oraclepack.calls.key import InvocationKey, key_of, unkeyed
from oraclepack.calls.live_call import LiveCall, Shim, ToolRun
from oraclepack.calls.truth import contract_of_call
from oraclepack.errors import InputError, OraclePackError, Refusal
from oraclepack.pack.contract import OutputContract
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import AllowedPath, climbs, jail, read_content
from oraclepack.tools.argv import ParsedArgv
from oraclepack.tools.oracle_attachments import (
    AttachedFile,
    FileArgumentKind,
    exclusions,
    kind_of,
    only_plain,
    read_attached,
    read_rendering,
    rendering_argv,
)
from oraclepack.tools.oracle_config import OracleContext, around_call
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.oracle_question import OracleQuestion, written_paths
from oraclepack.tools.providers import (
    BROWSER,
    ApiRoute,
    api_route,
    environment_of,
    limit_name,
    model_of,
    provider_of,
)

_RENDER_PATIENCE = 120.0
_FRESH_NS = 3_000_000_000
"""A list of files that is older is made again."""
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
    around: OracleContext = OracleContext()
    route: ApiRoute | None = None
    """Where it goes over an API; None in a browser."""
    most_input: int | None = None
    """No fewer input tokens than it sends; None where its files are not known."""
    attached: tuple[tuple[str, str], ...] = ()
    """The files of its key and their SHA-256."""
    read_ns: int = 0
    """When they were read, by the steady clock."""

    @property
    def key_value(self) -> str | None:
        return self.key.value if isinstance(self.key, InvocationKey) else None

    @property
    def api_key(self) -> str:
        """The key of its route, from the environment of the call; empty where there is none."""
        environment = environment_of(self.around, self.call.env)
        return self.route.key(environment) if self.route else ""

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
    if climbs(path):
        return Refusal("no `..` may be in an output path", subject=path)
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
    model = model_of(question, around)
    route = None
    if provider != BROWSER:
        environment = environment_of(around, call.env)
        route = api_route(question, resolve_model(model) or "", around, environment)
    return PreparedCall(
        call=call,
        argv=argv,
        question=question,
        outputs=tuple(outputs),
        contracts=tuple(contracts),
        key=key,
        provider=provider,
        model=model,
        limit=limit_name(question, provider),
        around=around,
        route=route,
    )


def oracle_context_of(call: LiveCall) -> OracleContext | Refusal:
    try:
        return around_call(call.cwd, call.env)
    except InputError as trouble:
        return Refusal(trouble.message)


def without_own_files(
    context: CallContext, call: LiveCall, argv: tuple[str, ...], values: Sequence[str]
) -> tuple[str, ...]:
    """The call with exclusions, where a pattern could take in what is ours."""
    if not call.cwd:
        return argv
    step = context.pack.step(call.step)
    declared = (output.path.value for output in step.outputs) if step else ()
    mine = tuple(path for path in declared if path)
    own = replace(context.own_files, mine=mine)
    added = exclusions(str(context.root), call.cwd, values, own)
    return (*(f"--file={value}" for value in added), *argv)


def find_key(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    argv: tuple[str, ...],
    question: OracleQuestion,
    around: OracleContext,
) -> tuple[InvocationKey | Refusal, tuple[AttachedFile, ...]]:
    """The key of a call, and its files, which are remembered for the step."""
    attached = _attached(call, shim, argv, question)
    if isinstance(attached, Refusal):
        return unkeyed(question) or attached, ()
    remember(context, call, attached)
    return key_of(question, [(file.path, file.sha256) for file in attached], around), attached


class AttachmentsChangedError(OraclePackError):
    """The files of a question are not those of its key any more. Nothing was asked."""


def check_attached(context: CallContext, prepared: PreparedCall, shim: Shim) -> None:
    """Before the tool begins, after all waits. Raises AttachmentsChangedError.

    Which files a pattern means is looked up again only after a wait: the tool is asked for it.
    """
    if changed_file(prepared) is not None:
        raise AttachmentsChangedError("an attached file was changed")
    waited = context.clock.monotonic_ns() - prepared.read_ns > _FRESH_NS
    if waited and not only_plain(prepared.question.files):
        now = _attached(prepared.call, shim, prepared.argv, prepared.question)
        files = () if isinstance(now, Refusal) else now
        if tuple((file.path, file.sha256) for file in files) != prepared.attached:
            raise AttachmentsChangedError("a pattern means other files")


def changed_file(prepared: PreparedCall) -> str | None:
    """The first attached file that is not what it was when the key was made."""
    for path, sha256 in prepared.attached:
        data = read_content(Path(prepared.call.cwd, path)).data
        if data is None or sha256_bytes(data) != sha256:
            return path
    return None


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
