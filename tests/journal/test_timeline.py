"""What the events of a call say about its time: segments without a hole."""

from typing import TypedDict

import pytest

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_state import fold
from oraclepack.journal.statuses import Cache, Wait
from oraclepack.journal.timeline import (
    CallTimeline,
    SegmentKind,
    call_timelines,
)
from tests.events import created, session, totals_by_reason


class Place(TypedDict):
    step: str
    attempt: int
    call: int


CALL = Place(step="01", attempt=1, call=1)
BEGAN = "2026-03-01T10:00:00.000Z"
BUSY = StepError(code="RATE_LIMITED", message="busy", transient=True)


def at(seconds: float) -> str:
    return f"2026-03-01T10:00:{seconds:06.3f}Z"


def intent(seconds: float) -> j.InvocationIntent:
    return j.InvocationIntent(**CALL, tool="oracle", at=at(seconds), began_at=BEGAN)


def outcome(seconds: float, *, ok: bool = True) -> j.InvocationOutcome:
    return j.InvocationOutcome(**CALL, tool="oracle", ok=ok, at=at(seconds), began_at=BEGAN)


def trying(seconds: float, number: int = 1) -> j.TryStarted:
    return j.TryStarted(**CALL, number=number, at=at(seconds))


def tried(seconds: float, number: int = 1, error: StepError | None = None) -> j.TryFinished:
    return j.TryFinished(**CALL, number=number, ok=error is None, error=error, at=at(seconds))


def waits(seconds: float, reason: Wait, number: int = 1, detail: str = "") -> j.WaitStarted:
    return j.WaitStarted(**CALL, wait=number, reason=reason, detail=detail, at=at(seconds))


def waited(seconds: float, number: int = 1) -> j.WaitFinished:
    return j.WaitFinished(**CALL, wait=number, at=at(seconds))


def durations(timeline: CallTimeline) -> list[tuple[str, int]]:
    return [(one.reason or one.kind, one.milliseconds(at(59))) for one in timeline.segments]


@pytest.mark.parametrize(
    ("events", "segments"),
    [
        pytest.param(
            [intent(0.1), trying(0.1), tried(3), outcome(3.02)],
            [("prepare", 100), ("try", 2900), ("settle", 20)],
            id="one try",
        ),
        pytest.param([outcome(0.4)], [("prepare", 400)], id="answered from the cache"),
        pytest.param(
            [waits(0.2, Wait.SAME_QUESTION), waited(5), outcome(5.1)],
            [("prepare", 200), ("same_question", 4800), ("prepare", 100)],
            id="the answer of another call",
        ),
        pytest.param(
            [
                intent(0.1),
                waits(0.1, Wait.SLOT),
                waited(1),
                trying(1),
                tried(2, error=BUSY),
                waits(2.01, Wait.RETRY, 2),
                waited(4, 2),
                trying(4, 2),
                tried(6, 2),
                outcome(6.1),
            ],
            [
                ("prepare", 100),
                ("slot", 900),
                ("try", 1000),
                ("gap", 10),
                ("retry", 1990),
                ("try", 2000),
                ("settle", 100),
            ],
            id="a slot, a rate limit, a second try",
        ),
        pytest.param(
            [
                intent(0),
                trying(0),
                waits(1, Wait.EARLIER_CALL),
                waited(4),
                tried(4.5),
                outcome(4.5),
            ],
            [("try", 1000), ("earlier_call", 3000), ("try", 500)],
            id="a wait inside a try: the tool left a worker",
        ),
        pytest.param(
            [intent(0), trying(1), tried(2), outcome(2)],
            [("gap", 1000), ("try", 1000)],
            id="a hole that nothing explains",
        ),
        pytest.param(
            [intent(0), trying(0), tried(3), trying(2, 2), tried(4, 2), outcome(4)],
            [("try", 3000), ("try", 1000)],
            id="a clock that was set back",
        ),
        pytest.param([intent(0), trying(0)], [("try", 59000)], id="still running"),
    ],
)
def test_segments(events: list[j.KnownEvent], segments: list[tuple[str, int]]) -> None:
    (timeline,) = call_timelines([created("01"), session(), *events])

    assert durations(timeline) == segments
    assert sum(spent for _, spent in segments) == timeline.milliseconds(at(59))


def test_what_a_killed_command_left_ends_with_the_last_that_was_heard_of_it() -> None:
    killed: list[j.KnownEvent] = [intent(0), trying(1), waits(3, Wait.EARLIER_CALL)]
    later = j.SessionStarted(pid=2, host="box", at=at(40))

    (timeline,) = call_timelines([created("01"), *killed, later, outcome(50, ok=False)])

    assert (timeline.end, timeline.cut_off, timeline.current) == (at(3), True, None)


def test_the_current_segment_of_a_call_under_way() -> None:
    (timeline,) = call_timelines([intent(0), waits(1, Wait.SLOT, detail="slot of openai")])

    assert timeline.current is not None
    assert (timeline.current.kind, timeline.current.detail) == (SegmentKind.WAIT, "slot of openai")


def test_totals() -> None:
    hit = j.InvocationOutcome(
        step="02", attempt=1, call=1, tool="oracle", ok=True, cache=Cache.HIT, at=at(1)
    )
    found = call_timelines([intent(0.5), trying(0.5), tried(2.5), outcome(3), hit])

    assert totals_by_reason(found) == {"prepare": 500, "settle": 500, "try": 2000}
    assert [one.cache_hit for one in found] == [False, True]


NEEDED = j.DecisionNeeded(step="01", call=1, question="again?", options=("retry", "fail"))
MADE = j.DecisionMade(step="01", call=1, question="again?", answer="retry")


@pytest.mark.parametrize(
    ("events", "count"),
    [
        pytest.param([NEEDED], 1, id="open"),
        pytest.param([NEEDED, MADE], 0, id="answered"),
        pytest.param([NEEDED, outcome(1)], 0, id="the call was given up"),
        pytest.param([NEEDED, session()], 0, id="asked by a command that was killed"),
        pytest.param([NEEDED, MADE, NEEDED], 1, id="asked again"),
    ],
)
def test_open_decisions(events: list[j.KnownEvent], count: int) -> None:
    assert len(fold(events).decisions) == count


def test_a_run_that_waits_for_another_one() -> None:
    begun = j.WaitStarted(step="", attempt=0, call=0, wait=1, reason="other_run", detail="r1")
    ended = j.WaitFinished(step="", attempt=0, call=0, wait=1)

    assert fold([session(), begun]).waits_for == "r1"
    assert fold([session(), begun, ended]).waits_for is None
    assert call_timelines([session(), begun, ended]) == ()
