"""What standing between a step and its tools costs: keys, journal, copies, contract.

Twenty calls in a step are compared with the same calls by the tool's own path, which is not
intercepted. They run with `--no-cache`, so that each round asks again; a call that is answered from
the cache has a row of its own.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.run import project
from bench.scene import Contender, Place, Times, control, controlled, ours
from bench.syscalls import SYSCALLS, counted
from bench.table import Row, median, memories, ratio

CALLS = 20
EMPTY, DIRECT, ASKED, CACHED = "a step without calls", "direct", "intercepted", "from the cache"
ORACLE = "oracle --version"
TOOL = '#!/bin/sh\nfor last; do :; done\necho "an answer" >"$last"\n'
"""Writes an answer where its last word says, and nothing else."""


def scene(place: Place) -> Sequence[Contender]:
    tool = place.path / "tools" / "oracle"
    tool.parent.mkdir()
    tool.write_text(TOOL)
    tool.chmod(0o755)
    bodies = {
        "empty.md": "true",
        "direct.md": calls('"$TOOL"', "Why"),
        "asked.md": calls("oracle", "Why"),
        "cached.md": calls("oracle", "How"),
    }
    for name, body in bodies.items():
        project(place, f"mkdir -p out\n{body}", name=name)
    env = {"PATH": f"{tool.parent}:{place.env['PATH']}", "TOOL": str(tool)}
    # The round that only warms up fills the cache.
    runs = [
        ours(EMPTY, "run", "--quiet", "--new-run", "empty.md"),
        ours(DIRECT, "run", "--quiet", "--new-run", "direct.md"),
        ours(ASKED, "run", "--quiet", "--new-run", "--no-cache", "asked.md"),
        ours(CACHED, "run", "--quiet", "--new-run", "cached.md"),
    ]
    direct = replace(runs[1], env=env)
    return [*(replace(one, env=env) for one in runs), control(direct), *_real_oracle(place)]


def calls(program: str, question: str) -> str:
    """Each call asks something else, so none is answered by another one's answer."""
    ask = f'{program} -e api -p "{question} $n?" --write-output "out/$n.md"'
    return f"set -e\nfor ((n = 0; n < {CALLS}; n++)); do {ask}; done"


def _real_oracle(place: Place) -> list[Contender]:
    """The one the tests installed, else the one on PATH."""
    kept = sorted(Path(__file__).parents[1].glob(".tools/*/node_modules/.bin/oracle"))
    found = str(kept[-1]) if kept else shutil.which("oracle", path=place.env["PATH"])
    return [Contender(ORACLE, [found, "--version"], every=2)] if found else []


def rows(times: Times) -> list[Row]:
    more = Row(
        "one intercepted call, more than the same call of the tool itself",
        "calling the tool directly",
        median(times, lambda asked, direct: (asked - direct) / CALLS * 1000, ASKED, DIRECT),
        goal=60.0,
        unit="ms",
        control=ratio(times, controlled(DIRECT), DIRECT),
        memory=memories(times, ASKED),
    )
    if ORACLE not in times:
        return [more]
    cached = median(
        times,
        lambda cached, empty, start: (cached - empty) / CALLS / start,
        *(CACHED, EMPTY, ORACLE),
    )
    start = median(times, lambda seconds: seconds * 1000, ORACLE)
    return [
        more,
        Row(
            "one call answered from the cache",
            f"`{ORACLE}`",
            cached,
            goal=0.15,
        ),
        Row(f"`{ORACLE}` (550 ms where the goals were set)", "nothing", start, unit="ms"),
    ]


def counts(place: Place) -> list[Row]:
    """What a call asks of the kernel beyond what the tool does, where strace can count it."""
    found = {one.name: one for one in scene(place)}
    direct, asked = (counted(found[name], place) for name in (DIRECT, ASKED))
    if not direct or not asked:
        return []
    return [
        Row(
            f"`{name}` per intercepted call",
            "nothing",
            (asked[name] - direct[name]) / CALLS,
            unit="calls",
        )
        for name in SYSCALLS
    ]
