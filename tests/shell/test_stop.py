"""The switch wakes waiting threads, and stays on."""

import select

import pytest

from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop


@pytest.mark.parametrize(
    ("asked", "level", "polite", "urgent"),
    [
        pytest.param([], StopLevel.NONE, False, False, id="not asked"),
        pytest.param([StopLevel.POLITE], StopLevel.POLITE, True, False, id="politely"),
        pytest.param([StopLevel.AT_ONCE], StopLevel.AT_ONCE, True, True, id="at once"),
        pytest.param(
            [StopLevel.POLITE, StopLevel.AT_ONCE], StopLevel.AT_ONCE, True, True, id="more urgent"
        ),
        pytest.param(
            [StopLevel.AT_ONCE, StopLevel.POLITE], StopLevel.AT_ONCE, True, True, id="never less"
        ),
        pytest.param([StopLevel.POLITE] * 3, StopLevel.POLITE, True, False, id="again and again"),
    ],
)
def test_a_request_is_seen_by_all_who_wait(
    asked: list[StopLevel], level: StopLevel, polite: bool, urgent: bool
) -> None:
    with Stop() as stop:
        for one in asked:
            stop.ask(one)

        for _ in range(2):
            fds = stop.lasting_fds
            ready, _, _ = select.select(fds, [], [], 0)
            assert tuple(fd in ready for fd in fds) == (polite, urgent)
        assert stop.level is level
