"""The lines of a section, grouped into units: one thought each, with what belongs to it.

Answers come as Markdown, or as a chat page shows them: bullets gone, one paragraph per bullet,
`*`, `_`, backslashes and `<…>` are literal. So lines are only grouped here, never rendered: a unit
is a slice of the source.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from oraclepack.answers.sentences import word_set
from oraclepack.pack.answer_sections import Section, numbered
from oraclepack.system.patterns import late_pattern

_MARKER = late_pattern(
    r"(?P<indent>[ \t]*)(?P<mark>[-*+•‣◦–]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+(?=\S)"
)
_BELONGS_BEFORE = late_pattern(
    r"[\s*_]*(?:\(|\[|(?i:evidence|sources?|see|refs?|references?|citations?)\b[*_]*\s*[:(]"
    r"|[a-z,;.)\]](?![.)]\s))",
)
"""Continues what is above: its evidence, an aside, the rest of a sentence."""
_SAYS = late_pattern(r"\w")
_ROW = late_pattern(r"\s*\|.*\|\s*")
_RULE = late_pattern(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*")
_BAR = late_pattern(r"(?<!\\)\|")
_BROKEN_OFF = late_pattern(r"[a-z]")
_CHIP = late_pattern(r"\+\d{1,3}|copy code|[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+", re.IGNORECASE)
"""Captions that a chat page puts beside text: names of its sources, its buttons."""
_LONE_WORD = late_pattern(r"[A-Za-z][A-Za-z0-9]*")
_REPLIES = word_set("yes no none partly partially mostly unknown unclear")
_WIDE = 130
"""Characters; where a line is longer, lines are not wrapped by hand."""
_SHORT_CHILD = 110
"""Characters; so short is a point below a lead-in, longer is a thought of its own."""


class Unit(msgspec.Struct, frozen=True):
    """One thought of an answer: a paragraph or item with its evidence and its sub-items."""

    section: Section
    texts: tuple[str, ...]
    """Slices of the source, without list marker and indent; several where a caption of the page
    is between them."""
    spans: tuple[tuple[int, int], ...]
    """The first and last line of each slice."""

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def first_line(self) -> int:
        return self.spans[0][0]

    @property
    def last_line(self) -> int:
        return self.spans[-1][1]


class BodyLine(msgspec.Struct, frozen=True):
    """A line of a section: its number, its text, and whether it lies in a code block."""

    number: int
    text: str
    in_code: bool = False


def body_lines(lines: Iterable[str], first: int = 1) -> list[BodyLine]:
    """Lines with their numbers and the code blocks marked."""
    return [
        BodyLine(number + first - 1, text, bool(block)) for number, text, block in numbered(lines)
    ]


def is_caption(line: str) -> bool:
    """A line that only names a source or a button of the page it was copied from."""
    return _CHIP().fullmatch(line.strip()) is not None


def _is_lone_word(text: str) -> bool:
    """A single word is a caption too, unless it is an answer or a point below a lead-in."""
    return _LONE_WORD().fullmatch(text) is not None and text.lower() not in _REPLIES


def units_of(section: Section, body: Sequence[BodyLine], *, wrapped: bool) -> tuple[Unit, ...]:
    """The units of a section, in order."""
    drafts: list[_Draft] = []
    gap = True
    heads, rows = _table_lines(body)
    for position, line in enumerate(body):
        stripped = line.text.strip()
        if position in heads and not (drafts and drafts[-1].leads()):
            gap = True
            continue
        if not stripped and not line.in_code:
            gap = True
            continue
        current = drafts[-1] if drafts else None
        follows = current is not None and not current.leads()
        is_noise = is_caption(line.text) or (follows and _is_lone_word(stripped))
        if is_noise and not line.in_code and section is not Section.MISSING_EVIDENCE:
            if current is not None:
                current.split = True
            continue
        is_row = position in rows
        if current is not None and current.takes(line, gap=gap, wrapped=wrapped, is_row=is_row):
            current.add(line)
        else:
            drafts.append(_Draft(line, is_row=is_row))
        gap = False
    return tuple(draft.unit(section) for draft in drafts)


def _table_lines(body: Sequence[BodyLine]) -> tuple[set[int], set[int]]:
    """Which lines are the head of a table, with the rule below it, and which are its rows."""
    heads: set[int] = set()
    rows: set[int] = set()
    for position, line in enumerate(body):
        if line.in_code or not _ROW().fullmatch(line.text):
            continue
        if _RULE().fullmatch(line.text) and position and _ROW().fullmatch(body[position - 1].text):
            heads |= {position - 1, position}
        elif {position - 1} & (heads | rows):
            rows.add(position)
    return heads, rows


def row_cells(text: str) -> tuple[str, ...]:
    """The cells of a row of a table, or nothing where a text is none."""
    if "\n" in text or not _ROW().fullmatch(text):
        return ()
    return tuple(cell.strip() for cell in _BAR().split(text.strip())[1:-1] if cell.strip())


def is_wrapped(lines: Sequence[str]) -> bool:
    """Whether the writer broke lines by hand, so that a line is no paragraph."""
    return max(map(len, lines), default=0) < _WIDE


def without_marker(line: str) -> str:
    """A line without its list marker and the spaces around it."""
    marker = _MARKER().match(line)
    return (line[marker.end() :] if marker is not None else line).strip()


class _Draft:
    """A unit while its lines are collected."""

    def __init__(self, line: BodyLine, *, is_row: bool = False) -> None:
        self._is_row = is_row
        self._lines: list[list[BodyLine]] = [[line]]
        self.split = False
        marker = None if line.in_code else _MARKER().match(line.text)
        self._has_marker = marker is not None
        self._indent = _indent(line.text)
        self._content = _width(marker[0]) if marker is not None else self._indent

    def takes(self, line: BodyLine, *, gap: bool, wrapped: bool, is_row: bool = False) -> bool:
        """Whether the next line belongs to this unit; a row of a table is one of its own."""
        if line.in_code or self._is_row or is_row:
            return line.in_code or (not self._is_row and self.leads())
        indent = _indent(line.text)
        marker = _MARKER().match(line.text)
        text = line.text.strip()
        leads = self.leads()
        if marker is not None:
            below = indent > self._indent or (leads and not self._has_marker)
            return below and (indent > self._indent or len(text) <= _SHORT_CHILD)
        if self._has_marker and indent >= min(self._content, self._indent + 2) > self._indent:
            return True
        if leads and (not gap or len(text) <= _SHORT_CHILD):
            return True
        if _BELONGS_BEFORE().match(text):
            return not gap or not _BROKEN_OFF().match(text) or self._unfinished()
        return not gap and (wrapped or self._unfinished())

    def add(self, line: BodyLine) -> None:
        if self.split:
            self._lines.append([])
            self.split = False
        self._lines[-1].append(line)

    def unit(self, section: Section) -> Unit:
        first, *more = self._lines
        pieces = [first, *(one for one in more if any(_SAYS().search(line.text) for line in one))]
        return Unit(
            section,
            tuple("\n".join(_slice(lines, first=lines is first)) for lines in pieces),
            tuple((lines[0].number, lines[-1].number) for lines in pieces),
        )

    def _last(self) -> str:
        return self._lines[-1][-1].text.rstrip(" *_")

    def leads(self) -> bool:
        """A lead-in owns what follows it; its own points do not end that."""
        first = self._lines[0][0].text.rstrip(" *_")
        return first.endswith(":") or self._last().endswith(":")

    def _unfinished(self) -> bool:
        return not self._last().endswith((".", "!", "?", ")", "`", '"', "”", "]"))


def _slice(lines: Sequence[BodyLine], *, first: bool) -> Iterator[str]:
    for number, line in enumerate(lines):
        text = line.text.rstrip()
        if number:
            yield from [""] * (line.number - lines[number - 1].number - 1)
        if number == 0 and first:
            yield without_marker(text)
        else:
            yield text if line.in_code else text.strip()


def _indent(line: str) -> int:
    return _width(line[: len(line) - len(line.lstrip())])


def _width(text: str) -> int:
    return len(text.expandtabs(4))
