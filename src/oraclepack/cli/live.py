"""The live table of a run: what it shows, and the thread that paints it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oraclepack.cli.lines import (
    CTRL_C,
    Activity,
    NullDisplay,
    RunningSteps,
    Write,
    line_of,
    stopping_text,
)
from oraclepack.cli.render import to_stderr
from oraclepack.cli.text import clock
from oraclepack.journal import events as j
from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.journal.statuses import WAITS, Cache, Status
from oraclepack.journal.step_state import StepState
from oraclepack.run.planning.plan import Decision
from oraclepack.run.run_display import RunPreview, StepPreview
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.printable import visible
from oraclepack.system.terminal import log_size, screen_size

if TYPE_CHECKING:
    from oraclepack.cli.painting import Painting

QUIET_MS = 30_000
"""A step that prints nothing for so long is called silent."""


class RowState(StrEnum):
    """The state of a step in the words of the table."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """Its calls wait: for a slot, for their next try, for an earlier call."""
    OK = "ok"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    BUDGET = "budget"
    AWAITED = "awaited"
    """One of its calls did not fit the budget."""
    HELD = "needs a look"
    """Its answer misses its contract, and is not asked for again."""
    SKIPPED = "skipped"
    DONE = "already done"
    LEFT = "not selected"
    NOT_STARTED = "not started"
    """It was to run, and the command ended before."""

    @property
    def is_active(self) -> bool:
        return self in {RowState.RUNNING, RowState.WAITING}

    @property
    def is_over(self) -> bool:
        """Nothing more happens to it, and nothing is wrong with it."""
        return self in {RowState.OK, RowState.SKIPPED, RowState.DONE}


class TableState(msgspec.Struct, frozen=True):
    """What the observer knows at one moment."""

    state: RunState
    touched: frozenset[str] = frozenset()
    """Steps that something happened to in this command."""
    running: Mapping[str, Activity] = {}
    """The steps at work."""
    silent: Mapping[str, int] = {}
    """Milliseconds since each running step last printed something."""
    sizes: Mapping[str, int] = {}
    """Bytes in the logs of each step's attempt."""
    elapsed_ms: int = 0
    over: bool = False
    """The command has ended."""
    stopping: str = ""
    """That it is to stop, and what for it waits; empty unless it does."""


class Row(msgspec.Struct, frozen=True):
    """One step in the table."""

    step_id: str
    title: str
    state: RowState
    elapsed_ms: int | None = None
    bytes: int | None = None
    attempts: int = 0
    retries: int = 0
    note: str = ""
    """Why it waits, or that it is silent; in a line of its own."""
    waited_ms: int = 0
    """How much of the time its calls did not work but wait."""

    @property
    def lines(self) -> int:
        return 2 if self.note else 1


class Frame(msgspec.Struct, frozen=True):
    """The whole table."""

    rows: tuple[Row, ...]
    elapsed_ms: int
    eta_ms: int | None
    cache_hits: int
    cost: CostTotal = NO_COST
    """Of the run so far, its earlier commands included."""
    stopping: str = ""
    """A line of its own below the rows."""

    def count(self, *states: RowState) -> int:
        return sum(row.state in states for row in self.rows)

    @property
    def total(self) -> int:
        """Every step that is selected."""
        return len(self.rows) - self.count(RowState.LEFT)

    @property
    def done(self) -> int:
        return sum(row.state.is_over for row in self.rows)


def frame(preview: RunPreview, table: TableState) -> Frame:
    """The table of what was planned and what has happened since."""
    rows = tuple(_row(step, table) for step in preview.steps)
    outcomes = [
        call.outcome
        for step in table.touched
        for call in table.state.step(step).last_invocations()
        if call.outcome is not None
    ]
    return Frame(
        rows=rows,
        elapsed_ms=table.elapsed_ms,
        eta_ms=eta(rows, preview.lanes(sorted(_providers(table)))),
        cache_hits=sum(outcome.cache is Cache.HIT for outcome in outcomes),
        cost=table.state.cost(),
        stopping=table.stopping,
    )


def eta(rows: Sequence[Row], parallel: int | None) -> int | None:
    """How long the rest takes if each step works as long as those that ended in this command.

    `parallel` is how many get on at once, limits of providers included. None where that is not
    known, before the first has ended, when nothing is left, and when the last ones take longer
    than usual.
    """
    ended = [_worked(row) for row in rows if _has_run(row) and row.elapsed_ms is not None]
    active = [_worked(row) for row in rows if row.state.is_active]
    queued = sum(row.state is RowState.QUEUED for row in rows)
    if parallel is None or not ended or not (active or queued):
        return None
    usual = sum(ended) / len(ended)
    rest = [max(usual - spent, 0.0) for spent in active]
    shared = (sum(rest) + queued * usual) / max(parallel, 1)
    return round(max([shared, *rest])) or None


