"""Reading a call of oracle: what it asks of whom, where the answer goes, what its key is."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from oraclepack.calls.answers import back_up_replaced
from oraclepack.calls.budget import most_tokens
from oraclepack.calls.call import AttachmentsChangedError, Call
from oraclepack.calls.key import InvocationKey, key_of, unkeyed
from oraclepack.calls.overrides import effective_argv
from oraclepack.engines.engine import Question
from oraclepack.errors import InputError, Refusal, StepError
from oraclepack.journal.statuses import OUTPUT_PATH
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.pack.contract import (
    ChunkMode,
    ContractMode,
    DeclaredOutput,
    OutputContract,
    group_of,
    infer,
)
from oraclepack.pack.model import CONTRACT, Step
from oraclepack.system import files
from oraclepack.system.path_jail import AllowedPath, climbs, jail, leads_out
from oraclepack.tools.argv import ParsedArgv, parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_attachments import AttachedFile, exclusions, literal_part, only_plain
from oraclepack.tools.oracle_config import OracleContext, around_call, steering_of
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.oracle_question import (
    OracleQuestion,
    read_question,
    reads_stdin,
    written_paths,
)
from oraclepack.tools.providers import (
    BROWSER,
    environment_of,
    limit_name,
    model_of,
    provider_of,
)
from oraclepack.tools.tool_names import ORACLE

_FRESH_NS = 3_000_000_000
"""A list of files that is older is made again."""


def read(call: Call) -> StepError | None:
    """Learn everything that is known of a question before it is asked; why it may not be made."""
    context, made = call.context, call.made
    table = table_of(ORACLE)
    words = () if made.is_overridden else context.options.overrides.for_step(call.step)
    argv = effective_argv(table, made.argv, words)
    argv = _without_own_files(call, argv, read_question(parse_argv(table, argv), argv).files)
    parsed = parse_argv(table, argv)
    written = check_paths(call, parsed)
    if isinstance(written, Refusal):
        return StepError(code=OUTPUT_PATH, message=str(written))
    stdin = call.shim.read_stdin() if reads_stdin(parsed, argv) else b""
    asked = read_question(parsed, argv, stdin.decode("utf-8", "replace"))
    output = None if asked.output is None else jailed(call, asked.output)
    if isinstance(output, Refusal):
        return StepError(code=OUTPUT_PATH, message=str(output))
    refused = would_replace(call, (*written, *((output,) if output else ())))
    if refused is not None:
        return StepError(code=OUTPUT_PATH, message=str(refused))
    for side_file in set(written) - {output}:  # the tool itself writes to them
        back_up_replaced(call, side_file.path)
    found = _around(call)
    around = OracleContext() if isinstance(found, Refusal) else found
    call.redactor = call.redactor.also(around.dotenv)
    linked = _linked(call, asked.files)
    if linked:
        return StepError(code="ATTACHED_LINK", message=linked)
    _understand(call, argv, asked, output, around)
    _make_key(call, found)
    return None


def _understand(
    call: Call,
    argv: tuple[str, ...],
    asked: OracleQuestion,
    output: AllowedPath | None,
    around: OracleContext,
) -> None:
    provider, model, options = (
        provider_of(asked, around),
        model_of(asked, around),
        call.context.options,
    )
    route = None
    if provider != BROWSER:
        environment = environment_of(around, call.made.env)
        route = call.engine.route(asked, resolve_model(model) or "", around, environment)
    call.argv = argv
    call.provider = provider
    call.limit = limit_name(asked, provider)
    call.question = Question(
        argv=argv,
        cwd=call.made.cwd,
        env=call.made.env,
        asked=asked,
        around=around,
        provider=provider,
        model=model,
        route=route,
        output=output,
    )
    if output is not None:
        call.output_path = output.relative
        call.contract = contract_of_call(
            call.pack_step,
            output.relative,
            asked.prompt,
            chunks=options.chunks,
            mode=options.contracts,
        )


def _make_key(call: Call, around: OracleContext | Refusal) -> None:
    """The key, from the content of the files as they are now; they are remembered for the step."""
    asked = call.question.asked
    call.read_ns = call.now()
    if isinstance(around, Refusal) and call.engine.is_paid:
        call.key = around
        return
    attached = call.engine.read_files(call)
    if not call.engine.is_paid:
        call.files = attached
    if isinstance(attached, Refusal):
        call.key = unkeyed(asked) or attached
        return
    _remember(call, attached)
    hashes = tuple((file.path, file.sha256) for file in attached)
    call.key = key_of(asked, hashes, call.question.around)
    if isinstance(call.key, InvocationKey):
        texts = (asked.prompt.encode("utf-8", "replace"), *(file.data for file in attached))
        call.most_input = most_tokens(texts)
        call.question = replace(call.question, key=call.key.value, attached=hashes)


def forget_key(call: Call, reason: str) -> None:
    """Nothing is stored for this question, nor found for it."""
    call.key = Refusal(reason)
    call.question = replace(call.question, key=None, attached=())


def check_attached(call: Call) -> None:
    """Before the question is asked, after all waits. Raises AttachmentsChangedError.

    Which files a pattern means is looked up again only after a wait: the tool is asked for it.
    """
    if call.changed_file() is not None:
        raise AttachmentsChangedError("an attached file was changed")
    question = call.question
    if question.key is None:
        return
    if call.now() - call.read_ns > _FRESH_NS and not only_plain(question.asked.files):
        now = call.engine.read_files(call)
        attached = () if isinstance(now, Refusal) else now
        if tuple((file.path, file.sha256) for file in attached) != question.attached:
            raise AttachmentsChangedError("a pattern means other files")


def check_paths(call: Call, parsed: ParsedArgv) -> tuple[AllowedPath, ...] | Refusal:
    """The paths a call of whatever tool writes to, or the first that it may not write to."""
    allowed = []
    for flag, path in written_paths(parsed):
        verdict = jailed(call, path)
        if isinstance(verdict, Refusal):
            return Refusal(verdict.reason, subject=f"{flag} {path}")
        allowed.append(verdict)
    return tuple(allowed)


def jailed(call: Call, path: str) -> AllowedPath | Refusal:
    """An output path of a call, judged as it is now."""
    if not call.made.cwd:
        return Refusal("the step's current directory is gone", subject=path)
    if climbs(path):
        return Refusal("no `..` may be in an output path", subject=path)
    return jail(call.root, path, Path(call.made.cwd))


def would_replace(call: Call, paths: Sequence[AllowedPath]) -> Refusal | None:
    """The first path where a rehearsal in the project itself would replace a real file."""
    is_in_place = call.context.options.in_place and not call.engine.is_paid
    for path in paths if is_in_place else ():
        data = files.read(path.path) if path.path.is_file() else None
        if data is not None and not is_rehearsed(data.decode("utf-8", "replace")):
            return Refusal("it is there and is not a rehearsed answer", subject=path.relative)
    return None


def contract_of_call(
    step: Step | None,
    path: str,
    prompt: str,
    *,
    chunks: ChunkMode = ChunkMode.AUTO,
    mode: ContractMode = ContractMode.AUTO,
) -> OutputContract:
    """The contract of the file a call writes.

    The step's text says how many outputs there are; which words ask for them is taken from
    the prompt the shell really made.
    """
    if step is None:
        return infer([DeclaredOutput(path, prompt)], prompt, chunks=chunks, mode=mode)[0]
    questions = dict.fromkeys(group_of(output) for output in step.outputs)
    others = [DeclaredOutput(question) for question in [*questions][1:]]
    markers = [directive.value for directive in step.directives if directive.name == CONTRACT]
    contracts = infer(
        [DeclaredOutput(path, prompt), *others],
        step.code,
        marker=markers[-1] if markers else None,
        chunks=chunks,
        mode=mode,
    )
    return contracts[0]


def _around(call: Call) -> OracleContext | Refusal:
    try:
        return around_call(call.made.cwd, call.made.env)
    except InputError as trouble:
        return Refusal(trouble.message)


def _without_own_files(call: Call, argv: tuple[str, ...], values: Sequence[str]) -> tuple[str, ...]:
    """The call with exclusions, where a pattern could take in what is ours."""
    if not call.made.cwd:
        return argv
    declared = (output.path.value for output in call.pack_step.outputs) if call.pack_step else ()
    own = replace(call.context.own_files, mine=tuple(path for path in declared if path))
    added = exclusions(str(call.root), call.made.cwd, values, own)
    return (*(f"--file={value}" for value in added), *argv)


def _remember(call: Call, attached: Sequence[AttachedFile]) -> None:
    """Keep what a step's calls attach, with paths relative to the project root."""
    parts = {}
    for file in attached:
        place = jail(call.root, file.path, Path(call.made.cwd))
        if isinstance(place, AllowedPath):
            parts[place.relative] = file.sha256
    call.context.shared.attach(call.step, call.attempt, parts)


def steered(call: Call) -> str:
    """Why oracle is not called here: it would load a `.env` that sends it elsewhere."""
    cwd = call.made.cwd
    if not call.engine.is_paid or call.context.options.trust_project or not cwd:
        return ""
    try:
        names = steering_of(cwd, call.made.env)
    except InputError as trouble:
        return trouble.message
    if not names:
        return ""
    return (
        f"oracle would load {Path(cwd, '.env')}, which sets {', '.join(names)}: your key "
        "and your files could go to another host, or another program run; remove it there, "
        "or set it in your own environment"
    )


def _linked(call: Call, values: Sequence[str]) -> str:
    """Why a file is not sent: the project has a link in its place, perhaps to a key."""
    cwd = call.made.cwd
    if not call.engine.is_paid or call.context.options.trust_project or not cwd:
        return ""
    for value in values:
        place = Path(cwd, literal_part(value))
        if not value.startswith("!") and leads_out(call.root, place):
            return (
                f"{value} leads out of the project by a symbolic link, and what lies there "
                "would be sent; attach the file itself by its own path, or put a copy there"
            )
    return ""
