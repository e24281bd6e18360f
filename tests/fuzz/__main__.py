"""The long form: `python -m tests.fuzz [--count N] [--seed S] [--only NAME]`."""

import argparse
import os
import sys
import tempfile

from tests.fuzz.packs import judge, without_shellcheck
from tests.fuzz.sizes import judge_sizes
from tests.fuzz.target import Hunted, Target, hunt
from tests.fuzz.targets import TARGETS

PACKS = "damaged packs"
SIZES = "hostile sizes"
LARGE = 50_000
"""Characters of a hostile text; four times as many are read too."""
TOO_SLOW = 1.0
"""CPU seconds for one case."""


def main() -> int:
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Look for trouble.")
    parser.add_argument("--count", type=int, default=2000, help="cases of each kind, by its share")
    parser.add_argument("--seed", type=int, default=1)
    every = [*names, PACKS, SIZES]
    parser.add_argument("--only", action="append", choices=every, help="may be repeated")
    asked = parser.parse_args()
    wanted = asked.only or every
    with tempfile.TemporaryDirectory() as home:
        _live_in(home)
        failed = [
            _report(target, hunt(target, max(1, round(asked.count * target.share)), asked.seed))
            for target in TARGETS
            if target.name in wanted
        ]
    if PACKS in wanted:
        without_shellcheck()
        failed.append(judge(5 * asked.count, asked.seed))
    if SIZES in wanted:
        failed.append(judge_sizes(LARGE))
    sys.stdout.write(f"seed {asked.seed}: {sum(failed)} of {len(failed)} promises broken\n")
    return int(any(failed))


def _live_in(home: str) -> None:
    """An empty home: the real one is neither read nor written."""
    os.environ["HOME"] = home
    for name in [name for name in os.environ if name.startswith(("XDG_", "ORACLEPACK_"))]:
        del os.environ[name]


def _report(target: Target, hunted: Hunted) -> bool:
    slow = hunted.slowest > TOO_SLOW
    verdict = "BROKEN" if hunted.crash else "SLOW" if slow else "ok"
    sys.stdout.write(
        f"{verdict:6} {target.name:18} {hunted.cases:6} cases, {hunted.cpu:7.1f} s of work, "
        f"slowest {hunted.slowest:.3f} s: {target.promise}\n"
    )
    if slow:
        sys.stdout.write(f"{hunted.slowest_case!r:.2000}\n")
    if hunted.crash:
        sys.stdout.write(f"{hunted.crash}\n")
    sys.stdout.flush()
    return bool(hunted.crash) or slow


if __name__ == "__main__":
    sys.exit(main())
