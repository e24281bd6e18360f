"""From a place in the bash block to the place in the Markdown file."""

import msgspec

from oraclepack.core.pack import Fence
from oraclepack.core.source import Span


class Locator(msgspec.Struct, frozen=True):
    """Knows where a stretch of bash stands in the file, so that every fact carries its line."""

    lines: tuple[bytes, ...]
    """The stretch itself, line by line, as tree-sitter counts: in bytes."""
    first_line: int
    """The line of the file on which it begins."""
    shifts: tuple[int, ...]
    """How many characters the Markdown container takes from each line (lists, quotes)."""

    @classmethod
    def of_block(cls, fence: Fence, text: str) -> "Locator":
        """The place of a whole block in the file it was read from."""
        raw = text.split("\n")
        content = fence.content.split("\n")
        shifts = tuple(
            max(0, len(raw[number]) - len(line)) if number < len(raw) else 0
            for number, line in enumerate(content, start=fence.content_line - 1)
        )
        return cls(tuple(line.encode() for line in content), fence.content_line, shifts)

    def part(self, start: int, end: int) -> "Locator":
        """The lines from `start` up to and without `end`, counted from 0 in this stretch."""
        return Locator(self.lines[start:end], self.first_line + start, self.shifts[start:end])

    def span(self, start: tuple[int, int], end: tuple[int, int]) -> Span:
        """A span of the file from two (row, byte column) points of the stretch."""
        line, column = self._point(start)
        end_line, end_column = self._point(end)
        return Span(line, column, end_line, end_column)

    def _point(self, point: tuple[int, int]) -> tuple[int, int]:
        row, column = point
        if row >= len(self.lines):
            return self.first_line + row, 1
        before = self.lines[row][:column]
        characters = column if before.isascii() else len(before.decode("utf-8", "replace"))
        return self.first_line + row, characters + self.shifts[row] + 1
