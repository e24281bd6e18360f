"""The clock jumps: hours, days and years, forward and back, between commands and during them."""

import json
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from oraclepack.store.limits import MINUTE, Limit, Limits
from oraclepack.store.runner import Runner
from oraclepack.store.sqlite import SqliteDatabase
from tests.e2e.program import Ran
from tests.e2e.run.project import asking
from tests.torture.checker import Snapshot, check
from tests.torture.crowds import all_ended
from tests.torture.ground import Ground, a_ground
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

HOUR, DAY, YEAR = 3600.0, 86400.0, 365 * 86400.0
LONGEST = 60_000
"""Milliseconds that no step of ours takes; a clock that jumps must not add to it."""


class Jump(msgspec.Struct, frozen=True):
    """When the first command runs, by how much the clock is off for the next, and where."""

    start: str
    by: float
    zone: str = "UTC"


JUMPS = (
    Jump("2026-03-01T10:00:00+00:00", -HOUR),
    Jump("2026-03-01T10:00:00+00:00", HOUR),
    Jump("2026-03-01T10:00:00+00:00", -DAY),
    Jump("2026-03-01T10:00:00+00:00", DAY),
    Jump("2026-03-01T10:00:00+00:00", -YEAR),
    Jump("2026-03-01T10:00:00+00:00", 30 * YEAR),
    Jump("2026-03-01T10:00:00+00:00", -60 * YEAR),
    Jump("1969-12-31T23:59:59.900+00:00", 57 * YEAR),
    Jump("1969-12-31T23:59:59.900+00:00", 0.0),
    Jump("2026-03-01T23:59:59.900+00:00", 0.0),
    Jump("2026-03-01T22:59:59.900+00:00", 0.2, "Europe/Berlin"),
    Jump("2026-03-29T00:59:59.500+00:00", 1.0, "Europe/Berlin"),
    Jump("2026-10-25T00:59:59.500+00:00", 1.0, "Europe/Berlin"),
    Jump("2026-10-25T01:30:00+00:00", -HOUR, "America/St_Johns"),
    Jump("2028-02-29T23:59:59.900+00:00", 0.2),
    Jump("2028-02-29T12:00:00+00:00", YEAR),
    Jump("2038-01-19T03:14:07.900+00:00", 0.2),
    Jump("2099-12-31T23:59:59.900+00:00", -73 * YEAR),
)
STEPS = (
    "mkdir -p out\n"
    + asking(1)
    + asking(2).replace("Question 2?", "Question 2? [[fault=overloaded first=1]]")
    + "# 03) plain\nprintf 'three\\n' >out/03.txt\n# oraclepack: outputs=out/03.txt\n"
)
WORDS = ("--retry-base-seconds", "0.001")


def between(scene: Scene) -> Tally:
    """A runner is killed, and the next command finds the clock changed by hours, days or years, on
    either side of midnight, of summer time, of a leap day or of 1970. One run stays one run,
    nothing lasts less than no time, and the run that was begun last is the one that goes on.
    """
    chance = Random(scene.seed)
    broken: list[Broken] = []
    jumps = chance.sample(JUMPS, scene.some(len(JUMPS)))
    kills = 0
    for number, jump in enumerate(jumps):
        ground = a_ground(scene.folder / f"b{number}", scene.zygote, STEPS)
        before = Snapshot.of(ground)
        killed = _run(ground, jump, 0, fault=_somewhere(ground, chance))
        kills += killed.code == -signal.SIGKILL
        ran = _run(ground, jump, jump.by)
        found = [*check(ground, before, ran=ran), *_odd_times(ground), *_one_run(ground)]
        found += _order(ground, jump)
        broken += [Broken(one.promise, f"{_named(jump)}: {one.what}") for one in found]
        ground.remove()
    return Tally(len(jumps), kills, tuple(broken))


def during(scene: Scene) -> Tally:
    """The clock jumps while a command runs, at a random look at it, once or there and back: every
    retry and every wait for a slot ends, nothing lasts less than no time, or longer than it took.
    """
    chance = Random(scene.seed)
    broken: list[Broken] = []
    trials = scene.some(36)
    for number in range(trials):
        jump = JUMPS[number % len(JUMPS)]
        by = jump.by or DAY
        first = chance.randrange(1, 30)
        jumps = {
            str(first): by,
            str(first + chance.randrange(1, 6)): -by * chance.choice((1, 0, 2)),
        }
        ground = a_ground(scene.folder / f"d{number}", scene.zygote, STEPS)
        before = Snapshot.of(ground)
        ran = _run(ground, jump, 0, jumps=jumps)
        found = [*check(ground, before, ran=ran), *_odd_times(ground), *_one_run(ground)]
        about = f"{_named(jump)}, looks {', '.join(jumps)}"
        broken += [Broken(one.promise, f"{about}: {one.what}") for one in found]
        ground.remove()
    waits = _waits(scene, chance)
    return Tally(trials + len(waits), broken=(*broken, *(one for one in waits if one)))


