"""The calls and commands of a run on one axis of time, in milliseconds since its first event."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.costs import cost_of
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Cache, Wait
from oraclepack.journal.step_state import Invocation
from oraclepack.journal.timeline import CallTimeline, Segment, SegmentKind, call_timelines
from oraclepack.view.report.data import (
    CallEnd,
    CallPhase,
    CallSegment,
    ReportCall,
    ReportSession,
)


class RunTime(msgspec.Struct, frozen=True):
    """The time of a run: when it began, and how long it is known to have lasted."""

    began: datetime | None = None
    span_ms: int = 0

    @classmethod
    def of(cls, events: Iterable[AnyEvent]) -> "RunTime":
        times = [time for event in events if (time := _time(event.at)) is not None]
        if not times:
            return cls()
        # The clock of a machine may have been set back in between.
        began, ended = min(times), max(times)
        return cls(began, round((ended - began).total_seconds() * 1000))

    def ms(self, at: str | None) -> int:
        """A time of the run as milliseconds since its beginning; 0 where it cannot be read."""
        time = _time(at)
        if time is None or self.began is None:
            return 0
        return max(0, round((time - self.began).total_seconds() * 1000))


def _time(at: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(at or "")
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def sessions_of(state: RunState, clock: RunTime) -> tuple[ReportSession, ...]:
    """The commands that worked on a run."""
    sessions = []
    for session in state.sessions:
        ended = session.finished
        start = clock.ms(session.started.at)
        sessions.append(
            ReportSession(
                command=" ".join(session.started.argv) or session.started.command,
                started_at=session.started.at,
                finished_at=ended.at if ended else None,
                exit_code=ended.exit_code if ended else None,
                start_ms=start,
                end_ms=clock.ms(ended.at) if ended else max(start, clock.span_ms),
            )
        )
    return tuple(sessions)


def calls_of(
    events: Sequence[AnyEvent], state: RunState, clock: RunTime
) -> Mapping[str, tuple[ReportCall, ...]]:
    """The calls of each step, in the order in which they began."""
    timelines = {one.place: one for one in call_timelines(events)}
    by_step: dict[str, list[ReportCall]] = {}
    for step_id, step in state.steps.items():
        for call in step.invocations:
            timeline = timelines.get((step_id, call.attempt, call.call))
            by_step.setdefault(step_id, []).append(_call(step_id, call, timeline, clock))
    return {
        step_id: tuple(sorted(calls, key=lambda one: (one.attempt, one.call)))
        for step_id, calls in by_step.items()
    }


def _call(
    step_id: str, call: Invocation, timeline: CallTimeline | None, clock: RunTime
) -> ReportCall:
    record, outcome = call.outcome or call.intent, call.outcome
    start = clock.ms(timeline.start if timeline else record.at if record else None)
    end = clock.ms(timeline.end) if timeline and timeline.end else clock.span_ms
    error = outcome.error if outcome else None
    return ReportCall(
        step_id=step_id,
        attempt=call.attempt,
        call=call.call,
        tool=record.tool if record else "",
        provider=record.provider if record else None,
        model=record.model if record else None,
        end=_end(outcome),
        tries=outcome.attempts if outcome else 0,
        waited_ms=outcome.waited_ms if outcome else 0,
        start_ms=start,
        end_ms=max(start, end),
        segments=segments_of(timeline.segments if timeline else (), clock),
        session=outcome.session if outcome else None,
        error=f"{error.code}: {error.message}" if error else "",
        cost=cost_of(call),
    )


def segments_of(segments: Iterable[Segment], clock: RunTime) -> tuple[CallSegment, ...]:
    """What a call did, on the axis of the run."""
    return tuple(
        CallSegment(
            kind=_phase(one),
            start_ms=clock.ms(one.start),
            end_ms=max(clock.ms(one.start), clock.ms(one.end) if one.end else clock.span_ms),
            note=one.error or one.detail or one.reason,
        )
        for one in segments
    )


def _phase(segment: Segment) -> CallPhase:
    match segment.kind:
        case SegmentKind.TRY:
            return CallPhase.TRYING
        case SegmentKind.WAIT:
            return CallPhase.BACKOFF if segment.reason == Wait.RETRY else CallPhase.WAITING
        case SegmentKind.GAP:
            return CallPhase.CALL
        case _:
            return CallPhase.PREPARING


def _end(outcome: j.InvocationOutcome | None) -> CallEnd:
    if outcome is None:
        return CallEnd.OPEN
    if not outcome.ok:
        return CallEnd.FAILED
    if outcome.cache is Cache.HIT or outcome.source_run is not None:
        return CallEnd.CACHED
    return CallEnd.ADOPTED if outcome.adopted else CallEnd.ANSWERED
