"""Which modules a command loads and what they cost: `python -m bench.imports run|validate|list|…`.

Self time of each module by `-X importtime`, the least of several runs, in milliseconds; then the
same by package. Modules that the bare interpreter loads too are left out.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

from bench.run import pack
from bench.scene import BIN, Place, clean_place

COMMANDS = {
    "version": ["--version"],
    "schema": ["schema"],
    "explain": ["explain", "OP201"],
    "config": ["config", "show"],
    "manifest": ["manifest"],
    "completion": ["completion", "bash"],
    "list": ["list", "pack.md"],
    "validate": ["validate", "pack.md"],
    "run": ["run", "--quiet", "--new-run", "pack.md"],
    "resume": ["run", "--quiet", "pack.md"],
}
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m bench.imports", description=__doc__)
    asked.add_argument("command", choices=COMMANDS)
    asked.add_argument("--runs", type=int, default=9)
    asked.add_argument("--most", type=int, default=40, help="how many modules to show")
    args = asked.parse_args()
    with clean_place() as place:
        (place.path / "pack.md").write_text(pack("true"), encoding="utf-8")
        subprocess.run(["git", "init", "-q"], check=True)
        bare = costs(["-c", "pass"], place, 1)
        argv = [str(BIN / "oraclepack"), *COMMANDS[args.command]]
        loaded = costs(argv, place, args.runs)
    print(report({name: cost for name, cost in loaded.items() if name not in bare}, args.most))


def costs(argv: Sequence[str], place: Place, runs: int) -> Mapping[str, float]:
    """Milliseconds of each module without what it imports; the first run only warms up."""
    taken: dict[str, list[float]] = defaultdict(list)
    for number in range(runs + 1):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *argv],
            env=dict(place.env),
            capture_output=True,
            check=True,
        )
        for cost, name in LINE.findall(done.stderr.decode()):
            if number:
                taken[name].append(int(cost) / 1000)
    return {name: min(all_) for name, all_ in taken.items()}


def report(loaded: Mapping[str, float], most: int) -> str:
    packages: dict[str, list[float]] = defaultdict(list)
    for name, cost in loaded.items():
        packages[_package(name)].append(cost)
    sums = {f"{name} ({len(all_)})": sum(all_) for name, all_ in packages.items()}
    total = f"{sum(loaded.values()):8.1f}  all ({len(loaded)} modules)"
    return "\n".join([*_lines(loaded, most), "", *_lines(sums, most), "", total])


def _package(name: str) -> str:
    top, _, rest = name.partition(".")
    if top == "oraclepack":
        return f"{top}.{rest.partition('.')[0]}" if rest else top
    return "the standard library" if top in sys.stdlib_module_names else top


def _lines(figures: Mapping[str, float], most: int) -> list[str]:
    dearest = sorted(figures.items(), key=lambda one: (-one[1], one[0]))
    return [f"{cost:8.1f}  {name}" for name, cost in dearest[:most]]


if __name__ == "__main__":
    main()
