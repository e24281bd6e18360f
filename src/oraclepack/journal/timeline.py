"""What every call of a run spent its time on, rebuilt from the events.

The segments of a call follow each other without a hole, from its arrival to its end. Time that no
event explains is a segment of its own, `gap`, so that a test can demand that there is none.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from oraclepack.journal import events as j
from oraclepack.journal.line_format import AnyEvent

CallPlace = tuple[str, int, int]
"""A call: its step, its attempt, its number."""


class SegmentKind(StrEnum):
    """What a call was doing."""

    PREPARE = "prepare"
    """Its question was read and looked up; nothing was asked."""
    TRY = "try"
    """Its tool ran, and the answer was judged."""
    WAIT = "wait"
    SETTLE = "settle"
    """Its answer was stored, or its failure recorded."""
    GAP = "gap"
    """Nothing says what."""


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time in which a call did one thing."""

    kind: SegmentKind
    start: str
    """UTC, RFC 3339."""
    end: str | None = None
    """None while it lasts."""
    reason: str = ""
    """Of a wait: one of `statuses.Wait`."""
    detail: str = ""
    number: int = 0
    """Of the try or the wait."""
    seconds: float | None = None
    """How long a wait takes, where that was known when it began."""
    error: str = ""
    """The code of a try that failed."""

    def milliseconds(self, now: str | None = None) -> int:
        """How long it lasted; `now` ends one that still lasts."""
        return milliseconds_between(self.start, self.end or now or self.start)


class CallTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """One call from its arrival to its end."""

    step: str
    attempt: int
    call: int
    tool: str = ""
    start: str
    end: str | None = None
    """None while it is under way."""
    cut_off: bool = False
    """Its command was killed; `end` is the last event of that command."""
    ok: bool | None = None
    cache_hit: bool = False
    segments: tuple[Segment, ...] = ()

    @property
    def place(self) -> CallPlace:
        return self.step, self.attempt, self.call

    @property
    def current(self) -> Segment | None:
        """What it is doing now; None once it has ended."""
        return self.segments[-1] if self.segments and self.end is None else None

    def milliseconds(self, now: str | None = None) -> int:
        return milliseconds_between(self.start, self.end or now or self.start)


_Step = (
    j.InvocationIntent
    | j.InvocationOutcome
    | j.TryStarted
    | j.TryFinished
    | j.WaitStarted
    | j.WaitFinished
)
"""What ends one stretch of a call and begins the next."""


class _Call:
    """A call that is being rebuilt."""

    def __init__(self, first: _Step) -> None:
        self.place: CallPlace = (first.step, first.attempt, first.call)
        self._tool = ""
        self._start = _arrival(first) or first.at
        self._done: list[Segment] = []
        self._now = Segment(kind=SegmentKind.PREPARE, start=self._start)
        self._is_intended = False
        self._trying: int | None = None

    def add(self, event: _Step) -> None:
        began = _arrival(event)
        if began is not None and began < self._start:
            # Its first event was a wait: its intent says when it arrived.
            head = Segment(kind=SegmentKind.PREPARE, start=began, end=self._start)
            self._start = began
            self._done.insert(0, head)
        match event:
            case j.InvocationIntent(tool=tool) | j.InvocationOutcome(tool=tool):
                self._tool = self._tool or tool
                if self._is_intended or isinstance(event, j.InvocationOutcome):
                    return
                self._is_intended = True
            case j.TryStarted():
                self._trying = event.number
            case j.TryFinished():
                error = event.error.code if event.error else ""
                if self._now.kind is SegmentKind.TRY:
                    self._now = replace(self._now, error=error)
                self._trying, self._is_intended = None, True
            case j.WaitStarted():
                wait = Segment(
                    kind=SegmentKind.WAIT,
                    start=event.at,
                    reason=event.reason,
                    detail=event.detail,
                    number=event.wait,
                    seconds=event.seconds,
                )
                self._turn(wait)
                return
            case _:
                pass
        self._turn(self._idle(event.at))

    def _turn(self, segment: Segment) -> None:
        """End what it was doing, and begin something else at the start of `segment`."""
        # Clocks of a machine may be set back; a segment never ends before it starts.
        at = max(segment.start, self._now.start)
        if at > self._now.start:
            self._done.append(replace(self._now, end=at))
        self._now = replace(segment, start=at)

    def _idle(self, at: str) -> Segment:
        """What it does between its tries and waits, until an event says more."""
        if self._trying is not None:
            return Segment(kind=SegmentKind.TRY, start=at, number=self._trying)
        kind = SegmentKind.GAP if self._is_intended else SegmentKind.PREPARE
        return Segment(kind=kind, start=at)

    def timeline(self) -> CallTimeline:
        """The call while it is under way."""
        step, attempt, call = self.place
        return CallTimeline(
            step=step,
            attempt=attempt,
            call=call,
            tool=self._tool,
            start=self._start,
            segments=(*self._done, self._now),
        )

    def ended(self, at: str, outcome: j.InvocationOutcome | None = None) -> CallTimeline:
        """The whole call; without an outcome its command was killed."""
        last = self._now
        if outcome is not None and last.kind is SegmentKind.GAP:
            last = replace(last, kind=SegmentKind.SETTLE)
        at = max(at, last.start)
        segments = [*self._done, *([replace(last, end=at)] if at > last.start else [])]
        return replace(
            self.timeline(),
            end=at,
            cut_off=outcome is None,
            ok=outcome.ok if outcome is not None else None,
            cache_hit=outcome is not None and outcome.cache == "hit",
            segments=tuple(segments),
        )


def _arrival(event: _Step) -> str | None:
    """When the call of an event arrived, where the event says it."""
    if isinstance(event, j.InvocationIntent | j.InvocationOutcome):
        return event.began_at
    return None


def call_timelines(events: Iterable[AnyEvent]) -> tuple[CallTimeline, ...]:
    """Every call of a run, in the order in which they arrived."""
    under_way: dict[CallPlace, _Call] = {}
    closed: dict[CallPlace, CallTimeline] = {}
    last = ""
    for event in events:
        if isinstance(event, j.SessionStarted):
            # What is still open belongs to a command that was killed.
            closed |= {place: call.ended(last) for place, call in under_way.items()}
            under_way.clear()
        elif isinstance(event, _Step) and event.step:
            place = (event.step, event.attempt, event.call)
            if place not in closed:
                call = under_way.setdefault(place, _Call(event))
                call.add(event)
                if isinstance(event, j.InvocationOutcome):
                    closed[place] = under_way.pop(place).ended(event.at, event)
        if not isinstance(event, j.RunTrusted):
            last = event.at or last
    found = [*closed.values(), *(call.timeline() for call in under_way.values())]
    return tuple(sorted(found, key=lambda one: (one.start, one.place)))


def milliseconds_between(start: str, end: str) -> int:
    """From one time of the journal to another; 0 where the clock was set back."""
    try:
        span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except ValueError:
        return 0
    return max(0, round(span.total_seconds() * 1000))
