"""Slots: never more than allowed, freed by death, in order, and no wait that cannot be ended."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oraclepack.store.limits import Limit, Limits, Slot, limit_for
from oraclepack.store.runner import Runner
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.clock import Clock, SystemClock


class StoppedClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def monotonic_ns(self) -> int:
        return 0


def limits_in(folder: Path, clock: Clock) -> Limits:
    database = SqliteDatabase(folder, clock)
    return Limits(database, Runner(database))


def never(_: float) -> bool:
    return False


def take(limits: Limits, limit: Limit, name: str = "openai") -> Slot | None:
    """A slot, if there is one at once."""
    return limits.acquire(name, limit, never)


def test_no_limit_leaves_no_trace(tmp_path: Path) -> None:
    limits = limits_in(tmp_path / "limits", SystemClock())

    assert take(limits, Limit()) is not None
    assert not (tmp_path / "limits").exists()


def test_a_lower_limit_counts_the_slots_of_a_higher_one(tmp_path: Path) -> None:
    limits = limits_in(tmp_path, SystemClock())
    held = [take(limits, Limit(max_concurrent=3)) for _ in range(3)]
    assert held[0] is not None
    held[0].release()

    assert take(limits, Limit(max_concurrent=2)) is None
    assert take(limits, Limit(max_concurrent=3)) is not None


def test_waiting_calls_are_woken_in_order(tmp_path: Path) -> None:
    limits, one = limits_in(tmp_path, SystemClock()), Limit(max_concurrent=1)
    served: list[int] = []
    waiting = threading.Barrier(2)
    first = take(limits, one)
    assert first is not None

    def serve(number: int) -> None:
        slot = limits.acquire("openai", one, patient(waiting))
        assert slot is not None
        served.append(number)
        slot.release()

    threads = []
    for number in range(3):
        threads.append(threading.Thread(target=serve, args=(number,)))
        threads[-1].start()
        waiting.wait()  # it stands in the queue before the next one comes
        waiting = threading.Barrier(2)
    first.release()
    for thread in threads:
        thread.join()

    assert served == [0, 1, 2]


def patient(barrier: threading.Barrier) -> Callable[[float], bool]:
    first_pause = threading.Event()

    def pause(seconds: float) -> bool:
        if not first_pause.is_set():
            first_pause.set()
            barrier.wait()
        return not threading.Event().wait(seconds / 10)

    return pause


def test_no_minute_sees_more_than_its_share(tmp_path: Path) -> None:
    clock = StoppedClock()
    limits, two = limits_in(tmp_path, clock), Limit(requests_per_minute=2)
    waits: list[float] = []

    def pause(seconds: float) -> bool:
        waits.append(seconds)
        clock.moment += timedelta(seconds=seconds)
        return True

    for _ in range(5):
        slot = limits.acquire("openai", two, pause)
        assert slot is not None
        slot.release()

    assert sum(waits) == pytest.approx(120)
    assert max(waits) <= 1


def test_starts_in_the_future_are_forgotten_when_the_clock_was_set_back(tmp_path: Path) -> None:
    clock, one = StoppedClock(), Limit(requests_per_minute=1)
    limits = limits_in(tmp_path, clock)
    assert take(limits, one) is not None
    clock.moment += timedelta(hours=1)
    assert take(limits, one) is not None
    clock.moment -= timedelta(hours=1)

    assert take(limits, one) is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("openai", Limit(4), id="given"),
        pytest.param("xai", Limit(), id="not given"),
        pytest.param("browser", Limit(1), id="one browser"),
        pytest.param("browser-12ab34cd", Limit(1), id="one browser profile"),
    ],
)
def test_limit_for(name: str, expected: Limit) -> None:
    assert limit_for(name, {"openai": Limit(4)}) == expected
