"""A rehearsed call: answered from inside, with no network, no key and no tool."""

import re
from collections.abc import Sequence

import msgspec

from oraclepack.calls import ledger
from oraclepack.calls.context import CallContext
from oraclepack.calls.key import key_of
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.prepare import PreparedCall, prepare, remember
from oraclepack.calls.publication import publish
from oraclepack.errors import InputError, Refusal, StepError
from oraclepack.journal.statuses import QuestionSize
from oraclepack.pack.answer_sections import NOTICE, Section, is_rehearsed
from oraclepack.pack.contract import contracts_of
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.system import files
from oraclepack.system.digests import canonical_line
from oraclepack.system.path_jail import AllowedPath
from oraclepack.system.printable import quantity
from oraclepack.tools.argv import ArgvProblem, ParsedArgv, parse_argv
from oraclepack.tools.flag_tables import Effect, FlagSpec, FlagTable, Role, table_of
from oraclepack.tools.oracle_attachments import (
    AttachedFile,
    FileArgumentKind,
    base_of,
    choose,
    is_plain,
    kind_of,
    list_files,
    only_plain,
    read_attached,
)
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_failures import classify
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.tool_names import FlagFault
from oraclepack.tools.usage import numbered_tokens, text_tokens

LARGEST_FILE = 1_048_576
_MOST_CITED = 4
_TOKENS_PER_FILE = 8
"""The heading of an attached file and its code fence, beside its path."""
_SLUG_WORDS = (3, 5)
_DEFINITION = re.compile(
    r"^\s*(?:#{1,6} |def |class |func |function |fn |type |interface |export |pub |struct |impl )"
)
_JSON_FORMATS = frozenset({"json", "stream-json"})


class AttachedText(msgspec.Struct, frozen=True):
    """A file of the call and what it holds."""

    path: str
    text: str


class ToolRefusal(msgspec.Struct, frozen=True):
    """What the real tool would say instead of asking, on stderr or on stdout; exit code 1."""

    err: str = ""
    out: str = ""


def refused_argv(
    table: FlagTable, parsed: ParsedArgv, argv: Sequence[str], question: OracleQuestion
) -> ToolRefusal | None:
    """What the real tool's parser would object to."""
    if parsed.problems:
        return ToolRefusal(_complaint(table, parsed.problems[0], argv))
    if parsed.excess:
        words = [argv[at] for at in parsed.operands]
        got = f"got {len(words)}: {', '.join(words)}."
        return ToolRefusal(f"error: too many arguments. Expected 1 argument but {got}\n")
    if not question.prompt:
        return ToolRefusal(
            out='Prompt is required. Pass it via --prompt "..." or positional [prompt].\n'
        )
    slug = parsed.last("--slug")
    words = re.findall(r"[A-Za-z0-9]+", (slug.value or "") if slug else "")
    low, high = _SLUG_WORDS
    if slug is not None and not low <= len(words) <= high:
        return ToolRefusal("✖ Custom slug must include between 3 and 5 words.\n")
    return None


def refused_files(
    sizes: Sequence[tuple[str, int]], limit: int = LARGEST_FILE
) -> ToolRefusal | None:
    """What the real tool would object to in the files themselves."""
    big = [f"- {path} ({_spelled(size)})" for path, size in sizes if size > limit]
    if not big:
        return None
    listed = "\n".join(big)
    return ToolRefusal(f"✖ The following files exceed the {_spelled(limit)} limit:\n{listed}\n")


def missing_file(value: str) -> ToolRefusal:
    return ToolRefusal(f"✖ Missing file or directory: {value}\n")


def no_match() -> ToolRefusal:
    return ToolRefusal("✖ No files matched the provided --file patterns.\n")


def tokens(question: OracleQuestion, files: Sequence[AttachedText]) -> int:
    """About how many tokens would be sent; files are sent with numbered lines.

    Within 20 % of what `oracle --dry-run summary` counts: tests/real/test_tokens.py.
    """
    attached = sum(
        text_tokens(file.path) + _TOKENS_PER_FILE + numbered_tokens(file.text) for file in files
    )
    return round(text_tokens(question.prompt) + attached)


