"""Attacks the promise, and tells with figures whether it held.

    python -m tests.torture [--seed 1] [--only NAME …] [--share 0.8] [--write RELIABILITY.md]

Ends with 1 if any promise was broken. The attacks stand in `attacks.py`.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.torture.attacks import ATTACKS
from tests.torture.playing import play_all, to_stderr
from tests.torture.reliability import page
from tests.torture.tally import Promise, Tally

_SHOWN = 20
USUAL = 0.8
"""The share of all trials that takes two processors a quarter of an hour; all of them take a little
more than twenty minutes."""
FEWEST = 1500
"""That many kills are what the usual share promises."""


def main() -> int:
    given = _arguments()
    names = given.only or list(ATTACKS)
    with tempfile.TemporaryDirectory(prefix="tt-", dir=_memory()) as folder:
        played = play_all(names, Path(folder).resolve(), given.seed, given.share, to_stderr)
    broken = Counter(one.promise for tally, _ in played.values() for one in tally.broken)
    print(table({name: tally for name, (tally, _) in played.items()}))
    for name, (tally, _) in played.items():
        for one in tally.broken[:_SHOWN]:
            to_stderr(f"BROKEN {name}: {one.promise}: {one.what}")
    if given.write is not None:
        given.write.write_text(page(played, given.seed, _command(given)))
    too_few = given.only is None and given.share >= USUAL and _kills(played) < FEWEST
    if too_few:
        to_stderr(f"fewer than {FEWEST} kills: the attacks have lost their force")
    return int(bool(broken) or too_few)


def _kills(played: Mapping[str, tuple[Tally, float]]) -> int:
    return sum(tally.kills for tally, _ in played.values())


def _command(given: argparse.Namespace) -> str:
    """What gives the same figures again."""
    if given.only is None and given.share == USUAL:
        return "make torture"
    only = f" --only {' '.join(given.only)}" if given.only else ""
    return f"python -m tests.torture --seed {given.seed}{only} --share {given.share}"


def table(tallies: Mapping[str, Tally]) -> str:
    """One row per attack, and how often each promise was broken in all."""
    width = max(map(len, tallies))
    rows = [f"{'attack':{width}}  trials   kills  broken"]
    for name, tally in tallies.items():
        figures = f"{tally.trials:6}  {tally.kills:6}  {len(tally.broken):6}"
        rows.append(f"{name:{width}}  {'not played' if tally.not_played else figures}")
    broken = Counter(one.promise for tally in tallies.values() for one in tally.broken)
    rows += ["", *(f"{broken[promise]:6}  {promise}" for promise in Promise)]
    trials = sum(tally.trials for tally in tallies.values())
    kills = sum(tally.kills for tally in tallies.values())
    return "\n".join([*rows, "", f"{trials} trials and {kills} kills"])


def _memory() -> str | None:
    """A place in memory, if there is one: death does not care, and disks are slow."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=ATTACKS, metavar="NAME")
    parser.add_argument("--share", type=float, default=USUAL)
    parser.add_argument("--write", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
