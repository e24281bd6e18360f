"""Running steps that do nothing: what is left is the runner, beside the shells themselves."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import rivals
from bench.rivals import titled
from bench.scene import Contender, Place, Times, control, controlled, ours, python
from bench.startup import BARE
from bench.syscalls import SYSCALLS, counted
from bench.table import Row, median, memories, present, ratio, ratios

SHELL = "bash -lc true"
MORE = 20
"""How many steps the long run has beyond the first."""
ONE, MANY = titled("oraclepack", 1), titled("oraclepack", 1 + MORE)
DRY = "oraclepack, dry run"
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


def _spawning(name: str, steps: int) -> Contender:
    return python(name, SPAWN.format(steps=steps))


def _syncing(name: str, steps: int) -> Contender:
    return python(name, SYNC.format(steps=steps))


def _supervising(name: str, steps: int) -> Contender:
    program = Path(__file__).with_name("supervised.py")
    return Contender(name, [sys.executable, "-P", str(program), str(steps)])


FLOORS = {"python": _spawning, "supervised": _supervising, "fsync": _syncing}
"""Programs that do one thing which every step of ours needs, once for each step."""
EXPLAINED = {
    f"`{SHELL}` started by a bare Python, each further one": "python",
    f"`{SHELL}` under our supervision, without a journal, each further one": "supervised",
    "a line appended to a file and synced": "fsync",
}


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
        program(titled(name, steps), steps)
        for name, program in FLOORS.items()
        for steps in (1, 1 + MORE)
    ]
    return [
        *(bare, control(bare), shell, control(shell)),
        runner(ONE, where, "one.md"),
        runner(MANY, where, "many.md"),
        runner(DRY, where, "one.md", "--dry-run"),
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
            goal=14.0,
            rivals=ratios(times, firsts, BARE),
            control=ratio(times, controlled(BARE), BARE),
            memory=memories(times, ONE, firsts),
        ),
        Row(
            "each further no-op step, one at a time",
            f"`{SHELL}`",
            further(times, "oraclepack"),
            goal=1.7,
            rivals={name: further(times, name) for name in firsts},
            control=noise,
            memory=memories(times, MANY),
        ),
        Row("`run --dry-run` of the same step", f"`{BARE}`", ratio(times, DRY, BARE)),
        *(
            Row(what, f"`{SHELL}`", further(times, name), control=noise)
            for what, name in EXPLAINED.items()
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
            goal=5.0,
            rivals=ratios(times, names, against),
            control=ratio(times, controlled(against), against),
            memory=memories(times, FOUR, names),
        )
    ]


def counts(place: Place) -> list[Row]:
    """What a step asks of the kernel, where strace can count it."""
    where = project(place, "true", name="one.md")
    project(place, *["true"] * (1 + MORE), name="many.md")
    one, many = (counted(runner(name, where, name), place) for name in ("one.md", "many.md"))
    if not one or not many:
        return []
    figures = {f"`{name}` of a run of 1 step": float(one[name]) for name in SYSCALLS} | {
        f"`{name}` per further step": (many[name] - one[name]) / MORE for name in SYSCALLS
    }
    return [Row(what, "nothing", count, unit="calls") for what, count in figures.items()]