def question_size(prepared: PreparedCall, attached: Sequence[AttachedFile]) -> QuestionSize:
    """What the real call would send, and to whom."""
    texts = [AttachedText(file.path, file.data.decode("utf-8", "replace")) for file in attached]
    return QuestionSize(
        provider=prepared.provider or "unknown",
        input_tokens=tokens(prepared.question, texts),
        files={file.path: len(file.data) for file in attached},
    )


def rehearsed_answer(
    question: OracleQuestion, files: Sequence[AttachedText], sections: Sequence[Section]
) -> str:
    """An answer in the requested sections that says what it is and cites the attached files."""
    cited = [_citation(file) for file in sorted(files, key=lambda file: file.path)]
    first_line = next((line.strip() for line in question.prompt.splitlines() if line.strip()), "")
    opening = f"{NOTICE}\n\nThe question began: {_shortened(first_line)}\n"
    if not sections:
        return opening + "\n" + _listed(cited[:_MOST_CITED], "The call attaches no file.")
    bodies = {
        Section.DIRECT_ANSWER: _direct(cited),
        Section.RISKS_UNKNOWNS: "- Nothing was examined; every statement above is made up.\n",
        Section.NEXT_EXPERIMENT: "- Run the same step again without `--engine rehearsal`.\n",
        Section.MISSING_EVIDENCE: "- The answer itself: no model has seen the question yet.\n",
    }
    parts = [f"## {section.heading}\n\n{bodies[section]}" for section in sections]
    return opening + "\n" + "\n".join(parts)


def rehearsed_file(path: str, answer: str) -> str:
    """What a tool other than oracle would leave at a path: the answer, or JSON that says so."""
    return _json_line({"rehearsal": NOTICE, "tasks": []}) if path.endswith(".json") else answer


def rehearsed_words(parsed: ParsedArgv, answer: str) -> str:
    """What a tool other than oracle would print: the answer, in JSON where that was asked for."""
    formatted = parsed.last("--output-format") or parsed.last("--format")
    if formatted is not None and formatted.value in _JSON_FORMATS:
        return _json_line({"rehearsal": NOTICE, "response": answer, "tasks": []})
    if parsed.last("--json") is not None:
        message = {"type": "agent_message", "text": answer}
        return _json_line({"rehearsal": NOTICE, "type": "item.completed", "item": message})
    return answer


def _json_line(document: dict[str, object]) -> str:
    return canonical_line(document).decode() + "\n"


def _direct(cited: Sequence[str]) -> str:
    steps = [f"Write down what {place} promises to its callers." for place in cited[:_MOST_CITED]]
    return _listed(steps, "Attach the file that the question is about.")


def _listed(items: Sequence[str], otherwise: str) -> str:
    return "".join(f"- {item}\n" for item in items or [otherwise])


def _citation(file: AttachedText) -> str:
    """`path:line` with the line itself: the first that declares something, else that says it."""
    lines = list(enumerate(file.text.splitlines(), start=1))
    definitions = [(number, line) for number, line in lines if _DEFINITION.match(line)]
    nonblank = [(number, line) for number, line in lines if line.strip()]
    number, line = next(iter(definitions or nonblank), (1, ""))
    quoted = _shortened(line.strip()).replace("`", "'")
    return f"`{file.path}:{number}` (`{quoted}`)" if quoted else f"`{file.path}:{number}`"


def _shortened(text: str, longest: int = 100) -> str:
    return text if len(text) <= longest else text[:longest] + "…"


