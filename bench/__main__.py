"""Measures everything that has a goal, beside the rivals that are installed.

`python -m bench [--rounds N] [--only TOPIC]... [--quick] [--write FILE]`. Rivals are found on PATH,
then in the directories that ORACLEPACK_BENCH_PATH names; one that is missing is named as missing.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.machine import described, missing
from bench.page import line, page, with_notes
from bench.scene import clean_place, measured
from bench.table import Row
from bench.topics import TOPICS, Topic


def main() -> None:
    args = _asked()
    if args.notes:
        args.notes.write_text(with_notes(args.notes.read_text(encoding="utf-8")), encoding="utf-8")
        return
    before = os.getloadavg()[0]
    rows: list[Row] = []
    for name in args.only or TOPICS:
        found = figures(TOPICS[name], 1 if args.quick else args.rounds, quick=args.quick)
        print(f"{name}:", *map(line, found), sep="\n  ", file=sys.stderr, flush=True)
        rows += found
    with clean_place() as place:
        text = page(rows, described(place, before), missing(place))
    if args.write:
        args.write.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


def _asked() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    asked.add_argument("--rounds", type=int, help="of every topic, instead of its own number")
    asked.add_argument("--only", action="append", choices=list(TOPICS), metavar="TOPIC")
    asked.add_argument("--quick", action="store_true", help="one round, all small: does it work")
    asked.add_argument("--write", type=Path, metavar="FILE", help="the page, not printed")
    asked.add_argument("--notes", type=Path, metavar="FILE", help="renew only what explains it")
    args = asked.parse_args()
    if args.write and (args.only or args.quick):
        asked.error("--write takes no --only or --quick: a page holds all the figures or none")
    return args


def figures(topic: Topic, rounds: int | None, *, quick: bool = False) -> Sequence[Row]:
    with clean_place(quick=quick) as place:
        scene = topic.scene(place)
        times = measured(scene, rounds or topic.rounds, place, warm_up=topic.warm_up)
    with clean_place(quick=quick) as place:
        return [*topic.rows(times), *topic.counts(place)]


if __name__ == "__main__":
    main()
