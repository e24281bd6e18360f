"""Ten thousand steps: running, resuming, listing and reporting them, and the memory of each.

    python -m bench.scale [--steps 10000] [--write]

A pack has at most 99 steps, so these are a hundred packs of one project. Every step is a login
shell that does nothing: what is measured is ours. `--write` puts the table into bench/scale.md
and on the page.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.machine import described
from bench.page import SCALE, number, renew_fragments
from bench.process import Usage, spent
from bench.run import pack
from bench.scene import BIN, Place, clean_place

MOST = 99
"""Steps that a pack may have."""
INTRO = """\
{steps:,} steps that do nothing, in {packs} packs of one project; a pack may have 99 steps. Memory
is that of the largest process. Seconds of `run` and of the resume are those of all commands
together."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="renew the page with the table")
    args = parser.parse_args()
    before = os.getloadavg()[0]
    with clean_place() as place:
        rows = measured_rows(place, args.steps)
        text = text_of(rows, args.steps, described(place, before))
    if args.write:
        SCALE.write_text(text, encoding="utf-8")
        renew_fragments()
    else:
        print(text, end="")


def measured_rows(place: Place, steps: int) -> list[tuple[str, float, float, str]]:
    """What, seconds, megabytes, and what that is per step."""
    packs = lay_out(place.path, steps)
    every = [["run", "--quiet", "--max-parallel", "2", one] for one in packs]
    rows: list[tuple[str, float, float, str]] = []

    def add(what: str, commands: Sequence[Sequence[str]], per: Callable[[float], str]) -> None:
        used = [spent([str(BIN / "oraclepack"), *words], place.env) for words in commands]
        seconds, memory = _sum(used)
        rows.append((what, seconds, memory, per(seconds)))
        print(rows[-1], file=sys.stderr, flush=True)

    def per_step(seconds: float) -> str:
        return f"{number(seconds / steps * 1000)} ms per step"

    def per_pack(seconds: float) -> str:
        return f"{number(seconds / len(packs) * 1000)} ms per pack"

    def per_run(seconds: float) -> str:
        return f"{number(seconds / len(packs) * 1000)} ms per run"

    add("`run`, two at a time", every, per_step)
    add("`run` again: all is done", every, per_pack)
    add("`list` of each pack", [["list", one] for one in packs], per_pack)
    add("`runs list --json`", [["runs", "list", "--json"]], per_run)
    add("`report --site`", [["report", "--site", "site"]], per_run)
    add("`report --site` again: nothing has changed", [["report", "--site", "site"]], per_run)
    return rows


def lay_out(where: Path, steps: int) -> list[str]:
    """The packs of a project that have so many steps together."""
    subprocess.run(["git", "init", "-q"], cwd=where, check=True)
    names = []
    for first in range(0, steps, MOST):
        count = min(MOST, steps - first)
        # The first line makes each pack another one: the same content would be the same run.
        bodies = [f": pack {first}", *["true"] * (count - 1)]
        names.append(f"pack-{first // MOST + 1:03}.md")
        (where / names[-1]).write_text(pack(*bodies), encoding="utf-8")
    return names


def _sum(used: Sequence[Usage]) -> tuple[float, float]:
    return sum(one.seconds for one in used), max(one.memory for one in used)


def text_of(rows: Sequence[tuple[str, float, float, str]], steps: int, machine: str) -> str:
    packs = -(-steps // MOST)
    lines = ["| what | seconds | memory | each |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {what} | {number(seconds)} | {memory:.0f} MB | {each} |"
        for what, seconds, memory, each in rows
    ]
    parts = [INTRO.format(steps=steps, packs=packs), "\n".join(lines), machine]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
