"""The status of a run now: what its calls do, what they wait for, what a person must decide."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from oraclepack.journal.costs import NO_COST, CostTotal
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
from oraclepack.system.clock import Clock, SystemClock, rfc3339
from oraclepack.view.run import RunView, read_view
from oraclepack.view.step import shaped


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
    view = read_view(run, with_pack=True)
    now = rfc3339((clock or SystemClock()).now())
    locked = view.locked_by
    alive = locked is not None
    events = view.events if alive else ()
    return shaped(
        RunStatus,
        view,
        state=view.status,
        alive=alive,
        pid=locked.pid if locked else None,
        host=locked.host if locked else None,
        waiting_for=view.state.waits_for if alive else None,
        paused=alive and view.state.is_paused,
        steps=tuple(_steps(view, now)),
        calls=tuple(_calls(events, view.state, now)),
        decisions=decisions(view.state) if alive else (),
        console_log=console_log(run, locked.pid) if locked and locked.pid is not None else None,
        foreign=view.foreign.reason if view.foreign else None,
    )


def console_log(run: RunDir, pid: int) -> str | None:
    """The console log of a detached command, relative to the project root."""
    name = console_name(pid)
    return f"{run.relative}/{name}" if (run.path / name).is_file() else None


def console_name(pid: int) -> str:
    """Relative to the run directory."""
    return f"logs/console.{pid}.log"


def decisions(state: RunState) -> tuple[DecisionRequest, ...]:
    return tuple(
        shaped(DecisionRequest, one, step_id=one.step, since=one.at) for one in state.decisions
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
        yield shaped(
            CallInFlight,
            timeline,
            segment,
            step_id=timeline.step,
            provider=intent.provider if intent else None,
            model=intent.model if intent else None,
            doing=segment.kind,
            since=segment.start,
            elapsed_ms=timeline.milliseconds(now),
            tries=_tries(timeline),
        )


def _tries(timeline: CallTimeline) -> int:
    return max((one.number for one in timeline.segments if one.kind is SegmentKind.TRY), default=0)


def _steps(view: RunView, now: str) -> Iterator[StepStatus]:
    titles = {str(step.id): short_title(step) for step in view.pack.steps} if view.pack else {}
    for step in view.steps:
        recorded = view.state.step(step.step_id)
        elapsed = step.duration_ms
        if view.locked_by and recorded.status is Status.RUNNING and step.started_at:
            elapsed = milliseconds_between(step.started_at, now)
        error = step.last_error
        yield shaped(
            StepStatus,
            step,
            title=titles.get(step.step_id, ""),
            elapsed_ms=elapsed,
            error=f"{error.code}: {error.message}" if error else None,
        )
