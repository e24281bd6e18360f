"""Steps that only wait, four at a time: how near the whole comes to what cannot be beaten."""

from collections.abc import Sequence

from bench import rivals
from bench.rivals import titled
from bench.run import SEVERAL, project, runner
from bench.scene import Contender, Place, Times, python
from bench.table import Row, median, memories, present

STEPS, JOBS = 20, 4
WAIT = 0.5
OURS = "oraclepack, waiting"
OTHERS = (rivals.XARGS, *SEVERAL)
FLOORS = {
    "a Python that only starts these shells, four at a time": "",
    "the same, after `import click, msgspec, tree_sitter, tree_sitter_bash`": "import click, "
    "msgspec, tree_sitter, tree_sitter_bash\n",
}
STARTING = f"""\
import subprocess
from concurrent.futures import ThreadPoolExecutor
argv = ["bash", "-lc", "{{}}"]
with ThreadPoolExecutor({JOBS}) as pool:
    list(pool.map(lambda _: subprocess.run(argv, check=True), range({STEPS})))
"""


def scene(place: Place) -> Sequence[Contender]:
    body = f"sleep {0.05 if place.quick else WAIT}"
    where = project(place, *[body] * STEPS)
    return [
        runner(OURS, where, "pack.md", "--max-parallel", str(JOBS)),
        *rivals.running(place, body, STEPS, JOBS, OTHERS),
        *(python(name, loading + STARTING.format(body)) for name, loading in FLOORS.items()),
    ]


def rows(times: Times) -> list[Row]:
    ideal = STEPS / JOBS * WAIT
    names = present(times, {name: titled(name, STEPS) for name in OTHERS})

    def against_ideal(name: str) -> float:
        return median(times, lambda seconds: seconds / ideal, name)

    return [
        Row(
            f"{STEPS} × {WAIT} s, four at a time",
            f"ideal {ideal} s",
            against_ideal(OURS),
            goal=1.12,
            rivals={short: against_ideal(name) for short, name in names.items()},
            memory=memories(times, OURS, names),
        ),
        *(Row(name, f"ideal {ideal} s", against_ideal(name)) for name in FLOORS),
    ]
