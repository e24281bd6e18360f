"""Who meets where: command lines, a clean place for them, rounds in which they take turns."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.process import Usage, mean, spent

BIN = Path(sys.executable).parent
MORE_RIVALS = "ORACLEPACK_BENCH_PATH"
"""Directories with rivals that are not on PATH; what they hold is found after all else."""


def nothing() -> None:
    """What most contenders need before they start."""


@dataclass(frozen=True)
class Contender:
    """A command line that takes part in a comparison."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    code: int | None = 0
    """The exit code it must end with; None if any will do."""
    before: Callable[[], None] = nothing
    """Brings the disk back to where it was."""
    runs: int = 1
    """How often it runs in its turn. The mean counts: short ones are measured better by several."""
    every: int = 1
    """It takes part in every so many rounds: the slow ones need not be asked as often."""


@dataclass(frozen=True)
class Place:
    """A directory of its own and the environment of all that runs there."""

    path: Path
    env: Mapping[str, str]
    quick: bool = False
    """Whether this is only to see that all of it works: small sizes will do."""

    def found(self, program: str) -> bool:
        return shutil.which(program, path=self.env["PATH"]) is not None


Scene = Callable[[Place], Sequence[Contender]]
"""Lays out the files in a place and says who meets there."""

Times = Mapping[str, Mapping[int, Usage]]
"""What each contender used, by round."""


@contextmanager
def clean_place(*, quick: bool = False) -> Iterator[Place]:
    """An empty home, an empty directory, none of our variables, and bytecode that stays warm."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as name:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ORACLEPACK_", "XDG_", "PYTHON", "GIT_"))
        }
        more = os.environ.get(MORE_RIVALS)
        path = os.pathsep.join([str(BIN), os.environ["PATH"], *([more] if more else [])])
        with chdir(name):
            yield Place(Path(name), kept | {"HOME": home, "PATH": path}, quick)


def measured(
    contenders: Sequence[Contender], rounds: int, place: Place, *, warm_up: bool = True
) -> Times:
    """Let them take turns, so that a busy moment hits all of them.

    Each round begins with another one: what always follows the heaviest would look slow, and a
    slow baseline would favour all others. Round 0 is a warm-up and is not recorded; a mere test
    of the bench leaves it out, and so do calls so long that it would make no difference.
    """
    times: dict[str, dict[int, Usage]] = {one.name: {} for one in contenders}
    for number in range(0 if warm_up and not place.quick else 1, rounds + 1):
        first = number % len(contenders)
        for one in (*contenders[first:], *contenders[:first]):
            if number and (number - 1) % one.every:
                continue
            used = _turn(one, place)
            if number:
                times[one.name][number] = used
    return times


def _turn(one: Contender, place: Place) -> Usage:
    env = {**place.env, **one.env}
    taken: list[Usage] = []
    for _ in range(one.runs):
        one.before()
        taken.append(spent(one.argv, env, one.code))
    return mean(taken)


def control(baseline: Contender) -> Contender:
    """The baseline once more: how far its ratio is from 1 is how much the others mean."""
    return replace(baseline, name=controlled(baseline.name))


def controlled(name: str) -> str:
    return f"{name} (control)"


def ours(name: str, *args: str, before: Callable[[], None] = nothing) -> Contender:
    return Contender(name, [str(BIN / "oraclepack"), *args], before=before)


def python(name: str, code: str) -> Contender:
    """The same interpreter with a line of code."""
    return Contender(name, [sys.executable, "-c", code])
