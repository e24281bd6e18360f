"""Attacks the promise, and tells with figures whether it held.

    python -m tests.torture [--seed 1] [--only NAME …] [--share 0.8] [--write RELIABILITY.md]
    python -m tests.torture --store postgresql [--share 0.1]

Ends with 1 if any promise was broken. The attacks stand in `attacks.py`.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from tests.torture.attacks import ATTACKS
from tests.torture.playing import play_all, to_stderr
from tests.torture.reliability import page
from tests.torture.store_grounds import goes_through_the_store, serving_torture
from tests.torture.tally import Promise, Tally

_SHOWN = 20
USUAL = 0.8
"""The share of all trials that takes two processors a quarter of an hour; all of them take a little
more than twenty minutes."""
FEWEST = 1500
"""That many kills are what the usual share promises."""


def main() -> int:
    given = _arguments()
    on_files = given.store == "files"
    names = given.only or [one for one in ATTACKS if on_files or goes_through_the_store(one)]
    server = nullcontext() if on_files else serving_torture(_memory())
    with server, tempfile.TemporaryDirectory(prefix="tt-", dir=_memory()) as folder:
        played = play_all(names, Path(folder).resolve(), given.seed, given.share, to_stderr)
    broken = Counter(one.promise for tally, _ in played.values() for one in tally.broken)
    print(table({name: tally for name, (tally, _) in played.items()}))
    for name, (tally, _) in played.items():
        for one in tally.broken[:_SHOWN]:
            to_stderr(f"BROKEN {name}: {one.promise}: {one.what}")
    if given.write is not None:
        given.write.write_text(page(played, given.seed, _command(given)))
    is_whole = given.only is None and on_files and given.share >= USUAL
    too_few = is_whole and _kills(played) < FEWEST
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
    parser.add_argument("--store", choices=("files", "postgresql"), default="files")
    parser.add_argument("--write", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
