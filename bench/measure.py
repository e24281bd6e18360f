"""Times command lines side by side: interleaved rounds, medians, a clean home, warm bytecode."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Contender:
    """A command line that takes part in a comparison."""

    name: str
    argv: Sequence[str]
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    code: int | None = 0
    """The exit code it must end with; None if any will do."""


@dataclass(frozen=True)
class Row:
    """One line of the table: a contender, its time and how it compares."""

    name: str
    seconds: float
    ratio: float
    goal: float | None = None

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return f"<= {self.goal:g} {'ok' if self.ratio <= self.goal else 'MISSED'}"


@contextmanager
def clean_home() -> Iterator[dict[str, str]]:
    """An environment with an empty home, none of our variables, and bytecode that stays warm."""
    with tempfile.TemporaryDirectory() as home:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ORACLEPACK_", "XDG_", "PYTHON"))
        }
        yield kept | {"HOME": home, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def medians(
    contenders: Sequence[Contender],
    rounds: int,
    env: Mapping[str, str],
    cwd: Path | None = None,
    before: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """The median seconds of each. They take turns, so that a busy moment hits all of them.

    `before` is called before each of them, to bring the disk back to where it was.
    Each round begins with another one: whoever always follows the heaviest would look slow, and
    as the baseline it would flatter everybody else.
    """
    times: dict[str, list[float]] = {one.name: [] for one in contenders}
    for number in range(rounds + 1):
        first = number % len(contenders)
        for one in (*contenders[first:], *contenders[:first]):
            before()
            seconds = _seconds(one, env, cwd)
            if number:  # the first round only warms up
                times[one.name].append(seconds)
    return {name: statistics.median(taken) for name, taken in times.items()}


def _seconds(one: Contender, env: Mapping[str, str], cwd: Path | None) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        one.argv,
        input=one.stdin.encode(),
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**env, **one.env},
    )
    taken = time.perf_counter() - started
    if one.code is not None and done.returncode != one.code:
        told = done.stderr.decode(errors="replace")[-400:]
        message = f"{one.name} ended with {done.returncode}: {told}"
        raise RuntimeError(message)
    return taken


def compared(
    times: Mapping[str, float], against: str, goals: Mapping[str, float] | None = None
) -> list[Row]:
    """Each contender as a multiple of one of them."""
    goal = (goals or {}).get
    return [Row(name, taken, taken / times[against], goal(name)) for name, taken in times.items()]


def control(baseline: Contender) -> Contender:
    """The baseline once more: how far its ratio is from 1 is how much the others mean."""
    return replace(baseline, name=f"{baseline.name} (control)")


def installed(rivals: Mapping[str, Sequence[str]]) -> tuple[list[Contender], list[str]]:
    """The rivals that are on this machine, and the names of the others."""
    found = [Contender(name, argv) for name, argv in rivals.items() if shutil.which(argv[0])]
    missing = [name for name, argv in rivals.items() if not shutil.which(argv[0])]
    return found, missing


def table(title: str, against: str, rows: Sequence[Row], missing: Sequence[str] = ()) -> str:
    """The comparison as text, with the goals where there are any."""
    width = max(len(row.name) for row in rows)
    lines = [f"{title} (ratio to {against})"]
    for row in rows:
        figures = f"{row.seconds * 1000:8.1f} ms  {row.ratio:7.2f}  {row.verdict}"
        lines.append(f"  {row.name:<{width}}  {figures}".rstrip())
    if missing:
        lines.append(f"  not installed here: {', '.join(missing)}")
    return "\n".join(lines) + "\n"


def rounds_asked(default: int) -> int:
    """The number on the command line, if there is one."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default
