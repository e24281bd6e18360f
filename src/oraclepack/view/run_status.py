"""The status of a run now: what its calls do, what they wait for, what a person must decide."""

from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.journal.activity import is_paused, open_decisions, waiting_for_run
from oraclepack.journal.costs import NO_COST, CostTotal, total_cost
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Status
from oraclepack.journal.timeline import (
    CallTimeline,
    SegmentKind,
    call_timelines,
    milliseconds_between,
)
from oraclepack.pack.questions import short_title
from oraclepack.system import locks
from oraclepack.system.clock import Clock, SystemClock, rfc3339
from oraclepack.view.past_runs import inspect_run, listing_of, pack_of, step_word


class CallInFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A call that has not ended."""

    step_id: str
    attempt: int
    call: int
    tool: str
    provider: str | None
    model: str | None
    doing: str
    """`prepare`, `try`, `wait` or `settle`."""
    reason: str
    """Of a wait."""
    detail: str
    since: str
    elapsed_ms: int
    """Since it arrived, waits included."""
    tries: int


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a waiting call, until `runs answer` decides it."""

    step_id: str
    call: int
    question: str
    options: tuple[str, ...]
    since: str


class StepStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A step at a glance."""

    step_id: str
    title: str
    state: str
    attempts: int
    elapsed_ms: int | None
    """Of its last attempt, up to now while it runs."""
    error: str | None
    cost: CostTotal = NO_COST


class RunStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A run at this moment."""

    run_id: str
    name: str
    """What `runs watch` and the others take: a rehearsal may have the id of a real run."""
    run_dir: str
    state: str
    """As in `runs list`, and while a command works on it: `running`, `waiting`, `paused` or
    `needs_decision`."""
    alive: bool
    """A command works on it now."""
    pid: int | None
    host: str | None
    waiting_for: str | None
    """The run whose end it waits for."""
    paused: bool
    steps: tuple[StepStatus, ...]
    calls: tuple[CallInFlight, ...]
    decisions: tuple[DecisionRequest, ...]
    cost: CostTotal
    console_log: str | None
    """Of a detached command, relative to the project root."""
    foreign: str | None = None
    damage: str | None = None


def run_status(run: RunDir, clock: Clock | None = None) -> RunStatus:
    """Read a run; also a foreign one is shown. Changes nothing."""
    inspected = inspect_run(run)
    listing = listing_of(inspected)
    events = inspected.all_events
    holder = locks.holder_of(run.path) if inspected.foreign is None else None
    now = rfc3339((clock or SystemClock()).now())
    alive = holder is not None
    pid = holder.pid if holder else None
    return RunStatus(
        run_id=run.run_id,
        name=run.name,
        run_dir=run.relative,
        state=listing.status,
        alive=alive,
        pid=pid,
        host=holder.host if holder else None,
        waiting_for=waiting_for_run(events) if alive else None,
        paused=alive and is_paused(events),
        steps=_steps(run, inspected.state, now, alive=alive),
        calls=tuple(_calls(events, inspected.state, now)) if alive else (),
        decisions=decisions(events) if alive else (),
        cost=listing.cost,
        console_log=console_log(run, pid) if pid is not None else None,
        foreign=listing.foreign,
        damage=listing.damage,
    )


def console_log(run: RunDir, pid: int) -> str | None:
    """The console log of a detached command, relative to the project root."""
    name = console_name(pid)
    return f"{run.relative}/{name}" if (run.path / name).is_file() else None


def console_name(pid: int) -> str:
    """Relative to the run directory."""
    return f"logs/console.{pid}.log"


def decisions(events: Iterable[AnyEvent]) -> tuple[DecisionRequest, ...]:
    return tuple(
        DecisionRequest(
            step_id=one.step,
            call=one.call,
            question=one.question,
            options=one.options,
            since=one.at,
        )
        for one in open_decisions(events)
    )


def _calls(events: Sequence[AnyEvent], state: RunState, now: str) -> Iterable[CallInFlight]:
    for timeline in call_timelines(events):
        segment = timeline.current
        if segment is None:
            continue
        intent = next(
            (
                one.intent
                for one in state.step(timeline.step).invocations
                if (one.attempt, one.call) == (timeline.attempt, timeline.call)
            ),
            None,
        )
        yield CallInFlight(
            step_id=timeline.step,
            attempt=timeline.attempt,
            call=timeline.call,
            tool=timeline.tool,
            provider=intent.provider if intent else None,
            model=intent.model if intent else None,
            doing=segment.kind,
            reason=segment.reason,
            detail=segment.detail,
            since=segment.start,
            elapsed_ms=timeline.milliseconds(now),
            tries=_tries(timeline),
        )


def _tries(timeline: CallTimeline) -> int:
    return max((one.number for one in timeline.segments if one.kind is SegmentKind.TRY), default=0)


def _steps(run: RunDir, state: RunState, now: str, *, alive: bool) -> tuple[StepStatus, ...]:
    created = state.created
    pack = pack_of(run.root, created.pack_path, created.pack_hash) if created else None
    titles = {str(step.id): short_title(step) for step in pack.steps} if pack else {}
    return tuple(
        _step(state, step_id, titles.get(step_id, ""), now, alive=alive)
        for step_id in state.step_ids
    )


def _step(state: RunState, step_id: str, title: str, now: str, *, alive: bool) -> StepStatus:
    step = state.step(step_id)
    elapsed = step.duration_ms
    if alive and step.status is Status.RUNNING and step.started_at:
        elapsed = milliseconds_between(step.started_at, now)
    return StepStatus(
        step_id=step_id,
        title=title,
        state=step_word(state, step_id, held=alive),
        attempts=step.attempts,
        elapsed_ms=elapsed,
        error=f"{step.error.code}: {step.error.message}" if step.error else None,
        cost=total_cost(step.invocations),
    )
