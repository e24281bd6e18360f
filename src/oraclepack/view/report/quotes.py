"""The lines of source files that answers cite, read from the project for a report.

Only files that the question had attached are quoted, and only from inside the project: an answer
may name any path.
"""

from collections.abc import Sequence
from pathlib import Path

from oraclepack.errors import Refusal
from oraclepack.system import files
from oraclepack.system.path_jail import jail
from oraclepack.view.report.data import SourceQuote
from oraclepack.view.step import shaped
from oraclepack.work.backlog import AnsweredStep
from oraclepack.work.evidence import Citation, CitationState, Evidence, check, placed_citations

AROUND = 2
"""Lines shown before and after the cited ones."""
MOST_LINES = 16
"""Cited lines that are shown of one citation."""
MOST_QUOTES = 60
"""Citations of one answer that are quoted; the others are only named."""
MOST_CHARACTERS = 400
"""Of one line."""
LARGEST_FILE = 4_000_000


class SourceReader:
    """Quotes cited lines; each file is read once."""

    def __init__(self, root: Path, *, quotes: bool = True) -> None:
        self._root = root
        self._quotes = quotes
        self._files: dict[str, Sequence[str] | str] = {}

    def quotes_of(self, text: str, step: AnsweredStep) -> tuple[SourceQuote, ...]:
        """Every place that an answer cites, in the order of paths and lines."""
        known = {file.path: file for file in step.attached} if step.attached is not None else None
        cited = Evidence(citations=citations_in(text))
        evidence = check(cited, known, complete=step.attached_known)
        return tuple(
            self._quote(one, number)
            if self._quotes and known and one.path in known
            else shaped(SourceQuote, one)
            for number, one in enumerate(evidence.citations)
        )

    def _quote(self, cited: Citation, number: int) -> SourceQuote:
        if cited.state is CitationState.OUT_OF_RANGE:
            return shaped(SourceQuote, cited)
        if number >= MOST_QUOTES:
            return shaped(SourceQuote, cited, omitted="one of many citations")
        if cited.path not in self._files:
            self._files[cited.path] = _read_lines(self._root, cited.path)
        lines = self._files[cited.path]
        if isinstance(lines, str):
            return shaped(SourceQuote, cited, omitted=lines)
        end = min(cited.last_line, cited.first_line + MOST_LINES - 1)
        numbers = range(max(1, cited.first_line - AROUND), min(len(lines), end + AROUND) + 1)
        left = cited.last_line - end
        return shaped(
            SourceQuote,
            cited,
            lines=tuple((at, _short(lines[at - 1])) for at in numbers),
            omitted=f"{left} more lines" if left > 0 else "",
        )


def citations_in(text: str) -> tuple[Citation, ...]:
    """Every place that a text cites, once. Linear in the text."""
    return tuple(sorted({one for _, _, one in placed_citations(text)}))


def _short(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"


def _read_lines(root: Path, path: str) -> Sequence[str] | str:
    """The lines of a file, or why they are not shown."""
    place = jail(root, path)
    if isinstance(place, Refusal):
        return "the file is not in the project"
    try:
        data = files.read_regular(place.path, LARGEST_FILE)
    except OSError as trouble:
        return f"the file cannot be read: {trouble.strerror or trouble}"
    if b"\0" in data:
        return "the file is not text"
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n")
