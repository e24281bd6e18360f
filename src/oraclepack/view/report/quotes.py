"""The lines of source files that answers cite, read from the project for a report.

Only files that the question had attached are quoted, and only from inside the project: an answer
may name any path.
"""

from collections.abc import Sequence
from pathlib import Path

from oraclepack.errors import Refusal
from oraclepack.system import files
from oraclepack.system.path_jail import jail
from oraclepack.view.report.data import SourceLine, SourceQuote
from oraclepack.work.backlog import AnsweredStep
from oraclepack.work.citations import check
from oraclepack.work.evidence import Citation, CitationState, Evidence
from oraclepack.work.mentions import placed_citations

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
            self._quote(one, is_attached=known is not None and one.path in known, number=number)
            for number, one in enumerate(evidence.citations)
        )

    def _quote(self, citation: Citation, *, is_attached: bool, number: int) -> SourceQuote:
        quote = SourceQuote(
            path=citation.path,
            first_line=citation.first_line,
            last_line=citation.last_line,
            state=citation.state,
        )
        if not is_attached or not self._quotes or citation.state is CitationState.OUT_OF_RANGE:
            return quote
        if number >= MOST_QUOTES:
            return _with(quote, (), "one of many citations")
        lines = self._lines(citation.path)
        if isinstance(lines, str):
            return _with(quote, (), lines)
        quoted = quote_lines(lines, citation.first_line, citation.last_line)
        cited = citation.last_line - citation.first_line + 1
        left = cited - MOST_LINES
        return _with(quote, quoted, f"{left} more lines" if left > 0 else "")

    def _lines(self, path: str) -> Sequence[str] | str:
        """The lines of a file, or why they are not shown."""
        if path not in self._files:
            self._files[path] = _read_lines(self._root, path)
        return self._files[path]


def citations_in(text: str) -> tuple[Citation, ...]:
    """Every place that a text cites, once. Linear in the text."""
    return tuple(sorted({one for _, _, one in placed_citations(text)}))


def quote_lines(lines: Sequence[str], first: int, last: int) -> tuple[SourceLine, ...]:
    """The cited lines with a few around them, as far as the file has them."""
    end = min(last, first + MOST_LINES - 1)
    numbers = range(max(1, first - AROUND), min(len(lines), end + AROUND) + 1)
    return tuple(
        SourceLine(number, _short(lines[number - 1]), first <= number <= last) for number in numbers
    )


def _short(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"


def _with(quote: SourceQuote, lines: tuple[SourceLine, ...], omitted: str) -> SourceQuote:
    return SourceQuote(
        path=quote.path,
        first_line=quote.first_line,
        last_line=quote.last_line,
        state=quote.state,
        lines=lines,
        omitted=omitted,
    )


def _read_lines(root: Path, path: str) -> Sequence[str] | str:
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
