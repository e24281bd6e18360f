"""A rehearsed call: answered from inside, with no network, no key and no tool."""

from collections.abc import Sequence

from oraclepack.app.calls import answer_files, notes
from oraclepack.app.calls.prepared import Prepared, prepare, remember
from oraclepack.app.calls.world import CallWorld
from oraclepack.core.invocation import LiveCall, Shim
from oraclepack.core.invocation_key import NoKey
from oraclepack.errors import InputError, StepError
from oraclepack.intercept.key import key_of
from oraclepack.intercept.rehearse import (
    AttachedText,
    Refusal,
    missing_file,
    no_match,
    refused_argv,
    refused_files,
    rehearsed_answer,
    rehearsed_file,
    rehearsed_words,
    tokens,
)
from oraclepack.pack.answer_sections import Section, is_rehearsed
from oraclepack.pack.contract import contracts_of
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.system import files
from oraclepack.system.path_jail import Allowed, Refused
from oraclepack.tools.argv import Effect, ParsedArgv, Role, parse_argv, table_of
from oraclepack.tools.oracle_attachments import (
    AttachedFile,
    Kind,
    is_plain,
    kind_of,
    list_files,
    only_plain,
    read_attached,
)
from oraclepack.tools.oracle_config import Surroundings
from oraclepack.tools.oracle_failures import classify
from oraclepack.tools.oracle_globs import base_of, choose
from oraclepack.tools.oracle_question import Question

_WRITTEN = frozenset({Role.OUTPUT, Role.SIDE_FILE})
_READ_STDIN = frozenset({"codex", "gemini"})
"""Tools that read what is piped to them: who writes there must not meet a closed pipe."""


def rehearse(
    world: CallWorld,
    call: LiveCall,
    shim: Shim,
    argv: tuple[str, ...],
    question: Question,
    outputs: Sequence[Allowed],
    around: Surroundings,
) -> int:
    """Check a call as the real tool would, and answer it ourselves."""
    table = table_of(call.tool)
    attached: tuple[AttachedFile, ...] | Refusal | None
    attached = refused_argv(table, parse_argv(table, argv), argv, question)
    attached = _attached(call, shim, question) if attached is None else attached
    if isinstance(attached, Refusal):
        prepared = prepare(world, call, argv, question, outputs, NoKey("refused"), around)
        return _refused(world, prepared, shim, attached)
    remember(world, call, attached)
    key = key_of(question, [(file.path, file.sha256) for file in attached], around)
    prepared = prepare(world, call, argv, question, outputs, key, around)
    notes.intend(world, prepared, argv, provider=REHEARSAL)
    _answer(world, prepared, shim, attached)
    notes.conclude(world, prepared, _one_try(world), provider=REHEARSAL)
    return 0


def _answer(
    world: CallWorld, prepared: Prepared, shim: Shim, attached: Sequence[AttachedFile]
) -> None:
    texts = [AttachedText(file.path, file.data.decode("utf-8", "replace")) for file in attached]
    question = prepared.question
    model = prepared.model or "the tool's own model"
    estimate = f"~{tokens(question, texts)} tokens and {len(texts)} files"
    shim.show(f"[rehearsal] would call {model} with {estimate}; nothing is asked\n")
    for output, contract in zip(prepared.outputs, prepared.contracts, strict=True):
        answer = rehearsed_answer(question, texts, contract.sections)
        answer_files.publish(output, world.redactor.clean(answer).encode("utf-8", "replace"))
        shim.show(f"Saved assistant output to {output.path}\n")
    if not prepared.outputs:
        answer = rehearsed_answer(question, texts, _printed_sections(world, prepared.call))
        shim.show(f"\nAnswer:\n{world.redactor.clean(answer)}")


def refused_replacing(world: CallWorld, paths: Sequence[Allowed]) -> Refused | None:
    """The first path where a rehearsal in the project itself would replace a real file."""
    for path in paths if world.options.rehearsal and world.options.in_place else ():
        data = files.read(path.path) if path.path.is_file() else None
        if data is not None and not is_rehearsed(data.decode("utf-8", "replace")):
            return Refused(path.relative, "it is there and is not a rehearsed answer")
    return None


