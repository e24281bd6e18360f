"""Computes lines and columns of the Markdown file from positions in its bash block."""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import msgspec

from oraclepack.pack.model import Fence
from oraclepack.pack.script import Span

_LONG = 1000
"""Bytes; the characters of a longer line are counted once, not for each position in it."""


class Locator(msgspec.Struct, frozen=True):
    """Maps positions in a part of the bash block to lines and columns of the file."""

    lines: tuple[bytes, ...]
    """The lines of the part, as bytes: tree-sitter counts columns in bytes."""
    first_line: int
    """The line of the file on which the part begins."""
    shifts: tuple[int, ...]
    """How many characters a Markdown container (list, quote) adds in front of each line."""
    written: tuple[bytes, ...] = ()
    """The original lines, where `lines` has filler in place of some text."""
    is_ascii: bool = False
    """Every character is one byte, so byte columns are character columns."""

    @classmethod
    def of_block(cls, fence: Fence, text: str) -> "Locator":
        """The locator of a whole bash block."""
        lines = tuple(fence.content.encode().split(b"\n"))
        shifts = _unindented_shifts(fence, text, len(lines)) or _shifts(fence, text)
        return cls(lines, fence.content_line, shifts, is_ascii=fence.content.isascii())

    def part(self, start: int, end: int) -> "Locator":
        """The locator of the lines `start` to `end` (exclusive), counted from 0 in this part."""
        return Locator(
            self.lines[start:end],
            self.first_line + start,
            self.shifts[start:end],
            self.written[start:end],
            self.is_ascii,
        )

    def source(self, start: tuple[int, int], end: tuple[int, int]) -> bytes:
        """The text between two (row, byte column) points, as in the file."""
        (row, column), (end_row, end_column) = start, end
        lines = list((self.written or self.lines)[row : end_row + 1])
        if len(lines) > end_row - row:
            lines[-1] = lines[-1][:end_column]
        return b"\n".join(lines)[column:]

    def span(self, start: tuple[int, int], end: tuple[int, int]) -> Span:
        """The span in the file between two (row, byte column) points of this part."""
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
    """How many characters of a line precede a byte."""
    if len(line) < _LONG:
        return len(line[:column].decode("utf-8", "replace"))
    return _characters_before_each_byte(line)[min(column, len(line))]


@lru_cache(maxsize=4)
def _characters_before_each_byte(line: bytes) -> Sequence[int]:
    """`_characters` for every byte of a long line, computed once."""
    begins = (byte & 0xC0 != 0x80 for byte in line)  # not the middle of a character
    return array("L", accumulate(begins, initial=0))


def _unindented_shifts(fence: Fence, text: str, lines: int) -> tuple[int, ...] | None:
    """The shifts of a block that is not inside a list or quote; None for other blocks.

    Nearly every block is such a one, and this check is much cheaper than comparing every line.
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
