"""Processor time of what the bench measures: `python -m bench.cpu TOPIC [WORDS] [--rounds N]`.

The clock is noise on a busy machine; processor time much less so, and its minimum least of all.
Shown are milliseconds of the process itself and of those it started, and the multiple of the first
line, which is the baseline. Without a topic the topics are listed.
"""

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.process import Usage
from bench.scene import Contender, clean_place, measured
from bench.topics import TOPICS


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m bench.cpu", description=__doc__)
    asked.add_argument("topic", nargs="?", choices=list(TOPICS))
    asked.add_argument("words", nargs="?", default="", help="only those with this in their name")
    asked.add_argument("--rounds", type=int, default=20)
    args = asked.parse_args()
    if args.topic is None:
        print("\n".join(TOPICS))
        return
    with clean_place() as place:
        contenders = chosen(TOPICS[args.topic].scene(place), args.words)
        print(report(measured(contenders, args.rounds, place)))


def chosen(contenders: Sequence[Contender], words: str) -> list[Contender]:
    """The baseline, which comes first, and those that are asked for, each once in a round.

    A mean of several would hide the least.
    """
    first, *others = (replace(one, runs=1) for one in contenders)
    return [first, *(one for one in others if words in one.name)]


def report(times: Mapping[str, Mapping[int, Usage]]) -> str:
    width = max(map(len, times))
    lines = [f"{'':{width}}  {'own':>16} {'others':>16} {'both':>16} {'ratio':>13} {'MB':>6}"]
    least, usual = ("min", min), ("median", statistics.median)
    lines.append(f"{'':{width}}" + f"  {least[0]:>8} {usual[0]:>7}" * 4)
    taken = {name: list(used.values()) for name, used in times.items()}
    base = next(iter(taken.values()))
    for name, used in taken.items():
        own, others, both = (
            [getattr(one, part) * 1000 for one in used] for part in ("own", "others", "cpu")
        )
        figures = [pick(part) for part in (own, others, both) for pick in (min, statistics.median)]
        baseline = [one.cpu * 1000 for one in base]
        against = [pick(both) / pick(baseline) for pick in (min, statistics.median)]
        cells = [f"{figure:8.1f}" for figure in figures] + [f"{one:8.2f}" for one in against]
        peak = max(one.memory for one in used)
        lines.append(f"{name:{width}}  {' '.join(cells)} {peak:6.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