def _complaint(table: FlagTable, problem: ArgvProblem, argv: Sequence[str]) -> str:
    if problem.fault is FlagFault.UNKNOWN:
        near = f"\n(Did you mean {problem.nearest}?)" if problem.nearest else ""
        return f"error: unknown option '{problem.spelled}'{near}\n(use --help for usage)\n"
    declared = _declared(table.root.by_spelling[problem.spelled])
    if problem.fault is FlagFault.NO_VALUE:
        return f"error: option '{declared}' argument missing\n"
    given = argv[problem.at].partition("=")[2] or (*argv, "")[problem.at + 1]
    message = f"argument '{given}' is invalid. Allowed choices are {', '.join(problem.allowed)}."
    return f"error: option '{declared}' {message}\n"


def _declared(spec: FlagSpec) -> str:
    return f"{spec.short}, {spec.name} <value>" if spec.short else f"{spec.name} <value>"


def _spelled(size: int) -> str:
    return f"{size / LARGEST_FILE:.3g} MB" if size >= LARGEST_FILE else f"{size // 1024} KB"


_WRITTEN = frozenset({Role.OUTPUT, Role.SIDE_FILE})
_READ_STDIN = frozenset({"codex", "gemini"})
"""Tools that read what is piped to them: their writer must not get a closed pipe."""


def rehearse(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    argv: tuple[str, ...],
    question: OracleQuestion,
    outputs: Sequence[AllowedPath],
    around: OracleContext,
) -> int:
    """Check a call as the real tool would, and answer it ourselves."""
    table = table_of(call.tool)
    attached: tuple[AttachedFile, ...] | ToolRefusal | None
    attached = refused_argv(table, parse_argv(table, argv), argv, question)
    attached = _attached(call, shim, question) if attached is None else attached
    if isinstance(attached, ToolRefusal):
        prepared = prepare(context, call, argv, question, outputs, Refusal("refused"), around)
        return _refused(context, prepared, shim, attached)
    remember(context, call, attached)
    key = key_of(question, [(file.path, file.sha256) for file in attached], around)
    prepared = prepare(context, call, argv, question, outputs, key, around)
    ledger.intend(context, prepared, argv, question=question_size(prepared, attached))
    _answer(context, prepared, shim, attached)
    ledger.conclude(context, prepared, _one_try(context), provider=REHEARSAL)
    return 0


def _answer(
    context: CallContext, prepared: PreparedCall, shim: Shim, attached: Sequence[AttachedFile]
) -> None:
    texts = [AttachedText(file.path, file.data.decode("utf-8", "replace")) for file in attached]
    question = prepared.question
    model = prepared.model or "the tool's own model"
    estimate = f"~{tokens(question, texts)} tokens and {quantity(len(texts), 'file')}"
    shim.write_stdout(f"[rehearsal] would call {model} with {estimate}; nothing is asked\n")
    for output, contract in zip(prepared.outputs, prepared.contracts, strict=True):
        answer = rehearsed_answer(question, texts, contract.sections)
        data = context.redactor.clean(answer).encode("utf-8", "replace")
        publish(context, prepared.call, output, data)
        shim.write_stdout(f"Saved assistant output to {output.path}\n")
    if not prepared.outputs:
        answer = rehearsed_answer(question, texts, _printed_sections(context, prepared.call))
        shim.write_stdout(f"\nAnswer:\n{context.redactor.clean(answer)}")


def refused_replacing(context: CallContext, paths: Sequence[AllowedPath]) -> Refusal | None:
    """The first path where a rehearsal in the project itself would replace a real file."""
    for path in paths if context.options.rehearsal and context.options.in_place else ():
        data = files.read(path.path) if path.path.is_file() else None
        if data is not None and not is_rehearsed(data.decode("utf-8", "replace")):
            return Refusal("it is there and is not a rehearsed answer", subject=path.relative)
    return None


