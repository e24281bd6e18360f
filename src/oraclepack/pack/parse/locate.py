"""From a place in the bash block to the place in the Markdown file."""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import msgspec

from oraclepack.pack.model import Fence
from oraclepack.pack.script import Span

_LONG = 1000
"""Lines of so many bytes are counted once, not for each place in them."""


class Locator(msgspec.Struct, frozen=True):
    """Knows where a stretch of bash stands in the file, so that every fact carries its line."""

    lines: tuple[bytes, ...]
    """The stretch itself, line by line, as tree-sitter counts: in bytes."""
    first_line: int
    """The line of the file on which it begins."""
    shifts: tuple[int, ...]
    """How many characters the Markdown container takes from each line (lists, quotes)."""
    written: tuple[bytes, ...] = ()
    """The lines as they stand in the file, where `lines` has filler instead of some text."""
    is_ascii: bool = False
    """Every character is one byte, so that columns need no counting."""

    @classmethod
    def of_block(cls, fence: Fence, text: str) -> "Locator":
        """The place of a whole block in the file it was read from."""
        lines = tuple(fence.content.encode().split(b"\n"))
        shifts = _at_margin(fence, text, len(lines)) or _shifts(fence, text)
        return cls(lines, fence.content_line, shifts, is_ascii=fence.content.isascii())

    def part(self, start: int, end: int) -> "Locator":
        """The lines from `start` up to and without `end`, counted from 0 in this stretch."""
        return Locator(
            self.lines[start:end],
            self.first_line + start,
            self.shifts[start:end],
            self.written[start:end],
            self.is_ascii,
        )

    def source(self, start: tuple[int, int], end: tuple[int, int]) -> bytes:
        """The text between two (row, byte column) points, as it stands in the file."""
        (row, column), (end_row, end_column) = start, end
        lines = list((self.written or self.lines)[row : end_row + 1])
        if len(lines) > end_row - row:
            lines[-1] = lines[-1][:end_column]
        return b"\n".join(lines)[column:]

    def span(self, start: tuple[int, int], end: tuple[int, int]) -> Span:
        """A span of the file from two (row, byte column) points of the stretch."""
        (row, column), (end_row, end_column) = start, end
        if self.is_ascii and row <= end_row < len(self.lines):
            first, shifts = self.first_line, self.shifts
            after = end_column + shifts[end_row] + 1
            return Span(first + row, column + shifts[row] + 1, first + end_row, after)
        return Span(*self._point(start), *self._point(end))

    def _point(self, point: tuple[int, int]) -> tuple[int, int]:
        row, column = point
        if row >= len(self.lines):
            return self.first_line + row, 1
        if not self.is_ascii:
            column = _characters(self.lines[row], column)
        return self.first_line + row, column + self.shifts[row] + 1


def _characters(line: bytes, column: int) -> int:
    """How many characters stand before a byte of a line."""
    if len(line) < _LONG:
        return len(line[:column].decode("utf-8", "replace"))
    return _counted(line)[min(column, len(line))]


@lru_cache(maxsize=4)
def _counted(line: bytes) -> Sequence[int]:
    """The same for every byte of a long line, at once."""
    begins = (byte & 0xC0 != 0x80 for byte in line)  # not the middle of a character
    return array("L", accumulate(begins, initial=0))


def _at_margin(fence: Fence, text: str, lines: int) -> tuple[int, ...] | None:
    """The shifts of a block that stands in the file as it is: only what closes it differs.

    Nearly every block does, and to see it costs much less than to compare it line by line.
    """
    start = text.find(fence.content) if fence.content.endswith("\n") else -1
    if start < 0 or text.count("\n", 0, start) != fence.content_line - 1:
        return None
    if start and text[start - 1] != "\n":
        return None
    closing = text[start + len(fence.content) :].partition("\n")[0]
    return (*(0,) * (lines - 1), len(closing))


def _shifts(fence: Fence, text: str) -> tuple[int, ...]:
    content = fence.content.split("\n")
    first = fence.content_line - 1
    raw = text.split("\n")[first : first + len(content)]
    raw += [""] * (len(content) - len(raw))
    return tuple(max(0, len(one) - len(two)) for one, two in zip(raw, content, strict=True))
