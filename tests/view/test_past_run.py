"""How long commands have worked on a run, whatever the clock did meanwhile."""

import pytest
from msgspec.structs import replace

from oraclepack.journal import events as j
from oraclepack.journal.run_state import fold
from oraclepack.view.run import worked_ms
from tests import events as e


def at(minute: int, event: j.KnownEvent, day: int = 1) -> j.KnownEvent:
    return replace(event, at=f"2026-03-{day:02}T10:{minute:02}:00.000Z")


def a_step(begin: int, end: int | None = None) -> list[j.KnownEvent]:
    events = [at(begin, e.started("01"))]
    return events if end is None else [*events, at(end, e.finished("01"))]


END = j.SessionFinished(exit_code=0)
STEADY = j.SessionFinished(exit_code=0, duration_ms=90_000)


@pytest.mark.parametrize(
    ("events", "minutes"),
    [
        pytest.param([at(0, e.session()), at(5, END)], 5, id="from its start to its end"),
        pytest.param([at(0, e.session()), at(5, STEADY)], 1.5, id="by the steady clock"),
        pytest.param([at(9, e.session()), at(5, END)], 0, id="never less than nothing"),
        pytest.param(
            [at(0, e.session()), *a_step(1, 4)], 4, id="a killed one: until last heard of"
        ),
        pytest.param(
            [at(0, e.session()), *a_step(1, 4), at(0, e.session(), day=2), at(3, END, day=2)],
            7,
            id="a killed one does not work on until the next day",
        ),
        pytest.param(
            [at(0, e.session()), at(0, e.session(), day=2), at(3, END, day=2)],
            3,
            id="a killed one that did nothing",
        ),
    ],
)
def test_how_long_commands_have_worked(events: list[j.KnownEvent], minutes: float) -> None:
    state = fold([at(0, e.created("01")), *events])

    assert worked_ms(state) == minutes * 60_000
