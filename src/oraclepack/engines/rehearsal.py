"""The engine `rehearsal`: answered from inside, with no network, no key and no tool."""

import re
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from oraclepack.engines.engine import Caller, Ended, Over, Settled, Traces, Try
from oraclepack.errors import InputError, Refusal
from oraclepack.journal.statuses import CallIdentity, QuestionSize
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.answer_sections import NOTICE, Section
from oraclepack.system.digests import canonical_line
from oraclepack.system.printable import quantity
from oraclepack.tools.argv import ArgvProblem, ParsedArgv, parse_argv
from oraclepack.tools.flag_tables import FlagSpec, FlagTable, table_of
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
from oraclepack.tools.oracle_failures import classify
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.providers import api_route
from oraclepack.tools.tool_names import ORACLE, FlagFault
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


class RehearsalEngine:
    """An `Engine` that checks a call as the real tool would, and answers it itself."""

    is_paid = False
    price_part = Decimal(0)
    route = staticmethod(api_route)

    def read_files(self, caller: Caller) -> Sequence[AttachedFile] | Refusal:
        return chosen_files(caller)

    def ask(self, caller: Caller, _once: Try) -> Ended:
        """Object as the real tool would, else answer in the requested sections."""
        question, files = caller.question, caller.files
        refusal = refused_argv(table_of(ORACLE), question.argv, question.asked)
        if refusal is None and isinstance(files, Refusal):
            refusal = ToolRefusal(f"{files.reason}\n")
        if refusal is not None or isinstance(files, Refusal):
            assert refusal is not None
            caller.write(refusal.out, refusal.err)
            failure = classify(refusal.out, refusal.err)
            return Ended(failure=failure, exit_code=1)
        texts = [AttachedText(file.path, file.data.decode("utf-8", "replace")) for file in files]
        count = tokens(question.asked, texts)
        size = QuestionSize(
            provider=question.provider or "unknown",
            input_tokens=count,
            files={file.path: len(file.data) for file in files},
        )
        caller.begin(CallIdentity(), size)
        model = question.model or "the tool's own model"
        estimate = f"~{count} tokens and {quantity(len(texts), 'file')}"
        caller.write(f"[rehearsal] would call {model} with {estimate}; nothing is asked\n")
        answer = caller.clean(rehearsed_answer(question.asked, texts, caller.sections))
        if question.output is None:
            caller.write(f"\nAnswer:\n{answer}")
            return Ended()
        caller.write(f"Saved assistant output to {question.output.path}\n")
        return Ended(answer=answer.encode("utf-8", "replace"))

    def find(self, _caller: Caller, _earlier: Invocation) -> Traces:
        """Nothing is kept of a rehearsed call."""
        return Traces()

    def settle(self, _caller: Caller, _earlier: Invocation) -> Settled:
        """It costs nothing to rehearse it again."""
        return Over()


def chosen_files(caller: Caller) -> Sequence[AttachedFile] | Refusal:
    """The files that oracle would attach, read without it; a refusal is in its words."""
    cwd, values = caller.question.cwd, caller.question.asked.files
    kinds = {value: kind_of(cwd, value) for value in values if is_plain(value)}
    for value, kind in kinds.items():
        if kind is FileArgumentKind.MISSING:
            return Refusal(f"✖ Missing file or directory: {value}")
    paths = values
    if values and not (only_plain(values) and FileArgumentKind.DIRECTORY not in kinds.values()):
        bases = {base_of(value) for value in values if not is_plain(value)}
        chosen = choose(values, list_files(cwd, values, bases))
        caller.write("".join(f"{note}\n" for note in chosen.notes))
        if not chosen.files:
            return Refusal("✖ No files matched the provided --file patterns.")
        paths = chosen.files
    try:
        attached = read_attached(cwd, paths)
    except InputError as trouble:
        return Refusal(f"✖ {trouble.message}")
    return too_large([(file.path, len(file.data)) for file in attached]) or attached


class ToolRefusal(msgspec.Struct, frozen=True):
    """What the real tool would say instead of asking, on stderr or on stdout; exit code 1."""

    err: str = ""
    out: str = ""


def refused_argv(
    table: FlagTable, argv: Sequence[str], question: OracleQuestion
) -> ToolRefusal | None:
    """What the real tool's parser would object to."""
    parsed = parse_argv(table, argv)
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


def too_large(sizes: Sequence[tuple[str, int]], limit: int = LARGEST_FILE) -> Refusal | None:
    """What the real tool would object to in the files themselves."""
    big = [f"- {path} ({_spelled(size)})" for path, size in sizes if size > limit]
    if not big:
        return None
    listed = "\n".join(big)
    return Refusal(f"✖ The following files exceed the {_spelled(limit)} limit:\n{listed}")


def tokens(question: OracleQuestion, files: Sequence[AttachedText]) -> int:
    """About how many tokens would be sent; files are sent with numbered lines.

    Within 20 % of what `oracle --dry-run summary` counts: tests/real/test_tokens.py.
    """
    attached = sum(
        text_tokens(file.path) + _TOKENS_PER_FILE + numbered_tokens(file.text) for file in files
    )
    return round(text_tokens(question.prompt) + attached)


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
