"""What one paid call costs in the store, operation by operation: SQLite against PostgreSQL.

`python -m bench.store_costs files|DSN FOLDER COUNT NUMBER` makes COUNT calls without a tool, with
20 kB answers, and prints the milliseconds of each operation as JSON. NUMBER tells processes apart.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TypeVar

import psycopg

from oraclepack.calls.cache import CacheEntry
from oraclepack.calls.file_store import user_store
from oraclepack.calls.fleet_store import fleet_store
from oraclepack.calls.store import CallStore
from oraclepack.journal.events import InvocationIntent
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.limits import Limit
from oraclepack.store.runner import command_name
from oraclepack.store.spending import (
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Spending,
    UnknownPricePolicy,
)
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import sha256_bytes

ANSWER = b"An answer cites a line and says what to do about it.\n" * 400
Result = TypeVar("Result")
OPERATIONS = ("look up", "claim", "slot", "reserve", "gate", "put", "settle")
FLOOR = "one commit"
"""The floor of whatever is written: the server, or a file, waits for the disk once."""
LIMIT = Limit(max_concurrent=64)
CEILING = {BudgetScope.MONTH: Ceiling(Decimal(1_000_000))}
WORST = Spending(Decimal(1), 1, 100_000)


def patient(_: float) -> bool:
    time.sleep(0.001)
    return True


@contextmanager
def opened(kind: str, folder: Path, number: int) -> Iterator[CallStore]:
    run_dir = folder / f".oraclepack/runs/r{number}"
    run_dir.mkdir(parents=True, exist_ok=True)
    if kind == "files":
        state = folder / "state"
        with user_store(folder, run_dir, SystemClock(), use_cache=True, folder=state) as store:
            yield store
        return
    with fleet_store(kind, folder, run_dir) as store:
        yield store


def one_call(store: CallStore, key: str, number: str) -> dict[str, float]:
    """The seven things that a paid call asks of a store, in their order; seconds of each."""
    took: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Result]) -> Result:
        began = time.perf_counter()
        result = work()
        took[name] = took.get(name, 0.0) + time.perf_counter() - began
        return result

    timed("look up", lambda: store.cache.get(key))
    claim = timed("claim", lambda: store.claims.acquire(key, patient))
    assert claim is not None
    slot = timed("slot", lambda: store.limits.acquire("openai", LIMIT, patient))
    request = BudgetRequest(
        reservation=number,
        command=command_name(),
        run="bench",
        day="2026-11-16",
        worst=WORST,
    )
    policy = UnknownPricePolicy.REFUSE
    timed("reserve", lambda: store.budget.reserve(request, CEILING, policy))
    intent = InvocationIntent(
        step="01",
        attempt=1,
        call=1,
        tool="oracle",
        key=key,
        provider="openai",
        process=ProcessIdentity(pid=1, start_time="1"),
    )
    timed("gate", partial(claim.note, intent))
    timed("gate", partial(store.budget.open, number))
    entry = CacheEntry(
        key=key,
        parts={},
        sha256=sha256_bytes(ANSWER),
        bytes=len(ANSWER),
        stored_at="2026-11-16T12:00:00.000Z",
    )
    timed("put", lambda: store.cache.put(entry, ANSWER))
    spent = Spending(Decimal("0.1"), 1, 1000)
    timed("settle", partial(store.budget.settle, number, spent))
    timed("settle", claim.settle)
    timed("settle", claim.release)
    assert slot is not None
    timed("slot", slot.release)
    return took


def floor(kind: str, folder: Path, number: int) -> Callable[[], object]:
    """Something that waits for the disk once, and does nothing else."""
    if kind == "files":
        place = (folder / f"floor{number}").open("ab")

        def write() -> None:
            place.write(b"one\n")
            place.flush()
            os.fsync(place.fileno())

        return write
    connection = psycopg.connect(kind, autocommit=True)
    return lambda: connection.execute("select pg_logical_emit_message(true, 'bench', 'one')")


def measure(kind: str, folder: Path, count: int, number: int) -> dict[str, float]:
    """Medians in milliseconds, and under `calls per second` what this process came to."""
    one_commit = floor(kind, folder, number)
    floors = []
    with opened(kind, folder, number) as store:
        began = time.perf_counter()
        taken = [
            one_call(store, sha256_bytes(f"{number} {turn}".encode()), f"{number}-{turn}")
            for turn in range(count)
        ]
        seconds = time.perf_counter() - began
    for _ in range(count):
        began = time.perf_counter()
        one_commit()
        floors.append(time.perf_counter() - began)
    found = {name: statistics.median(one[name] for one in taken) * 1000 for name in OPERATIONS}
    floor_found = statistics.median(floors) * 1000
    return {**found, FLOOR: floor_found, "calls per second": count / seconds}


def several(
    kind: str, folder: Path, count: int, processes: int, env: Mapping[str, str]
) -> dict[str, float]:
    """The same in several processes at once: medians of their medians, and their rates together."""
    words = [sys.executable, "-m", "bench.store_costs", kind, str(folder), str(count)]
    started = [
        subprocess.Popen([*words, str(number)], env=dict(env), stdout=subprocess.PIPE)
        for number in range(processes)
    ]
    found: Sequence[dict[str, float]] = [json.loads(one.communicate()[0]) for one in started]
    names = (*OPERATIONS, FLOOR)
    result = {name: statistics.median(one[name] for one in found) for name in names}
    return {**result, "calls per second": sum(one["calls per second"] for one in found)}


def main() -> None:
    kind, folder, count, number = sys.argv[1:]
    print(json.dumps(measure(kind, Path(folder), int(count), int(number))))


if __name__ == "__main__":
    main()
