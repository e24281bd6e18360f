"""The calls of a run on one axis of time, in milliseconds since its first event."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.costs import NO_COST, CostTotal, cost_of
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Cache, Wait
from oraclepack.journal.step_state import Invocation
from oraclepack.journal.timeline import CallTimeline, Segment, SegmentKind, call_timelines


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


class CallEnd(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    CACHED = "cached"
    ADOPTED = "adopted"
    FAILED = "failed"
    OPEN = "no end recorded"


class CallSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time in which a call did one thing."""

    doing: str
    """`preparing`, `waiting`, `trying`, `backing off`; `call` where the journal does not tell
    trying and waiting apart, as that of earlier versions."""
    start_ms: int
    end_ms: int
    note: str = ""


class RunCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool: how it ended, and what it spent its time on."""

    step_id: str
    attempt: int
    call: int
    tool: str
    provider: str | None
    model: str | None
    end: CallEnd
    tries: int
    start_ms: int
    end_ms: int
    waits: dict[str, int]
    """Milliseconds by reason: `slot`, `rate`, `retry` and so on."""
    session: str | None = None
    error: str = ""
    cost: CostTotal = NO_COST
    segments: tuple[CallSegment, ...] = ()

    @property
    def waited_ms(self) -> int:
        return sum(self.waits.values())


def calls_of(events: Sequence[AnyEvent], state: RunState) -> tuple[RunCall, ...]:
    """All calls in the order in which they arrived."""
    clock = RunTime.of(events)
    known = {
        (step_id, call.attempt, call.call): call
        for step_id, step in state.steps.items()
        for call in step.invocations
    }
    return tuple(_call(one, known.get(one.place), clock) for one in call_timelines(events))


def _call(timeline: CallTimeline, call: Invocation | None, clock: RunTime) -> RunCall:
    outcome = call.outcome if call else None
    record = outcome or (call.intent if call else None)
    start = clock.ms(timeline.start)
    error = outcome.error if outcome else None
    segments = tuple(_segment(one, clock) for one in timeline.segments)
    waits: dict[str, int] = {}
    for one, part in zip(timeline.segments, segments, strict=True):
        if one.kind is SegmentKind.WAIT:
            waits[one.reason] = waits.get(one.reason, 0) + part.end_ms - part.start_ms
    tried = {one.number for one in timeline.segments if one.kind is SegmentKind.TRY}
    return RunCall(
        step_id=timeline.step,
        attempt=timeline.attempt,
        call=timeline.call,
        tool=record.tool if record else timeline.tool,
        provider=record.provider if record else None,
        model=record.model if record else None,
        end=_end(outcome),
        tries=outcome.attempts if outcome else len(tried),
        start_ms=start,
        end_ms=max(start, clock.ms(timeline.end) if timeline.end else clock.span_ms),
        waits=dict(sorted(waits.items())),
        session=outcome.session if outcome else None,
        error=f"{error.code}: {error.message}" if error else "",
        cost=cost_of(call) if call else NO_COST,
        segments=segments,
    )


_DOING = {SegmentKind.TRY: "trying", SegmentKind.WAIT: "waiting", SegmentKind.GAP: "call"}


def _segment(segment: Segment, clock: RunTime) -> CallSegment:
    """What a call did, on the axis of the run."""
    start = clock.ms(segment.start)
    is_backoff = segment.kind is SegmentKind.WAIT and segment.reason == Wait.RETRY
    return CallSegment(
        doing="backing off" if is_backoff else _DOING.get(segment.kind, "preparing"),
        start_ms=start,
        end_ms=max(start, clock.ms(segment.end) if segment.end else clock.span_ms),
        note=segment.error or segment.detail or segment.reason,
    )


def _end(outcome: j.InvocationOutcome | None) -> CallEnd:
    if outcome is None:
        return CallEnd.OPEN
    if not outcome.ok:
        return CallEnd.FAILED
    if outcome.cache is Cache.HIT or outcome.source_run is not None:
        return CallEnd.CACHED
    return CallEnd.ADOPTED if outcome.adopted else CallEnd.ANSWERED