def rehearse_other(
    world: CallWorld, call: LiveCall, shim: Shim, parsed: ParsedArgv, paths: Sequence[Allowed]
) -> int:
    """Answer a call of another tool ourselves: the files it declares, and words on stdout.

    `paths` are those of the flags that name files, already allowed, in the order of the flags.
    """
    notes.intend_other(world, call, REHEARSAL, parsed)
    if any(use.spec.effect is Effect.INSPECT for use in parsed.flags):
        shim.tell(f"oraclepack: [rehearsal] {call.tool} is not called for this\n")
        notes.conclude_other(world, call, REHEARSAL, None, 0)
        return 0
    if call.tool in _READ_STDIN:
        shim.read_stdin()
    question = Question(_asked(parsed, call.argv))
    named = (use for use in parsed.flags if use.spec.role in _WRITTEN and use.value is not None)
    uses = zip(named, paths, strict=True)
    made = [path for use, path in uses if use.spec.role is Role.OUTPUT]
    for path in made:
        answer = rehearsed_answer(question, (), _file_sections(world, call, path.relative))
        text = world.redactor.clean(rehearsed_file(path.relative, answer))
        answer_files.publish(path, text.encode("utf-8", "replace"))
    answer = rehearsed_answer(question, (), _printed_sections(world, call))
    shim.show(world.redactor.clean(rehearsed_words(parsed, answer)))
    shim.tell(f"oraclepack: [rehearsal] {call.tool} was not started\n")
    written = made[0].relative if made else None
    notes.conclude_other(world, call, REHEARSAL, None, 0, written)
    return 0


def _asked(parsed: ParsedArgv, argv: Sequence[str]) -> str:
    """What another tool is asked, for the answer to name; the last word where no flag has it."""
    given = [use.value for use in parsed.with_role(Role.PROMPT) if use.value]
    words = given or [argv[at] for at in parsed.operands]
    return words[-1] if words else ""


def _file_sections(world: CallWorld, call: LiveCall, path: str) -> tuple[Section, ...]:
    """The sections that the step wants in a file."""
    return _sections(world, call).get(path, ())


def _printed_sections(world: CallWorld, call: LiveCall) -> tuple[Section, ...]:
    """The sections of everything the step promises: what is printed may become any of it."""
    wanted = {one for sections in _sections(world, call).values() for one in sections}
    return tuple(section for section in Section if section in wanted)


def _sections(world: CallWorld, call: LiveCall) -> dict[str, tuple[Section, ...]]:
    step, options = world.pack.step(call.step), world.options
    if step is None:
        return {}
    contracts = contracts_of(step, chunks=options.chunks, mode=options.contracts)
    return {contract.path: contract.sections for contract in contracts}


def _refused(world: CallWorld, prepared: Prepared, shim: Shim, refusal: Refusal) -> int:
    if refusal.out:
        shim.show(refusal.out)
    if refusal.err:
        shim.tell(refusal.err)
    failure = classify(refusal.out, refusal.err)
    error = StepError(code=failure.code, message=failure.message)
    notes.conclude(world, prepared, _one_try(world), error=error, exit_code=1, provider=REHEARSAL)
    return 1


def _attached(call: LiveCall, shim: Shim, question: Question) -> tuple[AttachedFile, ...] | Refusal:
    values = question.files
    kinds = {value: kind_of(call.cwd, value) for value in values if is_plain(value)}
    missing = next((value for value, kind in kinds.items() if kind is Kind.MISSING), None)
    if missing is not None:
        return missing_file(missing)
    paths = values
    if values and not (only_plain(values) and Kind.DIRECTORY not in kinds.values()):
        bases = {base_of(value) for value in values if not is_plain(value)}
        chosen = choose(values, list_files(call.cwd, values, bases))
        shim.show("".join(f"{note}\n" for note in chosen.notes))
        if not chosen.files:
            return no_match()
        paths = chosen.files
    try:
        found = read_attached(call.cwd, paths)
    except InputError as trouble:
        return Refusal(f"✖ {trouble.message}\n")
    return refused_files([(file.path, len(file.data)) for file in found]) or found


def _one_try(world: CallWorld) -> notes.Tally:
    tally = notes.Tally(world)
    tally.attempts = 1
    return tally
