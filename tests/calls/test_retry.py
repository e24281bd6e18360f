"""When a failed call is made again."""

import pytest

from oraclepack.calls.retry import RetryPolicy, next_try, waiting_note
from oraclepack.tools.oracle_failures import Failure, FailureClass

POLICY = RetryPolicy()
UNUSED = (0, 0.0)


def failure(kind: FailureClass = FailureClass.TRANSIENT, wait: float | None = None) -> Failure:
    return Failure("RATE_LIMITED", kind, "slow down", wait)


@pytest.mark.parametrize(
    ("tries", "chance", "wait", "expected"),
    [
        pytest.param(1, 0.5, None, 1.0, id="half of the first window"),
        pytest.param(2, 0.5, None, 2.0, id="the window doubles"),
        pytest.param(4, 0.25, None, 4.0, id="and again"),
        pytest.param(1, 0.0, None, 0.0, id="full jitter reaches down to nothing"),
        pytest.param(1, 0.0, 20.0, 20.0, id="a hint is the floor"),
        pytest.param(4, 0.99, 1.0, 15.84, id="a longer wait than the hint stays"),
    ],
)
def test_the_wait(tries: int, chance: float, wait: float | None, expected: float) -> None:
    decided = next_try(failure(wait=wait), tries, UNUSED, POLICY, chance)

    assert decided == pytest.approx(expected)


def test_the_window_has_a_cap() -> None:
    patient = RetryPolicy(tries=99)

    assert next_try(failure(), 50, UNUSED, patient, 0.5) == 60.0


@pytest.mark.parametrize(
    ("given", "tries", "spent", "reason"),
    [
        pytest.param(failure(FailureClass.FINAL), 1, UNUSED, "not help", id="a final failure"),
        pytest.param(failure(FailureClass.UNKNOWN), 1, UNUSED, "not help", id="an unknown one"),
        pytest.param(failure(), 5, UNUSED, "5 tries", id="five tries were made"),
        pytest.param(failure(), 1, (40, 0.0), "40 tries", id="the run's tries are used up"),
        pytest.param(failure(), 1, (0, 1800.0), "1800 s", id="the run's patience is used up"),
        pytest.param(
            failure(wait=1801),
            1,
            UNUSED,
            "1800 s",
            id="a hint longer than the run's patience",
        ),
    ],
)
def test_giving_up(given: Failure, tries: int, spent: tuple[int, float], reason: str) -> None:
    decided = next_try(given, tries, spent, POLICY, 0.5)

    assert isinstance(decided, str)
    assert reason in decided


@pytest.mark.parametrize(
    ("seconds", "note"),
    [
        pytest.param(41.2, "rate limited, next try in 41 s (2 of 5)", id="seconds"),
        pytest.param(0.35, "rate limited, next try in 350 ms (2 of 5)", id="less than one"),
    ],
)
def test_waiting_is_reported(seconds: float, note: str) -> None:
    assert waiting_note(failure(), seconds, 1, POLICY) == note
