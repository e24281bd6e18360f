"""Running steps that do nothing: what is left is the runner, beside the shells themselves."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import rivals
from bench.rivals import titled
from bench.scene import Contender, Place, Times, control, controlled, ours, python
from bench.startup import BARE
from bench.table import Row, median, memories, present, ratio, ratios

SHELL = "bash -lc true"
MORE = 20
"""How many steps the long run has beyond the first."""
ONE, MANY = titled("oraclepack", 1), titled("oraclepack", 1 + MORE)
FOUR = "oraclepack, 4 at a time"
SEVERAL = (rivals.MAKE, rivals.PARALLEL, rivals.DOIT, rivals.SNAKEMAKE)
"""Those who can run so many at a time and no more; xargs is what all are measured against."""

SPAWN = """
import subprocess
for n in range({steps}):
    subprocess.run(["bash", "-lc", "true"], stdin=subprocess.DEVNULL)
"""
SYNC = """
import os
log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for n in range({steps}):
    os.write(log, b"x" * 200 + b"\\n")
    os.fsync(log)
"""
FLOORS = {"python": SPAWN, "fsync": SYNC}
"""Programs that do one thing which every step of ours needs, once for each step."""


def pack(*bodies: str) -> str:
    steps = "".join(f"# {number:02}) step\n{body}\n" for number, body in enumerate(bodies, 1))
    return f"# p\n\n```bash\n{steps}```\n"


def project(place: Place, *bodies: str, name: str = "pack.md") -> Path:
    """A repository with a pack of these steps."""
    (place.path / name).write_text(pack(*bodies), encoding="utf-8")
    if not (place.path / ".git").exists():
        subprocess.run(["git", "init", "-q"], cwd=place.path, check=True)
    return place.path


def runner(name: str, where: Path, *args: str) -> Contender:
    """A first run each time: what is measured must not depend on how often it was."""
    return ours(name, "run", "--quiet", *args, before=forgets(where))


def forgets(where: Path) -> Callable[[], None]:
    return lambda: shutil.rmtree(where / ".oraclepack", ignore_errors=True)


def one_at_a_time(place: Place) -> Sequence[Contender]:
    where = project(place, "true", name="one.md")
    project(place, *["true"] * (1 + MORE), name="many.md")
    bare = replace(python(BARE, "pass"), runs=2)
    shell = Contender(SHELL, ["bash", "-lc", "true"], runs=5)
    floors = [
        python(titled(name, steps), text.format(steps=steps))
        for name, text in FLOORS.items()
        for steps in (1, 1 + MORE)
    ]
    return [
        *(bare, control(bare), shell, control(shell)),
        runner(ONE, where, "one.md"),
        runner(MANY, where, "many.md"),
        *rivals.running(place, "true", 1),
        *rivals.running(place, "true", 1 + MORE),
        *floors,
    ]


def fixed_and_further(times: Times) -> list[Row]:
    firsts = present(times, {name: titled(name, 1) for name in rivals.ALL})
    noise = ratio(times, controlled(SHELL), SHELL)
    return [
        Row(
            "fixed cost of `run` (1 no-op step)",
            f"`{BARE}`",
            ratio(times, ONE, BARE),
            goal=9.0,
            rivals=ratios(times, firsts, BARE),
            control=ratio(times, controlled(BARE), BARE),
            memory=memories(times, ONE, firsts),
        ),
        Row(
            "each further no-op step, one at a time",
            f"`{SHELL}`",
            further(times, "oraclepack"),
            goal=1.2,
            rivals={name: further(times, name) for name in firsts},
            control=noise,
            memory=memories(times, MANY),
        ),
        Row(
            f"`{SHELL}` started by a bare Python, each further one",
            f"`{SHELL}`",
            further(times, "python"),
            control=noise,
        ),
        Row(
            "a line appended to a file and synced",
            f"`{SHELL}`",
            further(times, "fsync"),
            control=noise,
        ),
    ]


def further(times: Times, name: str) -> float:
    """A step beyond the first, against a shell of the same round."""
    names = (titled(name, 1 + MORE), titled(name, 1), SHELL)
    return median(times, lambda many, one, shell: (many - one) / MORE / shell, *names)


def four_at_a_time(place: Place) -> Sequence[Contender]:
    where = project(place, *["true"] * MORE)
    others = list(rivals.running(place, "true", MORE, 4, (rivals.XARGS, *SEVERAL)))
    baseline = others[0]
    return [
        *others,
        control(baseline),
        runner(FOUR, where, "pack.md", "--max-parallel", "4"),
    ]


def parallel(times: Times) -> list[Row]:
    against = titled(rivals.XARGS, MORE)
    names = present(times, {name: titled(name, MORE) for name in SEVERAL})
    return [
        Row(
            f"{MORE} no-op steps, four at a time",
            "`xargs -P4`",
            ratio(times, FOUR, against),
            goal=4.5,
            rivals=ratios(times, names, against),
            control=ratio(times, controlled(against), against),
            memory=memories(times, FOUR, names),
        )
    ]
