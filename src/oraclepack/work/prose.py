"""Records in words: the lines that the backlog, the plan and the trackers share."""

import re
from collections.abc import Iterable, Iterator, Sequence

from oraclepack.answers.answer_units import row_cells
from oraclepack.system.markdown_text import code_block, code_span, escape_keeping_code
from oraclepack.work.backlog import Issue, Record, TaskKind
from oraclepack.work.evidence import CitationState
from oraclepack.work.titles import is_known_reference, without_emphasis

_MARKER = re.compile(r"(?:[-*+•]|\d{1,2}[.)])\s+")
_LABEL = re.compile(r"^\(?(?:same )?(?:evidence|source|sources)\s*:\s*|^\(", re.IGNORECASE)
_MOST_NAMES = 8

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


def shown(text: str) -> str:
    """Markdown for the text of a record without its emphasis."""
    return escape_keeping_code(without_emphasis(text))


def flat(text: str) -> str:
    """The same on one line."""
    return shown(" ".join(text.split()))


def about(reference: str | None) -> str:
    """What a question is about, for the end of a line; nothing where that is unknown."""
    return f" · about {code_span(reference)}" if reference and is_known_reference(reference) else ""


def origin(record: Record) -> str:
    """Where a record comes from and what it is worth, in one line."""
    word = "question" if len(record.sources) == 1 else "questions"
    why = f" ({shown(record.why)})" if record.why else ""
    effort = "" if record.effort is None else f" · effort {record.effort:g}"
    # What the answer says of the work itself counts before the effort of its question.
    size = f" · size {record.size}" if record.size else effort
    steps = ", ".join(record.sources)
    return f"{word} {steps} · priority {record.priority}{why}{size}{about(record.reference)}"


def work_text(record: Record) -> list[str]:
    """What a record says, as lines of a list; sub-items are indented."""
    texts = record.actions if record.actions != (record.title,) else ()
    return [line for text in texts for line in _points(text)]


def _points(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    for number, line in enumerate(lines):
        marker = _MARKER.match(line)
        bare = line[marker.end() :] if marker is not None and number else line
        cells = row_cells(bare)
        yield f"{'  ' if number else ''}- {' · '.join(map(shown, cells)) if cells else shown(bare)}"


def grounds(record: Record, places: Sequence[str]) -> list[str]:
    """The evidence of a record beside its notes: places that it names, lines of the answer."""
    lines = []
    if places:
        lines.append(f"Names: {', '.join(places[:_MOST_NAMES])}")
    if record.spans:
        lines.append(f"From: {', '.join(code_span(str(span)) for span in record.spans)}")
    return lines


def evidence_note(text: str) -> str:
    """A note on evidence without the word for it and the brackets around it."""
    one_line = " ".join(without_emphasis(text).split())
    bare = _LABEL.sub("", one_line, count=1)
    closed = bare.rstrip(" .")
    within = one_line.startswith("(") and closed.endswith(")")
    return escape_keeping_code(closed[:-1] if within else bare)


def task_points(record: Record, places: Sequence[str]) -> list[str]:
    """What is below a task in a list of tasks: lines that begin with a mark of a list."""
    why = f" ({shown(record.why)})" if record.why else ""
    lines = [f"Evidence: {evidence_note(text)}" for text in record.notes]
    lines += grounds(record, places)
    lines += [f"Size: {record.size}"] if record.size else []
    lines += [f"Accepted when: {point}" for point in acceptance(record)]
    lines += [f"Note: {shown(text)}" for text in record.remarks]
    if record.merged:
        lines.append(f"Also raised as: {', '.join(map(code_span, record.merged))}")
    head = f"- Priority {record.priority}{why}"
    return [head, *work_text(record), *(f"- {line}" for line in lines)]


def other_risks(issue: Issue) -> list[str]:
    """The risks of an issue that are not the text of a record of it."""
    texts = {" ".join(text.split()) for record in issue.records for text in record.actions}
    return [flat(risk) for risk in issue.risks if " ".join(risk.split()) not in texts]


def command_blocks(record: Record) -> Iterator[str]:
    """The commands of a record, each to be copied."""
    return (code_block(command, "sh") for command in record.evidence.commands)


def cited_lines(record: Record) -> list[str]:
    """The places and symbols that a record names."""
    evidence = record.evidence
    cited = {citation.path for citation in evidence.citations}
    lines = [f"{code_span(str(one))} ({_STATES[one.state]})" for one in evidence.citations]
    lines += [code_span(path) for path in evidence.paths if path not in cited]
    return lines + [code_span(text) for text in evidence.symbols]


def acceptance(record: Record) -> list[str]:
    """How to see that a record is done, in lines of Markdown that are beside its commands."""
    evidence = record.evidence
    points = [escape_keeping_code(record.done_when)] if record.done_when else []
    if record.kind is TaskKind.EXPERIMENT and evidence.commands:
        # A search or a command: it changes nothing, so what it shows is the result.
        if len(evidence.commands) == 1:
            return [*points, "the command was run and its outcome is noted"]
        return [*points, "the commands were run and their outcomes are noted"]
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
