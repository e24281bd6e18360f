"""What the live table shows at one moment: a value, computed from the state of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

from oraclepack.cli.heartbeat import Activity
from oraclepack.cli.text import clock
from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Cache, Status
from oraclepack.journal.step_state import StepState
from oraclepack.run.planning.plan import Decision
from oraclepack.run.run_display import RunPreview, StepPreview

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
    HELD = "held"
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