def _run(
    ground: Ground,
    jump: Jump,
    later: float,
    *words: str,
    jumps: dict[str, float] | None = None,
    fault: dict[str, object] | None = None,
) -> Ran:
    """One command, with the clock so much later than at the start, for the tool too."""
    start = datetime.fromisoformat(jump.start) + timedelta(seconds=later)
    off = (start - datetime.now(UTC)).total_seconds()
    clock: dict[str, object] = {"start": start.isoformat(), "jumps": jumps or {}}
    program = ground.project.start(
        *("run", "pack.md", "--json", *WORDS, *words),
        inside={"tests.torture.inside:set_clock": clock},
        fault=fault,
        TZ=jump.zone,
        PROVIDER_LATER=str(off),
    )
    (ran,) = all_ended([program])
    return ran


def _somewhere(ground: Ground, chance: Random) -> dict[str, object]:
    notes = str(ground.folder / "notes")
    kill, torn = chance.randrange(2, 28), chance.choice((None, 0, 50))
    fault = {"notes": notes, "only": "write", "path": "journal.jsonl"}
    return fault | {"kill": kill, "torn": torn}


def _named(jump: Jump) -> str:
    return f"from {jump.start} ({jump.zone}) by {jump.by / HOUR:+.0f} hours"


def _one_run(ground: Ground) -> Iterator[Broken]:
    names = [path.name for path in ground.project.run_dirs]
    if len(names) != 1:
        yield Broken(Promise.ENDING, f"one run became {names}")


def _odd_times(ground: Ground) -> Iterator[Broken]:
    """Durations below zero, or longer than anything took."""
    project = ground.project
    listed = project.start("runs", "list", "--json").wait()
    parts = [listed.data] if listed.code == 0 else []
    for run_dir in project.run_dirs:
        parts += [json.loads((run_dir / name).read_bytes()) for name in ("run.json", "steps.json")]
    parts += [json.loads(path.read_bytes()) for path in ground.root.glob("pack.*.json")]
    for name, value in _numbers(parts):
        if name.endswith(("_ms", "seconds")) and not 0 <= value <= LONGEST:
            yield Broken(Promise.CORRUPT, f"{name} is {value}")


def _numbers(part: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _numbers(value, key)
    elif isinstance(part, list):
        for value in part:
            yield from _numbers(value, name)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield name, part


def _order(ground: Ground, jump: Jump) -> Iterator[Broken]:
    """A fresh run on the changed clock is the one that the next command goes on with."""
    old = {path.name for path in ground.project.run_dirs}
    for later in (2 * jump.by, jump.by):
        fresh = _run(ground, jump, later, "--new-run")
        new = {path.name for path in ground.project.run_dirs} - old
        if fresh.code != 0 or len(new) != 1:
            yield Broken(Promise.ENDING, f"--new-run: {fresh.code}, {sorted(new)}: {fresh.out}")
            return
        goes_on = _run(ground, jump, later)
        run_name = Path(goes_on.data["run_dir"]).name
        if {run_name} != new:
            yield Broken(Promise.ENDING, f"{run_name} goes on, but the newest run is {new}")
        old |= new


class _Clock:
    """Stands still but for the waits, and jumps once."""

    def __init__(self, start: float) -> None:
        self.seconds = start

    def now(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic_ns(self) -> int:
        return int(self.seconds * 1e9)


def _waits(scene: Scene, chance: Random) -> list[Broken | None]:
    """Waits for one of two calls a minute, with a jump of the clock in the middle."""
    results: list[Broken | None] = []
    limit = Limit(requests_per_minute=2)
    for number, by in enumerate(sorted({jump.by for jump in JUMPS})):
        clock = _Clock(1_770_000_000.0)
        database = SqliteDatabase(scene.folder / f"state{number}", clock)
        limits = Limits(database, Runner(database))
        waited = 0.0
        at = chance.uniform(0, MINUTE)

        def pause(seconds: float) -> bool:
            nonlocal waited
            jumps = waited < at <= waited + seconds  # noqa: B023 - called before the next turn
            waited += seconds
            clock.seconds += seconds + (by if jumps else 0)  # noqa: B023
            return waited < 3 * MINUTE

        slots = [limits.acquire("openai", limit, pause) for _ in range(3)]
        wrong = None in slots or waited > MINUTE + 1
        what = f"a clock off by {by / HOUR:+.0f} hours: waited {waited:.0f} s for a slot"
        results.append(Broken(Promise.ENDING, what) if wrong else None)
    return results


ATTACKS: dict[str, Attack] = {"clock-between": between, "clock-during": during}
