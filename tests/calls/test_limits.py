"""Slots: never more than allowed, freed by death, in order, and no wait that cannot be ended."""

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oraclepack.calls.file_store import limits_in
from oraclepack.calls.limits import (
    Limit,
    limit_for,
    limits_directory,
    recent,
    until_next,
)
from oraclepack.calls.store import Limits, Slot
from oraclepack.system.clock import SystemClock

ROOT = Path(__file__).parents[2]


class StoppedClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def monotonic_ns(self) -> int:
        return 0


def never(_: float) -> bool:
    return False


def take(limits: Limits, limit: Limit, name: str = "openai") -> Slot | None:
    """A slot, if there is one at once."""
    return limits.acquire(name, limit, never)


def test_no_limit_leaves_no_trace(tmp_path: Path) -> None:
    limits = limits_in(tmp_path / "limits", SystemClock())

    assert take(limits, Limit()) is not None
    assert not (tmp_path / "limits").exists()


def test_no_more_than_allowed_and_given_back(tmp_path: Path) -> None:
    limits, two = limits_in(tmp_path, SystemClock()), Limit(max_concurrent=2)
    first, second = take(limits, two), take(limits, two)
    assert first is not None
    assert second is not None

    assert take(limits, two) is None
    with first:
        pass
    first.release()
    assert take(limits, two) is not None


def test_each_provider_has_slots_of_its_own(tmp_path: Path) -> None:
    limits, one = limits_in(tmp_path, SystemClock()), Limit(max_concurrent=1)

    assert take(limits, one, "openai") is not None
    assert take(limits, one, "xai") is not None


def test_a_lower_limit_counts_the_slots_of_a_higher_one(tmp_path: Path) -> None:
    limits = limits_in(tmp_path, SystemClock())
    held = [take(limits, Limit(max_concurrent=3)) for _ in range(3)]
    assert held[0] is not None
    held[0].release()

    assert take(limits, Limit(max_concurrent=2)) is None
    assert take(limits, Limit(max_concurrent=3)) is not None


HOLDER = """
import sys, time
from pathlib import Path
from oraclepack.system.clock import SystemClock
from oraclepack.calls.file_store import limits_in
from oraclepack.calls.limits import Limit
slot = limits_in(Path(sys.argv[1]), SystemClock()).acquire("openai", Limit(1), lambda _: False)
print(slot is not None, flush=True)
sys.stdin.read()
"""


def test_a_slot_is_shared_among_processes_and_freed_by_death(tmp_path: Path) -> None:
    limits, one = limits_in(tmp_path, SystemClock()), Limit(max_concurrent=1)
    argv = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(
        argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert take(limits, one) is None
        holder.kill()

    assert take(limits, one) is not None


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


def test_a_damaged_note_of_starts_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "openai.starts").write_bytes(b"12345")

    assert take(limits_in(tmp_path, SystemClock()), Limit(requests_per_minute=1)) is not None


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        pytest.param((), 0.0, id="none yet"),
        pytest.param((99.0,), 0.0, id="one of two"),
        pytest.param((80.0, 99.0), 40.0, id="two of two: when the older leaves the minute"),
        pytest.param((10.0, 20.0, 40.0), 0.0, id="older ones are forgotten"),
        pytest.param((500.0, 600.0), 0.0, id="the clock was set back"),
        pytest.param((70.0, 80.0, 99.0), 40.0, id="more than allowed were begun"),
    ],
)
def test_until_next(starts: tuple[float, ...], expected: float) -> None:
    assert until_next(starts, 100.0, 2) == pytest.approx(expected)
    assert all(40 < start <= 100 for start in recent(starts, 100.0))


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


def test_the_slots_are_the_users(home: Path) -> None:
    assert limits_directory().is_relative_to(home)