def rehearse_other(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    parsed: ParsedArgv,
    paths: Sequence[AllowedPath],
) -> int:
    """Answer a call of another tool ourselves: the files it declares, and words on stdout.

    `paths` are those of the flags that name files, already allowed, in the order of the flags.
    """
    ledger.intend_other(context, call, REHEARSAL, parsed)
    if any(use.spec.effect is Effect.INSPECT for use in parsed.flags):
        shim.write_stderr(f"oraclepack: [rehearsal] {call.tool} is not called for this\n")
        ledger.conclude_other(context, call, REHEARSAL, None, 0)
        return 0
    if call.tool in _READ_STDIN:
        shim.read_stdin()
    question = OracleQuestion(_question_text(parsed, call.argv))
    named = (use for use in parsed.flags if use.spec.role in _WRITTEN and use.value is not None)
    uses = zip(named, paths, strict=True)
    outputs = [path for use, path in uses if use.spec.role is Role.OUTPUT]
    for path in outputs:
        answer = rehearsed_answer(question, (), _file_sections(context, call, path.relative))
        text = context.redactor.clean(rehearsed_file(path.relative, answer))
        publish(context, call, path, text.encode("utf-8", "replace"))
    answer = rehearsed_answer(question, (), _printed_sections(context, call))
    shim.write_stdout(context.redactor.clean(rehearsed_words(parsed, answer)))
    shim.write_stderr(f"oraclepack: [rehearsal] {call.tool} was not started\n")
    written = outputs[0].relative if outputs else None
    ledger.conclude_other(context, call, REHEARSAL, None, 0, written)
    return 0


def _question_text(parsed: ParsedArgv, argv: Sequence[str]) -> str:
    """What another tool is asked, for the answer to name; the last word where no flag has it."""
    given = [use.value for use in parsed.with_role(Role.PROMPT) if use.value]
    words = given or [argv[at] for at in parsed.operands]
    return words[-1] if words else ""


def _file_sections(context: CallContext, call: LiveCall, path: str) -> tuple[Section, ...]:
    """The sections that the step wants in a file."""
    return _sections(context, call).get(path, ())


def _printed_sections(context: CallContext, call: LiveCall) -> tuple[Section, ...]:
    """The sections of everything the step promises: what is printed may become any of it."""
    required = {one for sections in _sections(context, call).values() for one in sections}
    return tuple(section for section in Section if section in required)


def _sections(context: CallContext, call: LiveCall) -> dict[str, tuple[Section, ...]]:
    step, options = context.pack.step(call.step), context.options
    if step is None:
        return {}
    contracts = contracts_of(step, chunks=options.chunks, mode=options.contracts)
    return {contract.path: contract.sections for contract in contracts}


def _refused(context: CallContext, prepared: PreparedCall, shim: Shim, refusal: ToolRefusal) -> int:
    if refusal.out:
        shim.write_stdout(refusal.out)
    if refusal.err:
        shim.write_stderr(refusal.err)
    failure = classify(refusal.out, refusal.err)
    error = StepError(code=failure.code, message=failure.message)
    ledger.conclude(
        context, prepared, _one_try(context), error=error, exit_code=1, provider=REHEARSAL
    )
    return 1


def _attached(
    call: LiveCall, shim: Shim, question: OracleQuestion
) -> tuple[AttachedFile, ...] | ToolRefusal:
    values = question.files
    kinds = {value: kind_of(call.cwd, value) for value in values if is_plain(value)}
    missing = next(
        (value for value, kind in kinds.items() if kind is FileArgumentKind.MISSING), None
    )
    if missing is not None:
        return missing_file(missing)
    paths = values
    if values and not (only_plain(values) and FileArgumentKind.DIRECTORY not in kinds.values()):
        bases = {base_of(value) for value in values if not is_plain(value)}
        chosen = choose(values, list_files(call.cwd, values, bases))
        shim.write_stdout("".join(f"{note}\n" for note in chosen.notes))
        if not chosen.files:
            return no_match()
        paths = chosen.files
    try:
        attachments = read_attached(call.cwd, paths)
    except InputError as trouble:
        return ToolRefusal(f"✖ {trouble.message}\n")
    return refused_files([(file.path, len(file.data)) for file in attachments]) or attachments


def _one_try(context: CallContext) -> ledger.Tally:
    tally = ledger.Tally(context)
    tally.attempts = 1
    return tally
