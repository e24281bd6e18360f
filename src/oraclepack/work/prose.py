"""Records in words: the lines that the backlog, the plan and the trackers share."""

from collections.abc import Iterable

from oraclepack.system.markdown_text import code_span, escape_keeping_code
from oraclepack.work.backlog import Record, TaskKind
from oraclepack.work.evidence import CitationState

_STATES = {
    CitationState.VERIFIED: "verified",
    CitationState.STALE: "stale: the file changed since",
    CitationState.NOT_ATTACHED: "never attached",
    CitationState.OUT_OF_RANGE: "beyond the end of the file",
    CitationState.UNKNOWN: "not checked",
}


def bullets(texts: Iterable[str], mark: str = "-") -> str:
    """A list of texts of records."""
    return _items(map(escape_keeping_code, texts), mark)


def listed(head: str, texts: Iterable[str], mark: str = "-") -> str:
    """A head and a list of texts of records; nothing when the list is empty."""
    return listed_markdown(head, map(escape_keeping_code, texts), mark)


def listed_markdown(head: str, lines: Iterable[str], mark: str = "-") -> str:
    """A head and a list of lines that are Markdown already; nothing when the list is empty."""
    items = _items(lines, mark)
    return f"{head}\n\n{items}\n" if items else ""


def _items(lines: Iterable[str], mark: str) -> str:
    return "".join(f"{mark} {line}\n" for line in lines)


def named(text: str) -> str:
    """Markdown for a missing input: a bare path is shown as code, words as they are."""
    return escape_keeping_code(text) if " " in text or "`" in text else code_span(text)


def number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def origin(record: Record) -> str:
    """Where a record comes from and what it is worth, in one line."""
    word = "step" if len(record.sources) == 1 else "steps"
    parts = [
        f"{word} {', '.join(record.sources)}",
        f"priority {record.priority}",
        f"ROI {number(record.roi)}",
        f"effort {number(record.effort)}",
    ]
    if record.reference:
        parts.append(f"about {escape_keeping_code(record.reference)}")
    return " · ".join(parts)


def evidence_lines(record: Record) -> list[str]:
    """What a record stands on, one line of Markdown for each thing."""
    return [*cited_lines(record), *map(code_span, record.evidence.commands)]


def cited_lines(record: Record) -> list[str]:
    """The places and symbols that a record names."""
    evidence = record.evidence
    cited = {citation.path for citation in evidence.citations}
    lines = [f"{code_span(str(one))} ({_STATES[one.state]})" for one in evidence.citations]
    lines += [code_span(path) for path in evidence.paths if path not in cited]
    return lines + [code_span(text) for text in evidence.symbols]


def acceptance(record: Record, *, brief: bool = False) -> list[str]:
    """How to see that a record is done, in lines of Markdown; `brief` beside its commands."""
    evidence = record.evidence
    points = [escape_keeping_code(record.done_when)] if record.done_when else []
    if record.kind is TaskKind.EXPERIMENT and evidence.commands:
        # A search or a command: it changes nothing, so what it shows is the result.
        if brief:
            return [*points, "the command was run and its outcome is noted"]
        return points + [
            f"{code_span(command)} was run and its outcome is noted"
            for command in evidence.commands
        ]
    points += [f"{code_span(command)} passes" for command in evidence.commands]
    points += [f"{code_span(name)} shows the result" for name in record.expected_artifacts]
    match record.kind:
        case TaskKind.EXPERIMENT:
            return [*points, "the check passes, and fails without the change"]
        case TaskKind.FINDING:
            return [*points, "the defect is fixed, or it is noted why it stays"]
        case _ if record.done_when:
            return points
        case _:
            return [*points, "a test or check fails without the change"]


def done_when(record: Record) -> str:
    """The one sentence that ends a piece of work."""
    steps = " and ".join(record.sources)
    match record.kind:
        case TaskKind.EXPERIMENT:
            return f"the outcome decides question {steps}, and the backlog says how."
        case TaskKind.FINDING:
            return f"the finding of question {steps} no longer holds, or is accepted."
        case _:
            return f"the change that question {steps} recommends is merged."
