"""The live table: receives events from every thread, paints in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.cli.event_lines import NullDisplay, Write, line_of
from oraclepack.cli.heartbeat import CTRL_C, RunningSteps, stopping_text
from oraclepack.cli.live.table_rows import Frame, TableState, frame
from oraclepack.cli.render import to_stderr
from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.journal.statuses import WAITS
from oraclepack.run.run_display import RunPreview
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.printable import visible
from oraclepack.system.terminal import log_size, screen_size

if TYPE_CHECKING:
    from oraclepack.cli.live.table import Painting


_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_TO_LINE_END, _TO_SCREEN_END = "\x1b[K", "\x1b[J"


class Painter:
    """Paints each block over the one before, in one write."""

    def __init__(self, write: Callable[[str], None], width_of: Callable[[str], int]) -> None:
        self._write = write
        self._width_of = width_of
        self._before: list[int] = []
        """The width of each line on the screen."""

    def paint(self, block: Sequence[str], columns: int, lines: Sequence[str] = ()) -> None:
        """Show a block; what is `said` goes above it and stays there."""
        parts = [_HIDE, self._to_top(columns)]
        # Erased line by line, after the text: nothing is blank for a moment, and no terminal
        # takes it for the end of a page that it should keep.
        parts += [f"{line}{_TO_LINE_END}\n" for line in (*lines, *block)]
        self._write("".join([*parts, _TO_SCREEN_END, _SHOW]))
        self._before = [self._width_of(line) for line in block]

    def leave(self) -> None:
        """What is on the screen stays there; the next block begins below it."""
        self._before = []

    def _to_top(self, columns: int) -> str:
        """Back to the first line; a terminal made narrower has broken the lines by itself."""
        up = sum(max(1, -(-width // max(columns, 1))) for width in self._before)
        return f"\r\x1b[{up}A" if up else "\r"


_WORTH_A_LINE = (
    j.PreludeFinished,
    j.Imported,
    j.Quarantined,
    j.ControlRequested,
    j.DecisionMade,
    j.RollbackStarted,
    j.RollbackFinished,
)
EVERY = 0.25
"""Seconds between two paintings."""


class LiveTable(NullDisplay):
    """A display that shows a run as a table. It never raises and never keeps a step waiting."""

    shows_warnings = True

    def __init__(
        self,
        *,
        color: bool,
        write: Write = to_stderr,
        clock: Clock | None = None,
        screen: Callable[[], tuple[int, int]] = screen_size,
        every: float = EVERY,
        cancel: str = CTRL_C,
    ) -> None:
        """`cancel` says how a stop that waits for calls is made urgent."""
        self._color = color
        self._cancel = cancel
        self._write = write
        self._clock = clock or SystemClock()
        self._screen = screen
        self._every = every
        self._lock = threading.Lock()
        self._running = RunningSteps(self._clock)
        self._state = EMPTY
        self._touched: set[str] = set()
        self._grown: dict[str, tuple[int, int]] = {}
        """The size of each step's logs, and since when they have it, in nanoseconds."""
        self._is_shown = False
        self._lines: list[str] = []
        self._preview = RunPreview("", Path(), (), lambda _: None)
        self._began = 0
        self._over = threading.Event()
        self._suspended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="screen", daemon=True)

    def begin(self, preview: RunPreview) -> None:
        if preview.forecast:
            to_stderr(f"forecast: {visible(preview.forecast)}\n")
        self.expect(preview)
        self.start()

    def expect(self, preview: RunPreview) -> None:
        """Learn what the command is about to do, and where its logs will be."""
        self._preview = preview

    def start(self) -> None:
        self._began = self._clock.monotonic_ns()
        self._thread.start()

    def event(self, event: KnownEvent, state: RunState) -> None:
        self._running.observe(event)
        with self._lock:
            # Events come from several threads, and a slower one may bring an older state.
            if state.last_seq >= self._state.last_seq:
                self._state = state
            match event:
                case j.StepStarted(step=step) | j.StepFinished(step=step):
                    self._touched.add(step)
            line = line_of(event, state) if _is_worth_a_line(event) else None
            if line is not None:
                self._lines.append(" ".join(visible(line).split("\n")))

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Suspend the table while a question is asked, then continue below it."""
        self._suspended.set()
        try:
            yield
        finally:
            self._suspended.clear()

    def close(self) -> None:
        """Paint the table a last time, in full."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        try:
            # Loaded here, so that no step waits for it.
            from oraclepack.cli.live.table import Painting, width_of

            painting = Painting(color=self._color)
            painter = Painter(self._write, width_of)
            while not self._over.wait(self._every):
                if self._suspended.is_set():
                    painter.leave()
                else:
                    self._paint(painting, painter)
            self._paint(painting, painter, last=True)
        except Exception as trouble:  # noqa: BLE001 - a broken screen must not stop a run
            self._write(f"the live table stopped: {trouble!r}\n")

    def _paint(self, painting: Painting, painter: Painter, *, last: bool = False) -> None:
        with self._lock:
            # A command that finds nothing to do needs no table.
            self._is_shown = self._is_shown or bool(self._touched or self._running.now())
            if not self._is_shown and not (last and self._lines):
                return
            lines, self._lines = self._lines, []
        columns, rows = self._screen()
        block = painting.lines(self.frame(over=last), columns, None if last else rows)
        painter.paint(block if self._is_shown else (), columns, lines)

    def frame(self, *, over: bool = False) -> Frame:
        """The table as it is now."""
        running = self._running.now()
        with self._lock:
            state, touched = self._state, frozenset(self._touched)
        sizes = {step: self._size(state, step) for step in touched}
        now = self._clock.monotonic_ns()
        calls = self._running.awaited_calls
        table_state = TableState(
            state=state,
            touched=touched,
            running=running,
            silent=self._silent({step: sizes.get(step, 0) for step in running}, now),
            sizes=sizes,
            elapsed_ms=(now - self._began) // 1_000_000,
            over=over,
            stopping=stopping_text(calls, self._cancel) if calls and not over else "",
        )
        return frame(self._preview, table_state)

    def _silent(self, sizes: Mapping[str, int], now: int) -> dict[str, int]:
        """Milliseconds since the logs of each running step have grown; asked by one thread."""
        before = self._grown
        self._grown = {
            step: before[step] if step in before and before[step][0] == size else (size, now)
            for step, size in sizes.items()
        }
        return {step: (now - since) // 1_000_000 for step, (_, since) in self._grown.items()}

    def _size(self, state: RunState, step_id: str) -> int:
        step = state.step(step_id)
        names = [name for name in (step.stdout_log, step.stderr_log) if name]
        return sum(log_size(self._preview.run_dir / name) for name in names)


def _is_worth_a_line(event: KnownEvent) -> bool:
    """What the table itself does not show."""
    match event:
        case j.WarningRecorded(code=code):
            return code not in WAITS
        case j.StepFinished(error=error):
            return error is not None
        case j.CallsAwaited(step=step):
            return bool(step)
        case _:
            return isinstance(event, _WORTH_A_LINE) or (
                isinstance(event, j.WaitStarted) and not event.step
            )
