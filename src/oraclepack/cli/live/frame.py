"""What the live table shows at one moment: a value, computed from the state of the run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import fmean

import msgspec

from oraclepack.core.plan import Decision
from oraclepack.core.result import Cache, Status
from oraclepack.core.runstate import RunState
from oraclepack.core.stepstate import StepState


class Look(StrEnum):
    """The state of a step in the words of the table."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """A call failed for a passing reason and is tried again later."""
    OK = "ok"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    HELD = "held"
    """Its answer misses its contract, and is not asked for again."""
    SKIPPED = "skipped"
    DONE = "done before"
    LEFT = "not selected"
    NOT_STARTED = "not started"
    """It was to run, and the command ended before."""

    @property
    def is_active(self) -> bool:
        return self in {Look.RUNNING, Look.WAITING}

    @property
    def is_over(self) -> bool:
        """Nothing more happens to it, and nothing is wrong with it."""
        return self in {Look.OK, Look.SKIPPED, Look.DONE}


class Planned(msgspec.Struct, frozen=True):
    """A step as it stood before the command began."""

    step_id: str
    title: str
    decision: Decision


class Seen(msgspec.Struct, frozen=True):
    """What the observer knows at one moment."""

    state: RunState
    touched: frozenset[str] = frozenset()
    """Steps that something happened to in this command."""
    running: Mapping[str, int] = {}
    """Milliseconds that each running step has been at work."""
    waiting: frozenset[str] = frozenset()
    sizes: Mapping[str, int] = {}
    """Bytes in the logs of each step's attempt."""
    elapsed_ms: int = 0
    over: bool = False
    """The command has ended."""


class Row(msgspec.Struct, frozen=True):
    """One step in the table."""

    step_id: str
    title: str
    look: Look
    elapsed_ms: int | None = None
    bytes: int | None = None
    attempts: int = 0
    retries: int = 0


class Frame(msgspec.Struct, frozen=True):
    """The whole table."""

    rows: tuple[Row, ...]
    elapsed_ms: int
    eta_ms: int | None
    cache_hits: int
    cost_usd: float | None

    def count(self, *looks: Look) -> int:
        return sum(row.look in looks for row in self.rows)

    @property
    def total(self) -> int:
        """Every step that is selected."""
        return len(self.rows) - self.count(Look.LEFT)

    @property
    def done(self) -> int:
        return sum(row.look.is_over for row in self.rows)


def frame(plan: Sequence[Planned], seen: Seen, parallel: int) -> Frame:
    rows = tuple(_row(step, seen) for step in plan)
    outcomes = [
        call.outcome
        for step in seen.touched
        for call in seen.state.step(step).last_invocations()
        if call.outcome is not None
    ]
    costs = [o.usage.cost_usd for o in outcomes if o.usage and o.usage.cost_usd is not None]
    return Frame(
        rows=rows,
        elapsed_ms=seen.elapsed_ms,
        eta_ms=eta(rows, parallel),
        cache_hits=sum(outcome.cache is Cache.HIT for outcome in outcomes),
        cost_usd=sum(costs) if costs else None,
    )


def eta(rows: Sequence[Row], parallel: int) -> int | None:
    """How long the rest takes if each step takes as long as those that ended in this command.

    None before the first has ended, and when nothing is left.
    """
    ended = [row.elapsed_ms for row in rows if _has_run(row) and row.elapsed_ms is not None]
    active = [row.elapsed_ms or 0 for row in rows if row.look.is_active]
    queued = sum(row.look is Look.QUEUED for row in rows)
    if not ended or not (active or queued):
        return None
    usual = fmean(ended)
    rest = [max(usual - spent, 0.0) for spent in active]
    shared = (sum(rest) + queued * usual) / max(parallel, 1)
    return round(max([shared, *rest]))


def fitting(rows: Sequence[Row], room: int) -> tuple[tuple[Row, ...], str]:
    """The rows that fit on the screen, in their order, and a word about the others.

    What runs and what failed comes first, then what is next, then what ended last.
    """
    if len(rows) <= room:
        return tuple(rows), ""
    ranked = sorted(range(len(rows)), key=lambda at: _rank(rows[at], at))
    kept = set(ranked[: max(room - 1, 0)])
    left = Counter(row.look for at, row in enumerate(rows) if at not in kept)
    told = ", ".join(f"{left[look]} {look}" for look in Look if left[look])
    return tuple(row for at, row in enumerate(rows) if at in kept), f"… and {told}"


def _rank(row: Row, at: int) -> tuple[int, int]:
    if row.look.is_active:
        return 0, at
    if row.look is Look.FAILED:
        return 1, at
    if row.look is Look.QUEUED:
        return 2, at
    return (4, -at) if row.look in {Look.DONE, Look.LEFT} else (3, -at)


def _has_run(row: Row) -> bool:
    return row.look in {Look.OK, Look.FAILED, Look.SKIPPED}


def _row(step: Planned, seen: Seen) -> Row:
    now = seen.state.step(step.step_id)
    look = _look(step, now, seen)
    if step.step_id not in seen.touched:
        return Row(step.step_id, step.title, look)
    running = seen.running.get(step.step_id)
    return Row(
        step_id=step.step_id,
        title=step.title,
        look=look,
        elapsed_ms=now.duration_ms if running is None else running,
        bytes=seen.sizes.get(step.step_id),
        attempts=now.attempts,
        retries=_retries(now),
    )


def _look(step: Planned, now: StepState, seen: Seen) -> Look:
    if step.step_id not in seen.touched:
        was_to_run = step.decision is Decision.RUN
        return Look.NOT_STARTED if seen.over and was_to_run else _UNTOUCHED[step.decision]
    match now.status:
        case Status.RUNNING:
            return Look.WAITING if step.step_id in seen.waiting else Look.RUNNING
        case Status.PENDING:
            return Look.INTERRUPTED if now.is_interrupted else Look.QUEUED
        case status:
            return Look(status.value)


_UNTOUCHED = {
    Decision.RUN: Look.QUEUED,
    Decision.DONE: Look.DONE,
    Decision.SKIPPED: Look.SKIPPED,
    Decision.NOT_SELECTED: Look.LEFT,
    Decision.RESTORE: Look.DONE,
    Decision.RECHECK: Look.DONE,
    Decision.HELD: Look.HELD,
}


def _retries(step: StepState) -> int:
    """Tries of the attempt's calls beyond the first of each."""
    outcomes = (call.outcome for call in step.last_invocations())
    return sum(max(outcome.attempts - 1, 0) for outcome in outcomes if outcome is not None)
