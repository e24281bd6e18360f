"""Records in words: the lines that the backlog, the plan and the trackers share."""

import re
from collections.abc import Callable, Iterable

from oraclepack.core.backlog import Record
from oraclepack.core.evidence import CitationState

_CODE = re.compile(r"`[^`\n]*`")
_STATES = {
    CitationState.VERIFIED: "verified",
    CitationState.STALE: "stale: the file changed since",
    CitationState.NOT_ATTACHED: "never attached",
    CitationState.OUT_OF_RANGE: "beyond the end of the file",
    CitationState.UNKNOWN: "not checked",
}


def safe(text: str) -> str:
    """An answer's words as Markdown that holds no HTML, so no marks of ours either."""
    return _outside_code(text, lambda plain: plain.replace("<", "&lt;"))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        parts += [change(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, change(text[at:])])


def bullets(texts: Iterable[str], mark: str = "-") -> str:
    return "".join(f"{mark} {safe(text)}\n" for text in texts)


def listed(head: str, texts: Iterable[str], mark: str = "-") -> str:
    """A head and its list; nothing when the list is empty."""
    lines = bullets(texts, mark)
    return f"{head}\n\n{lines}\n" if lines else ""


def named(text: str) -> str:
    """A missing input: a bare path is shown as code, words as they are."""
    return text if " " in text or "`" in text else f"`{text}`"


def number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def origin(record: Record) -> str:
    """Where a record comes from and what it is worth, in one line."""
    word = "step" if len(record.sources) == 1 else "steps"
    said = [
        f"{word} {', '.join(record.sources)}",
        f"priority {record.priority}",
        f"ROI {number(record.roi)}",
        f"effort {number(record.effort)}",
    ]
    if record.reference:
        said.append(f"about {safe(record.reference)}")
    return " · ".join(said)


def evidence_lines(record: Record) -> list[str]:
    """What a record stands on, one line for each thing."""
    found = record.evidence
    cited = {citation.path for citation in found.citations}
    lines = [f"`{citation}` ({_STATES[citation.state]})" for citation in found.citations]
    lines += [f"`{path}`" for path in found.paths if path not in cited]
    lines += [f"`{symbol}`" for symbol in found.symbols]
    return lines + [f"`{command}`" for command in found.commands]


def acceptance(record: Record) -> list[str]:
    """How to see that a record is done."""
    found = record.evidence
    points = [f"`{name}` exists" for name in record.expected_artifacts]
    if record.experiment:
        points += [f"`{command}` was run and its outcome is noted" for command in found.commands]
        return points or ["the experiment was made and its outcome is noted"]
    points += [f"`{command}` passes" for command in found.commands]
    places = sorted({str(citation) for citation in found.citations}) or list(found.paths)
    points += [f"the change to `{place}` was reviewed" for place in places]
    return [*points, "a test or check fails without the change"]


def done_when(record: Record) -> str:
    """The one sentence that ends a piece of work."""
    steps = " and ".join(record.sources)
    if record.experiment:
        return f"the outcome decides the question of step {steps}, and the backlog says how."
    return f"the change is merged and the finding of step {steps} no longer holds."
