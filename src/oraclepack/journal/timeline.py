"""What every call of a run spent its time on, rebuilt from the events.

The segments of a call follow each other without a hole, from its arrival to its end. Time that no
event explains is a segment of its own, `gap`, so that a test can demand that there is none.
"""

from collections.abc import Iterable, Iterator, Mapping
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

    def spent_ms(self, kind: SegmentKind, reason: str = "") -> int:
        """How long it did one thing, or waited for one reason."""
        chosen = (one for one in self.segments if one.kind is kind)
        return sum(one.milliseconds() for one in chosen if not reason or one.reason == reason)


class _Open(msgspec.Struct):
    """A call that is being rebuilt."""

    timeline: CallTimeline
    done: list[Segment]
    now: Segment
    is_intended: bool = False
    trying: j.TryStarted | None = None

    def turn(self, segment: Segment) -> None:
        """End what it was doing, and begin something else at the start of `segment`."""
        # Clocks of a machine may be set back; a segment never ends before it starts.
        at = max(segment.start, self.now.start)
        if at > self.now.start:
            self.done.append(replace(self.now, end=at))
        self.now = replace(segment, start=at)

    def idle(self, at: str) -> Segment:
        """What it does between its tries and waits, until an event says more."""
        if self.trying is not None:
            return Segment(kind=SegmentKind.TRY, start=at, number=self.trying.number)
        kind = SegmentKind.GAP if self.is_intended else SegmentKind.PREPARE
        return Segment(kind=kind, start=at)

    def ended(self, at: str, *, cut_off: bool = False) -> CallTimeline:
        last = self.now
        if not cut_off and last.kind is SegmentKind.GAP:
            last = replace(last, kind=SegmentKind.SETTLE)
        at = max(at, last.start)
        segments = [*self.done, *([replace(last, end=at)] if at > last.start else [])]
        return replace(self.timeline, end=at, cut_off=cut_off, segments=tuple(segments))


class _Timelines:
    """Gathers timelines from events, one at a time."""

    def __init__(self) -> None:
        self.open: dict[CallPlace, _Open] = {}
        self.closed: list[CallTimeline] = []
        self._ended: set[CallPlace] = set()
        self._last = ""

    def add(self, event: AnyEvent) -> None:
        match event:
            case j.SessionStarted():
                # What is still open belongs to a command that was killed.
                for place in list(self.open):
                    self._close(place, self.open[place].ended(self._last, cut_off=True))
            case j.InvocationIntent():
                self._intended(event)
            case j.InvocationOutcome():
                self._concluded(event)
            case j.TryStarted() | j.TryFinished() | j.WaitStarted() | j.WaitFinished():
                self._moved(event)
            case _:
                pass
        if not isinstance(event, j.RunTrusted):
            self._last = event.at or self._last

    def _call(self, place: CallPlace, tool: str, at: str) -> _Open | None:
        """The call of an event; None where it has already ended."""
        if place in self._ended or not place[0]:
            return None
        if place not in self.open:
            step, attempt, call = place
            timeline = CallTimeline(step=step, attempt=attempt, call=call, tool=tool, start=at)
            self.open[place] = _Open(timeline, [], Segment(kind=SegmentKind.PREPARE, start=at))
        open_call = self.open[place]
        if tool and not open_call.timeline.tool:
            open_call.timeline = replace(open_call.timeline, tool=tool)
        return open_call

    def _intended(self, event: j.InvocationIntent) -> None:
        place = (event.step, event.attempt, event.call)
        open_call = self._call(place, event.tool, event.began_at or event.at)
        if open_call is None:
            return
        self._began(open_call, event.began_at)
        if not open_call.is_intended:
            open_call.is_intended = True
            open_call.turn(open_call.idle(event.at))

    def _concluded(self, event: j.InvocationOutcome) -> None:
        place = (event.step, event.attempt, event.call)
        open_call = self._call(place, event.tool, event.began_at or event.at)
        if open_call is None:
            return
        self._began(open_call, event.began_at)
        ended = open_call.ended(event.at)
        self._close(place, replace(ended, ok=event.ok, cache_hit=event.cache == "hit"))

    def _began(self, open_call: _Open, began: str | None) -> None:
        """A call whose first event was a wait: its intent says when it arrived."""
        if began is None or began >= open_call.timeline.start:
            return
        head = Segment(kind=SegmentKind.PREPARE, start=began, end=open_call.timeline.start)
        open_call.timeline = replace(open_call.timeline, start=began)
        open_call.done.insert(0, head)

    def _moved(self, event: j.TryStarted | j.TryFinished | j.WaitStarted | j.WaitFinished) -> None:
        open_call = self._call((event.step, event.attempt, event.call), "", event.at)
        if open_call is None:
            return
        match event:
            case j.TryStarted():
                open_call.trying = event
                open_call.turn(open_call.idle(event.at))
            case j.TryFinished():
                error = event.error.code if event.error else ""
                if open_call.now.kind is SegmentKind.TRY:
                    open_call.now = replace(open_call.now, error=error)
                open_call.trying = None
                open_call.is_intended = True
                open_call.turn(open_call.idle(event.at))
            case j.WaitStarted():
                open_call.turn(
                    Segment(
                        kind=SegmentKind.WAIT,
                        start=event.at,
                        reason=event.reason,
                        detail=event.detail,
                        number=event.wait,
                        seconds=event.seconds,
                    )
                )
            case _:
                open_call.turn(open_call.idle(event.at))

    def _close(self, place: CallPlace, timeline: CallTimeline) -> None:
        self.open.pop(place, None)
        self._ended.add(place)
        self.closed.append(timeline)

    def all(self) -> Iterator[CallTimeline]:
        yield from self.closed
        for one in self.open.values():
            yield replace(one.timeline, segments=(*one.done, one.now))


def call_timelines(events: Iterable[AnyEvent]) -> tuple[CallTimeline, ...]:
    """Every call of a run, in the order in which they arrived."""
    gathered = _Timelines()
    for event in events:
        gathered.add(event)
    return tuple(sorted(gathered.all(), key=lambda one: (one.start, one.place)))


def totals_by_reason(timelines: Iterable[CallTimeline]) -> Mapping[str, int]:
    """Milliseconds that calls spent: each kind, and each wait by its reason."""
    sums: dict[str, int] = {}
    for timeline in timelines:
        for segment in timeline.segments:
            name = segment.reason or segment.kind.value
            sums[name] = sums.get(name, 0) + segment.milliseconds()
    return dict(sorted(sums.items()))


def milliseconds_between(start: str, end: str) -> int:
    """From one time of the journal to another; 0 where the clock was set back."""
    try:
        span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except ValueError:
        return 0
    return max(0, round(span.total_seconds() * 1000))
