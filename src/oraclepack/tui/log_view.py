"""The live end of a step's log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widgets import Log

from oraclepack.errors import OraclePackError
from oraclepack.shell.logs import LogPart, LogWindow
from oraclepack.system.printable import visible
from oraclepack.tui.screen_text import shown_line

if TYPE_CHECKING:
    from textual.worker import Worker

MOST_LINES = 2_000
_EVERY = 0.3
_MOST_AT_ONCE = 400
"""Lines that are written to the screen in one go; more would not be read anyway."""


class LogView(Log):
    """Shows the last lines of a log, as it grows; never more than fit into its memory."""

    class Lines(Message):
        """New lines for a view that shows `name`."""

        def __init__(self, name: str, lines: list[str]) -> None:
            super().__init__()
            self.name = name
            self.lines = lines

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, max_lines=MOST_LINES, auto_scroll=True, highlight=False)
        self._name = ""
        self._stop = Event()
        self._worker: Worker[None] | None = None

    def follow(self, name: str, open_logs: Callable[[], Sequence[LogWindow]]) -> None:
        """Show a log from now on; `open_logs` is called in a thread, until there is one."""
        self._stop.set()
        self._stop = stop = Event()
        self._name = name
        self.clear()

        def work() -> None:
            self._follow(name, open_logs, stop)

        self._worker = self.run_worker(work, thread=True, group="log", exclusive=True)

    def on_unmount(self) -> None:
        self._stop.set()

    def _follow(self, name: str, open_logs: Callable[[], Sequence[LogWindow]], stop: Event) -> None:
        windows: Sequence[LogWindow] = ()
        said = False
        while not stop.is_set():
            if not windows:
                try:
                    windows = open_logs()
                except OraclePackError as trouble:
                    if not said:
                        self.post_message(self.Lines(name, [f"({visible(trouble.message)})"]))
                    said = True
            for window in windows:
                part = window.read()
                lines = lines_of(part)
                if lines:
                    self.post_message(self.Lines(name, lines))
            stop.wait(_EVERY)

    def on_log_view_lines(self, event: Lines) -> None:
        event.stop()
        if event.name == self._name:
            self.write_lines(event.lines)

    @property
    def plain(self) -> str:
        """What is shown, for the clipboard and the pager."""
        return "\n".join(self.lines)


def lines_of(part: LogPart) -> list[str]:
    """The lines of a piece of a log as they are shown; the newest, where there are too many."""
    text = part.data.decode("utf-8", "replace")
    # A progress bar ends its lines by a carriage return alone.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    left_out = max(0, len(lines) - _MOST_AT_ONCE)
    head = []
    if part.skipped:
        head.append(f"… {part.skipped:,} bytes are not shown …")
    elif left_out:
        head.append(f"… {left_out:,} lines are not shown …")
    return [*head, *(shown_line(visible(line)) for line in lines[left_out:])]
