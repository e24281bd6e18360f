"""A run that has nothing left to do: a command that runs nothing, beside the bare interpreter."""

from collections.abc import Sequence
from dataclasses import replace

from bench import rivals
from bench.process import spent
from bench.run import project
from bench.scene import Contender, Place, Times, control, controlled, ours, python
from bench.startup import BARE
from bench.table import Row, memories, present, ratio, ratios

STEPS = 20
OURS = "oraclepack, all done"
OTHERS = (rivals.MAKE, rivals.PARALLEL, rivals.DOIT, rivals.SNAKEMAKE, rivals.GO)
"""Those who know what is done already."""


def scene(place: Place) -> Sequence[Contender]:
    project(place, *["true"] * STEPS)
    bare = replace(python(BARE, "pass"), runs=2)
    finished = [
        ours(OURS, "run", "--quiet", "pack.md"),
        *rivals.finished(place, STEPS, OTHERS),
    ]
    for one in finished:
        spent(one.argv, place.env)
    return [bare, control(bare), *finished]


def rows(times: Times) -> list[Row]:
    names = present(times, {name: rivals.done(name) for name in OTHERS})
    return [
        Row(
            f"resume of a finished run of {STEPS} steps",
            f"`{BARE}`",
            ratio(times, OURS, BARE),
            goal=10.0,
            rivals=ratios(times, names, BARE),
            control=ratio(times, controlled(BARE), BARE),
            memory=memories(times, OURS, names),
        )
    ]
