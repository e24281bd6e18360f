"""A step that prints a gigabyte, against the same into a file."""

import shutil
from collections.abc import Sequence
from dataclasses import replace

from bench.run import project, runner
from bench.scene import Contender, Place, Times, control, controlled
from bench.table import Row, memories, present, ratio, ratios

PLAIN, OURS, PARALLEL = "plain redirect", "oraclepack, printing", "parallel"
GIGABYTE, LITTLE = 1_000_000_000, 1_000_000


def scene(place: Place) -> Sequence[Contender]:
    body = f"head -c {LITTLE if place.quick else GIGABYTE} /dev/zero"
    where = project(place, body)

    def clean() -> None:
        (where / "plain").unlink(missing_ok=True)
        for kept in (".oraclepack", "results"):
            shutil.rmtree(where / kept, ignore_errors=True)

    plain = Contender(PLAIN, ["bash", "-c", f"{body} >plain"])
    kept = ["parallel", "--will-cite", "--results", "results", "-N0", body, ":::", "1"]
    everybody = [
        plain,
        control(plain),
        runner(OURS, where, "pack.md"),
        *([Contender(PARALLEL, kept)] if place.found(PARALLEL) else []),
    ]
    return [replace(one, before=clean) for one in everybody]


def rows(times: Times) -> list[Row]:
    """Of the rivals only GNU parallel keeps what a step prints in files of its own accord."""
    names = present(times, {PARALLEL: PARALLEL})
    megabytes = memories(times, OURS, names)
    what = "a step printing 1 GB"
    return [
        Row(
            what,
            "plain redirect",
            ratio(times, OURS, PLAIN),
            goal=1.2,
            rivals=ratios(times, names, PLAIN),
            control=ratio(times, controlled(PLAIN), PLAIN),
        ),
        Row(
            f"{what}: memory",
            "nothing",
            megabytes.pop("ours"),
            goal=60.0,
            unit="MB",
            rivals=megabytes,
        ),
    ]