def fitting(rows: Sequence[Row], room: int) -> tuple[tuple[Row, ...], str]:
    """The rows that fit on the screen, in their order, and a word about the others.

    What runs and what failed comes first, then what is next, then what ended last.
    """
    if sum(row.lines for row in rows) <= room:
        return tuple(rows), ""
    ranked = sorted(range(len(rows)), key=lambda at: _rank(rows[at], at))
    used = accumulate(rows[at].lines for at in ranked)
    visible = {at for at, lines in zip(ranked, used, strict=True) if lines < room}
    left = Counter(row.state for at, row in enumerate(rows) if at not in visible)
    counts = ", ".join(f"{left[state]} {state}" for state in RowState if left[state])
    return tuple(row for at, row in enumerate(rows) if at in visible), f"… and {counts}"


def _rank(row: Row, at: int) -> tuple[int, int]:
    if row.state.is_active:
        return 0, at
    if row.state is RowState.FAILED:
        return 1, at
    if row.state is RowState.QUEUED:
        return 2, at
    return (4, -at) if row.state in {RowState.DONE, RowState.LEFT} else (3, -at)


def _worked(row: Row) -> int:
    return max((row.elapsed_ms or 0) - row.waited_ms, 0)


def _providers(table: TableState) -> set[str]:
    """Whom the calls of this command ask."""
    intents = (
        call.intent for step in table.touched for call in table.state.step(step).last_invocations()
    )
    return {intent.provider for intent in intents if intent is not None and intent.provider}


def _has_run(row: Row) -> bool:
    return row.state in {RowState.OK, RowState.FAILED, RowState.SKIPPED}


def _row(step: StepPreview, table: TableState) -> Row:
    now = table.state.step(step.step_id)
    row_state = _row_state(step, now, table)
    if step.step_id not in table.touched:
        return Row(step.step_id, step.title, row_state)
    running = table.running.get(step.step_id)
    outcomes = [call.outcome for call in now.last_invocations() if call.outcome is not None]
    retries = sum(max(outcome.attempts - 1, 0) for outcome in outcomes)
    return Row(
        step_id=step.step_id,
        title=step.title,
        state=row_state,
        elapsed_ms=now.duration_ms if running is None else running.elapsed_ms,
        bytes=table.sizes.get(step.step_id),
        attempts=now.attempts,
        retries=retries if running is None else max(retries, running.retries),
        note=_note(running, table.silent.get(step.step_id, 0))
        if running and not table.over
        else "",
        waited_ms=sum(outcome.waited_ms for outcome in outcomes),
    )


def _note(running: Activity, silent_ms: int) -> str:
    if running.waits:
        more = f" (and {len(running.waits) - 1} more)" if len(running.waits) > 1 else ""
        return f"{running.waits[0]}{more}"
    return f"silent for {clock(silent_ms)}" if silent_ms >= QUIET_MS else ""


def _row_state(step: StepPreview, now: StepState, table: TableState) -> RowState:
    if step.step_id not in table.touched:
        was_to_run = step.decision is Decision.RUN
        return RowState.NOT_STARTED if table.over and was_to_run else _UNTOUCHED[step.decision]
    match now.status:
        case Status.RUNNING:
            active = table.running.get(step.step_id)
            return (
                RowState.WAITING if active is not None and active.is_waiting else RowState.RUNNING
            )
        case Status.PENDING:
            if now.is_over_budget:
                return RowState.BUDGET
            if now.is_awaited:
                return RowState.AWAITED
            return RowState.INTERRUPTED if now.is_interrupted else RowState.QUEUED
        case status:
            return RowState(status.value)


_UNTOUCHED = {
    Decision.RUN: RowState.QUEUED,
    Decision.DONE: RowState.DONE,
    Decision.SKIPPED: RowState.SKIPPED,
    Decision.NOT_SELECTED: RowState.LEFT,
    Decision.RESTORE: RowState.DONE,
    Decision.RECHECK: RowState.DONE,
    Decision.ADOPT: RowState.DONE,
    Decision.HELD: RowState.HELD,
}


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
            from oraclepack.cli.painting import Painting, width_of

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
