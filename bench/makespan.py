"""Calls of very different length, four at a time, against the ideal schedule."""

import heapq
import random
from collections.abc import Sequence
from dataclasses import replace

from bench import rivals
from bench.rivals import titled
from bench.run import forgets, project
from bench.scene import Contender, Place, Times, ours
from bench.table import Row, median, memories, present

CALLS, CAP = 80, 4
MEDIAN, SPREAD = 0.35, 0.9
"""Seconds of the call in the middle, and the deviation of the logarithm: a few take ten times
it."""
SLOWER = 10
"""How much longer the same calls take in the second measurement. Real models take longer still."""
OURS = "oraclepack, 80 calls"
OTHERS = (rivals.XARGS, rivals.MAKE, rivals.PARALLEL)
TOOL = """\
#!/bin/sh
# Answers the question whose number is its last word, after the seconds of that question.
for last; do :; done
number=$(basename "$last" .md)
sleep "$(sed -n "${number}p" "$LATENCIES")"
echo "an answer to $number" >"$last"
"""


def latencies(factor: int = 1, *, quick: bool = False) -> list[float]:
    """The seconds of each call, the same in every round and on every machine."""
    chance = random.Random(80)
    size = 0.05 if quick else float(factor)
    return [round(size * MEDIAN * chance.lognormvariate(0, SPREAD), 3) for _ in range(CALLS)]


def in_order(seconds: Sequence[float], cap: int = CAP) -> float:
    """When the last call ends if each begins in the order of the pack once a place is free."""
    ends = [0.0] * cap
    for one in seconds:
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends)


def least(seconds: Sequence[float], cap: int = CAP) -> float:
    """No schedule of any order ends earlier than this."""
    return max(sum(seconds) / cap, *seconds)


def scene(place: Place) -> Sequence[Contender]:
    return _scene(place, 1)


def long_scene(place: Place) -> Sequence[Contender]:
    return _scene(place, SLOWER)


def _scene(place: Place, factor: int) -> Sequence[Contender]:
    tool = place.path / "tools" / "oracle"
    tool.parent.mkdir()
    tool.write_text(TOOL)
    tool.chmod(0o755)
    table = place.path / "latencies"
    table.write_text("\n".join(map(str, latencies(factor, quick=place.quick))) + "\n")
    (place.path / "out").mkdir()
    calls = [f"oracle -e api -p 'Why {n}?' --write-output out/{n}.md" for n in range(1, CALLS + 1)]
    where = project(place, *calls)
    env = {"PATH": f"{tool.parent}:{place.env['PATH']}", "LATENCIES": str(table), "TOOL": str(tool)}
    run = ["run", "--quiet", "--no-cache", "--max-parallel", str(CAP), "pack.md"]
    return [
        replace(ours(OURS, *run, before=forgets(where)), env=env),
        *(replace(one, env=env) for one in _others(place)),
    ]


def _others(place: Place) -> list[Contender]:
    numbers = " ".join(str(n) for n in range(1, CALLS + 1))
    (place.path / "ask.sh").write_text('"$TOOL" -p "Why $1?" --write-output "out/$1.md"\n')
    names = " ".join(f"s{n}" for n in range(1, CALLS + 1))
    recipes = f".PHONY: all {names}\nall: {names}\n{names}: s%:\n\t@bash -l ask.sh $*\n"
    (place.path / "Makefile").write_text(recipes)
    spread = f"printf '%s\\n' {numbers} | xargs -P{CAP} -n1 bash -l ask.sh"
    argvs = {
        rivals.XARGS: ["bash", "-c", spread],
        rivals.MAKE: ["make", "-s", f"-j{CAP}"],
        rivals.PARALLEL: [
            *("parallel", "--will-cite", f"-j{CAP}", "bash -l ask.sh", ":::"),
            *numbers.split(),
        ],
    }
    return [
        Contender(titled(name, CALLS), argv) for name, argv in argvs.items() if place.found(name)
    ]


def rows(times: Times) -> list[Row]:
    best = Row(
        "the same calls in the best order: no schedule ends earlier",
        f"the order of the pack: {in_order(latencies()):.1f} s",
        least(latencies()) / in_order(latencies()),
    )
    return [_row(times, 1), best]


def long_rows(times: Times) -> list[Row]:
    return [_row(times, SLOWER)]


def _row(times: Times, factor: int) -> Row:
    ideal = in_order(latencies(factor))
    names = present(times, {name: titled(name, CALLS) for name in OTHERS})

    def against_ideal(name: str) -> float:
        return median(times, lambda seconds: seconds / ideal, name)

    return Row(
        f"{CALLS} calls of log-normal length, median {MEDIAN * factor:g} s, {CAP} at a time",
        f"the same order without any overhead: {ideal:.1f} s",
        against_ideal(OURS),
        goal=1.03,
        rivals={short: against_ideal(name) for short, name in names.items()},
        memory=memories(times, OURS, names),
    )
