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
    is_ascii: bool = False
    """Every character is one byte, so that columns need no counting."""

    @classmethod
    def of_block(cls, fence: Fence, text: str) -> "Locator":
        """The place of a whole block in the file it was read from."""
        content = fence.content.split("\n")
        first = fence.content_line - 1
        raw = text.split("\n")[first : first + len(content)]
        raw += [""] * (len(content) - len(raw))
        # Nearly always the block stands at the margin: then only what closes it differs.
        same = len(content) - 1 if raw[:-1] == content[:-1] else 0
        both = zip(raw[same:], content[same:], strict=True)
        shifts = (0,) * same + tuple(max(0, len(one) - len(two)) for one, two in both)
        lines = tuple(fence.content.encode().split(b"\n"))
        return cls(lines, fence.content_line, shifts, fence.content.isascii())

    def part(self, start: int, end: int) -> "Locator":
        """The lines from `start` up to and without `end`, counted from 0 in this stretch."""
        return Locator(
            self.lines[start:end],
            self.first_line + start,
            self.shifts[start:end],
            self.is_ascii,
        )

    def span(self, start: tuple[int, int], end: tuple[int, int]) -> Span:
        """A span of the file from two (row, byte column) points of the stretch."""
        line, column = self._point(start)
        end_line, end_column = self._point(end)
        return Span(line, column, end_line, end_column)

    def _point(self, point: tuple[int, int]) -> tuple[int, int]:
        row, column = point
        if row >= len(self.lines):
            return self.first_line + row, 1
        if not self.is_ascii:
            column = len(self.lines[row][:column].decode("utf-8", "replace"))
        return self.first_line + row, column + self.shifts[row] + 1
