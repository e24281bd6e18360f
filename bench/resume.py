"""A run that has nothing left to do, against the shortest thing that the program can do."""

from collections.abc import Sequence

from bench import rivals
from bench.process import spent
from bench.run import project
from bench.scene import Contender, Place, Times, control, controlled, ours
from bench.table import Row, memories, present, ratio, ratios

STEPS = 20
VERSION, OURS = "oraclepack --version", "oraclepack, all done"
OTHERS = (rivals.MAKE, rivals.PARALLEL, rivals.DOIT, rivals.SNAKEMAKE)
"""Those who know what is done already."""


def scene(place: Place) -> Sequence[Contender]:
    project(place, *["true"] * STEPS)
    version = ours(VERSION, "--version")
    finished = [
        ours(OURS, "run", "--quiet", "pack.md"),
        *rivals.finished(place, STEPS, OTHERS),
    ]
    for one in finished:
        spent(one.argv, place.env)
    return [version, control(version), *finished]


def rows(times: Times) -> list[Row]:
    names = present(times, {name: rivals.done(name) for name in OTHERS})
    return [
        Row(
            f"resume of a finished run of {STEPS} steps",
            "`--version`",
            ratio(times, OURS, VERSION),
            goal=6.0,
            rivals=ratios(times, names, VERSION),
            control=ratio(times, controlled(VERSION), VERSION),
            memory=memories(times, OURS, names),
        )
    ]
