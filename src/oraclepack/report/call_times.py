"""The calls and commands of a run on one axis of time, in milliseconds since its first event."""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.costs import cost_of
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Cache
from oraclepack.journal.step_state import Invocation
from oraclepack.report.report_data import (
    CallEnd,
    CallSegment,
    ReportCall,
    ReportSession,
    SegmentKind,
)

Place = tuple[str, int, int]
"""A call: its step, attempt and number."""


class Clockwork(msgspec.Struct, frozen=True):
    """The time of a run: when it began, and how long it is known to have lasted."""

    began: datetime | None = None
    span_ms: int = 0

    @classmethod
    def of(cls, events: Iterable[AnyEvent]) -> "Clockwork":
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


def sessions_of(state: RunState, clock: Clockwork) -> tuple[ReportSession, ...]:
    """The commands that worked on a run."""
    found = []
    for session in state.sessions:
        ended = session.finished
        start = clock.ms(session.started.at)
        found.append(
            ReportSession(
                command=" ".join(session.started.argv) or session.started.command,
                started_at=session.started.at,
                finished_at=ended.at if ended else None,
                exit_code=ended.exit_code if ended else None,
                start_ms=start,
                end_ms=clock.ms(ended.at) if ended else max(start, clock.span_ms),
            )
        )
    return tuple(found)


def calls_of(
    events: Iterable[AnyEvent], state: RunState, clock: Clockwork
) -> Mapping[str, tuple[ReportCall, ...]]:
    """The calls of each step, in the order in which they began."""
    starts: dict[Place, int] = {}
    for event in events:
        if isinstance(event, j.InvocationIntent | j.InvocationOutcome):
            starts.setdefault((event.step, event.attempt, event.call), clock.ms(event.at))
    found: dict[str, list[ReportCall]] = {}
    for step_id, step in state.steps.items():
        for call in step.invocations:
            place = (step_id, call.attempt, call.call)
            made = _call(step_id, call, starts.get(place, 0), clock)
            found.setdefault(step_id, []).append(made)
    return {
        step_id: tuple(sorted(calls, key=lambda one: (one.attempt, one.call)))
        for step_id, calls in found.items()
    }


def _call(step_id: str, call: Invocation, start: int, clock: Clockwork) -> ReportCall:
    said, outcome = call.outcome or call.intent, call.outcome
    end = clock.ms(outcome.at) if outcome else clock.span_ms
    segment = CallSegment(kind=SegmentKind.CALL, start_ms=start, end_ms=max(start, end))
    error = outcome.error if outcome else None
    return ReportCall(
        step_id=step_id,
        attempt=call.attempt,
        call=call.call,
        tool=said.tool if said else "",
        provider=said.provider if said else None,
        model=said.model if said else None,
        end=_end(outcome),
        tries=outcome.attempts if outcome else 0,
        waited_ms=outcome.waited_ms if outcome else 0,
        start_ms=start,
        end_ms=max(start, end),
        segments=(segment,),
        session=outcome.session if outcome else None,
        error=f"{error.code}: {error.message}" if error else "",
        cost=cost_of(call),
    )


def _end(outcome: j.InvocationOutcome | None) -> CallEnd:
    if outcome is None:
        return CallEnd.OPEN
    if not outcome.ok:
        return CallEnd.FAILED
    if outcome.cache is Cache.HIT or outcome.source_run is not None:
        return CallEnd.CACHED
    return CallEnd.ADOPTED if outcome.adopted else CallEnd.ANSWERED
