"""Plays random attacks with random seeds until the time is up.

    python -m tests.torture.soak [--minutes 60] [--seed N]

Each attack gets a seed of its own and a small random share of its trials, so that a long soak
covers what one run of `make torture` does not. Ends with 1 if any promise was broken, and says for
each how to play that attack again.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree

from tests.torture.attacks import ATTACKS
from tests.torture.playing import line, play, result_of, to_stderr
from tests.torture.tally import Tally

LEFT_OUT = frozenset({"deliberate-bugs", "many-packs"})
"""The first tests the attacks, not the program; the second takes minutes in its smallest form."""
LEAST, MOST = 0.002, 0.02
"""The share of an attack's trials in one turn."""
WORKERS = 2


@dataclass(frozen=True)
class Turn:
    """One attack with its chance."""

    name: str
    seed: int
    share: float

    @property
    def command(self) -> str:
        words = f"--only {self.name} --seed {self.seed} --share {self.share}"
        return f"python -m tests.torture {words}"


def turns(seed: int) -> Iterator[Turn]:
    """Attacks without end: all of them in a random order, then again in another one."""
    chance = random.Random(seed)
    names = [name for name in ATTACKS if name not in LEFT_OUT]
    while True:
        for name in chance.sample(names, len(names)):
            share = round(LEAST * (MOST / LEAST) ** chance.random(), 4)
            yield Turn(name, chance.randrange(1, 1_000_000), share)


def soak(folder: Path, seconds: float, seed: int) -> list[tuple[Turn, Tally]]:
    """Play turns for so long; the ones that have begun are played to their end."""
    ends = time.monotonic() + seconds
    coming = enumerate(turns(seed))
    played: list[tuple[Turn, Tally]] = []
    running: dict[Future[tuple[Tally, float]], tuple[Turn, Path]] = {}
    with ProcessPoolExecutor(
        WORKERS, mp_context=get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        while running or time.monotonic() < ends:
            while len(running) < WORKERS and time.monotonic() < ends:
                number, turn = next(coming)
                place = folder / str(number)
                future = pool.submit(play, turn.name, place, turn.seed, turn.share)
                running[future] = turn, place
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                turn, place = running.pop(future)
                tally, took = result_of(future)
                to_stderr(line(turn.name, tally, took))
                for one in tally.broken:
                    to_stderr(f"BROKEN {turn.name}: {one.promise}: {one.what}\n  {turn.command}")
                played.append((turn, tally))
                if not tally.broken:
                    rmtree(place, ignore_errors=True)
    return played


def summary(played: list[tuple[Turn, Tally]]) -> str:
    """Figures of the whole soak, and how to repeat what was broken."""
    trials = sum(tally.trials for _, tally in played)
    kills = sum(tally.kills for _, tally in played)
    skipped = sorted({turn.name for turn, tally in played if tally.not_played})
    broken = Counter(one.promise for _, tally in played for one in tally.broken)
    kinds = len({turn.name for turn, _ in played})
    figures = f"{trials:,} trials, {kills:,} kills, {broken.total()} broken promises"
    lines = [f"{len(played)} attacks of {kinds} kinds, {figures}"]
    lines += [f"not run here: {', '.join(skipped)}"] if skipped else []
    lines += [f"{count:6}  {promise}" for promise, count in sorted(broken.items())]
    lines += [f"again: {turn.command}" for turn, tally in played if tally.broken]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="by default a random one")
    given = parser.parse_args()
    seed = random.randrange(1_000_000) if given.seed is None else given.seed
    to_stderr(f"seed {seed}, {given.minutes:g} minutes")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ts-", dir=memory) as folder:
        played = soak(Path(folder).resolve(), given.minutes * 60, seed)
    print(f"seed {seed}: {summary(played)}")
    return int(any(tally.broken for _, tally in played))


if __name__ == "__main__":
    sys.exit(main())
