"""The rehearsal: what oracle would say and do, up to the point where money is spent."""

import re
from collections.abc import Sequence

import msgspec

from oraclepack.pack.answer_sections import NOTICE, Section
from oraclepack.system.digests import canonical_line
from oraclepack.system.text_limits import regex
from oraclepack.tools.argv import ArgvProblem, ParsedArgv
from oraclepack.tools.flag_tables import FlagSpec, FlagTable
from oraclepack.tools.oracle_question import Question
from oraclepack.tools.tool_names import FlagFault

LARGEST_FILE = 1_048_576
_MOST_CITED = 4
_LETTERS_PER_TOKEN = 4
_SLUG_WORDS = (3, 5)
_TELLING = regex(
    r"^\s*(?:#{1,6} |def |class |func |function |fn |type |interface |export |pub |struct |impl )"
)
_JSON_FORMATS = frozenset({"json", "stream-json"})


class AttachedText(msgspec.Struct, frozen=True):
    """A file of the call and what it holds."""

    path: str
    text: str


class Refusal(msgspec.Struct, frozen=True):
    """What the real tool would say instead of asking, on stderr or on stdout; exit code 1."""

    err: str = ""
    out: str = ""


def refused_argv(
    table: FlagTable, parsed: ParsedArgv, argv: Sequence[str], question: Question
) -> Refusal | None:
    """What the real tool's parser would object to."""
    if parsed.problems:
        return Refusal(_complaint(table, parsed.problems[0], argv))
    if parsed.excess:
        words = [argv[at] for at in parsed.operands]
        got = f"got {len(words)}: {', '.join(words)}."
        return Refusal(f"error: too many arguments. Expected 1 argument but {got}\n")
    if not question.prompt:
        return Refusal(
            out='Prompt is required. Pass it via --prompt "..." or positional [prompt].\n'
        )
    slug = parsed.last("--slug")
    words = re.findall(r"[A-Za-z0-9]+", (slug.value or "") if slug else "")
    low, high = _SLUG_WORDS
    if slug is not None and not low <= len(words) <= high:
        return Refusal("✖ Custom slug must include between 3 and 5 words.\n")
    return None


def refused_files(sizes: Sequence[tuple[str, int]], limit: int = LARGEST_FILE) -> Refusal | None:
    """What the real tool would object to in the files themselves."""
    big = [f"- {path} ({_spelled(size)})" for path, size in sizes if size > limit]
    if not big:
        return None
    listed = "\n".join(big)
    return Refusal(f"✖ The following files exceed the {_spelled(limit)} limit:\n{listed}\n")


def missing_file(value: str) -> Refusal:
    return Refusal(f"✖ Missing file or directory: {value}\n")


def no_match() -> Refusal:
    return Refusal("✖ No files matched the provided --file patterns.\n")


def tokens(question: Question, files: Sequence[AttachedText]) -> int:
    """About how many tokens would be sent; files are sent with numbered lines."""
    sent = len(question.prompt) + sum(
        len(file.text) + 7 * file.text.count("\n") + len(file.path) + 30 for file in files
    )
    return -(-sent // _LETTERS_PER_TOKEN)


def rehearsed_answer(
    question: Question, files: Sequence[AttachedText], sections: Sequence[Section]
) -> str:
    """An answer in the requested sections that says what it is and cites the attached files."""
    cited = [_citation(file) for file in sorted(files, key=lambda file: file.path)]
    asked = next((line.strip() for line in question.prompt.splitlines() if line.strip()), "")
    opening = f"{NOTICE}\n\nThe question began: {_shortened(asked)}\n"
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
    telling = [(number, line) for number, line in lines if _TELLING.match(line)]
    spoken = [(number, line) for number, line in lines if line.strip()]
    number, line = next(iter(telling or spoken), (1, ""))
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
    said = f"argument '{given}' is invalid. Allowed choices are {', '.join(problem.allowed)}."
    return f"error: option '{declared}' {said}\n"


def _declared(spec: FlagSpec) -> str:
    return f"{spec.short}, {spec.name} <value>" if spec.short else f"{spec.name} <value>"


def _spelled(size: int) -> str:
    return f"{size / LARGEST_FILE:.3g} MB" if size >= LARGEST_FILE else f"{size // 1024} KB"
