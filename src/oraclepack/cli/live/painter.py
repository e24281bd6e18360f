"""Keeps a block of lines at the bottom of a terminal up to date.

Between two paintings the terminal is as the shell left it: the cursor is visible and at the
start of a line. So there is nothing to restore, however the process ends.
"""

from collections.abc import Callable, Sequence

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_TO_LINE_END, _TO_SCREEN_END = "\x1b[K", "\x1b[J"


class Painter:
    """Paints each block over the one before, in one write."""

    def __init__(self, write: Callable[[str], None], width_of: Callable[[str], int]) -> None:
        self._write = write
        self._width_of = width_of
        self._before: list[int] = []
        """The width of each line on the screen."""

    def paint(self, block: Sequence[str], columns: int, said: Sequence[str] = ()) -> None:
        """Show a block; what is `said` goes above it and stays there."""
        parts = [_HIDE, self._to_top(columns)]
        # Erased line by line, after the text: nothing is blank for a moment, and no terminal
        # takes it for the end of a page that it should keep.
        parts += [f"{line}{_TO_LINE_END}\n" for line in (*said, *block)]
        self._write("".join([*parts, _TO_SCREEN_END, _SHOW]))
        self._before = [self._width_of(line) for line in block]

    def leave(self) -> None:
        """What stands on the screen stays there; the next block begins below it."""
        self._before = []

    def _to_top(self, columns: int) -> str:
        """Back to the first line; a terminal made narrower has broken the lines by itself."""
        up = sum(max(1, -(-width // max(columns, 1))) for width in self._before)
        return f"\r\x1b[{up}A" if up else "\r"
