"""The lines of a section, cut into statements: a bullet with its children, a paragraph, a row.

Answers come as Markdown, or as a chat page shows them: bullets gone, one paragraph per bullet,
`*`, `_`, backslashes and `<…>` are literal. So lines are only grouped here, never rendered: a
statement is a slice of the source.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from oraclepack.pack.answer_sections import Section, numbered

_MARKER = re.compile(r"[ \t]*(?:[-*+•‣◦–]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+(?=\S)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+.*)?$|\s*(\*\*|__)(?!\s)[^*]+\1:?\s*$")
"""A Markdown heading, or a line that is bold as a whole."""
_CONTINUES = re.compile(
    r"[\s*_]*(?:\(|\[|(?i:evidence|sources?|refs?|references?|citations?)\b[*_]*\s*[:(])"
)
"""Evidence and asides belong to what is above them, also after an empty line."""
_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_FINISHED = re.compile(r"[.!?…)\]`\"”:][*_]*\s*$")
_WIDE = 130
"""Characters; where a line is longer, lines are not wrapped by hand."""
_SHORT = 110
"""Characters; shorter points belong to the lead-in above them, longer ones are statements."""
_FEWEST_WORDS = 5
"""Of a point that ends with a full stop and so is a statement."""


class BodyLine(msgspec.Struct, frozen=True):
    """A line of a section: its number, its text, and whether it lies in a code block."""

    number: int
    text: str
    in_code: bool = False


class Statement(msgspec.Struct, frozen=True):
    """One thought of an answer, as it stands there."""

    section: Section
    text: str
    """A slice of the source without its list marker and indent."""
    first_line: int
    last_line: int
    lead: str = ""
    """The heading, lead-in or table head that it is the first to stand under."""
    labels: tuple[str, ...] = ()
    """The column names of a row."""
    heading: str = ""
    """The last heading above it in its section."""


def body_lines(lines: Iterable[str], first: int = 1) -> list[BodyLine]:
    """Lines with their numbers and the code blocks marked."""
    return [
        BodyLine(number + first - 1, text, bool(block)) for number, text, block in numbered(lines)
    ]


def is_wrapped(lines: Iterable[str]) -> bool:
    """Whether the writer broke lines by hand, so that a line is no paragraph."""
    return max(map(len, lines), default=0) < _WIDE


def row_cells(text: str) -> tuple[str, ...]:
    """The cells of a row of a table, or nothing where a text is none."""
    if "\n" in text or not _ROW.fullmatch(text):
        return ()
    return tuple(cell.strip() for cell in _BAR.split(text.strip())[1:-1])


def without_marker(line: str) -> str:
    """A line without its list marker and the spaces around it."""
    marker = _MARKER.match(line)
    return (line[marker.end() :] if marker is not None else line).strip()


def cut(section: Section, body: Sequence[BodyLine], *, wrapped: bool) -> tuple[Statement, ...]:
    """The statements of a section, in order."""
    cutter = _Cutter(section, body, wrapped=wrapped)
    for position in range(len(body)):
        cutter.take(position)
    cutter.close()
    return tuple(cutter.statements)


class _Cutter:
    """Collects the lines of one statement after the other."""

    def __init__(self, section: Section, body: Sequence[BodyLine], *, wrapped: bool) -> None:
        self.statements: list[Statement] = []
        self._section = section
        self._body = body
        self._wrapped = wrapped
        self._lines: list[BodyLine] = []
        self._indent = 0
        """Of the first line of the statement."""
        self._content = 0
        """Where the text of an item begins; what is indented as far belongs to it."""
        self._owned: int | None = None
        """The indent of the list that a lead-in owns."""
        self._leads: list[BodyLine] = []
        self._labels: tuple[str, ...] = ()
        self._heading = ""
        self._gap = True

    def take(self, position: int) -> None:
        line = self._body[position]
        if not line.text.strip() and not line.in_code:
            self._gap = True
            return
        if line.in_code:
            self._add_or_begin(line, belongs=bool(self._lines))
        elif _HEADING.match(line.text):
            self.close()
            self._leads.append(line)
            self._heading = line.text
        elif _ROW.fullmatch(line.text):
            self._take_row(position)
        elif _MARKER.match(line.text):
            self._take_item(position)
        else:
            self._labels = ()
            self._add_or_begin(line, belongs=self._continues(line))
        self._gap = False

    def close(self) -> None:
        """End the statement; a heading without anything below it is one itself."""
        if not self._lines and self._leads:
            *self._leads, last = self._leads
            self._lines = [last]
        if not self._lines:
            return
        first, last = self._lines[0], self._lines[-1]
        self.statements.append(
            Statement(
                self._section,
                "\n".join(_slice(self._lines, self._content)),
                first.number,
                last.number,
                "\n".join(line.text.strip() for line in self._leads),
                self._labels if row_cells(first.text.strip()) else (),
                self._heading,
            )
        )
        self._lines, self._leads, self._owned = [], [], None

    def _take_row(self, position: int) -> None:
        """Each row of a table is a statement; its head leads the first one."""
        line = self._body[position]
        following = self._body[position + 1].text if position + 1 < len(self._body) else ""
        if _RULE.fullmatch(line.text):
            return
        if _RULE.fullmatch(following):
            self.close()
            self._leads.append(line)
            self._labels = row_cells(line.text.strip())
        else:
            self._add_or_begin(line, belongs=False)

    def _take_item(self, position: int) -> None:
        line = self._body[position]
        indent = _indent(line.text)
        self._labels = ()
        if self._lines and self._is_lead_in() and self._owned is None:
            if self._has_short_points(position):
                self._owned = indent
            elif indent >= self._indent:  # the points are statements of their own
                self._leads += self._lines
                self._lines = []
        is_child = bool(self._lines) and indent > self._indent
        self._add_or_begin(line, belongs=is_child or self._owned == indent)

    def _is_lead_in(self) -> bool:
        return self._lines[-1].text.rstrip(" *_").endswith(":")

    def _has_short_points(self, position: int) -> bool:
        """Whether the list that begins here has points that only make sense below its lead-in."""
        indent = _indent(self._body[position].text)
        for line in self._body[position:]:
            if not line.text.strip() or line.in_code or _indent(line.text) > indent:
                continue
            if _indent(line.text) < indent or not _MARKER.match(line.text):
                break
            text = line.text.strip()
            is_sentence = text.count(" ") >= _FEWEST_WORDS and text.rstrip("*_")[-1:] in set(".!?")
            if len(text) > _SHORT or is_sentence:
                return False
        return True

    def _continues(self, line: BodyLine) -> bool:
        if not self._lines or row_cells(self._lines[0].text.strip()):
            return False
        if self._content > self._indent and _indent(line.text) >= self._indent + 2:
            return True  # a further paragraph of an item
        if _CONTINUES.match(line.text):
            return True
        if self._gap or self._owned is not None:
            return False
        return self._wrapped or not _FINISHED.search(self._lines[-1].text)

    def _add_or_begin(self, line: BodyLine, *, belongs: bool) -> None:
        if belongs:
            self._lines.append(line)
            return
        if self._lines:
            self.close()
        marker = None if line.in_code else _MARKER.match(line.text)
        self._indent = _indent(line.text)
        self._content = _width(marker[0]) if marker is not None else self._indent
        self._lines = [line]


def _slice(lines: Sequence[BodyLine], content: int) -> Iterator[str]:
    """The lines as they stand, without the marker and the indent of the first."""
    for number, line in enumerate(lines):
        if number:
            yield from [""] * (line.number - lines[number - 1].number - 1)
            yield line.text.rstrip()[min(content, _indent(line.text)) :]
        else:
            yield line.text.rstrip() if line.in_code else without_marker(line.text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _width(text: str) -> int:
    return len(text)
