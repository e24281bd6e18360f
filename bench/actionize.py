"""How actionizing grows: 2,000 answers at once against a hundred times 20."""

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.scene import Contender, Place, Times, control, controlled
from bench.table import Row, memories, ratio

MANY, FEW = "2,000 answers at once", "20 answers, a hundred times"


def scene(place: Place) -> Sequence[Contender]:
    size = 100 if place.quick else 2_000
    few = _actionizes(FEW, 20, size // 20)
    return [few, control(few), _actionizes(MANY, size, 1)]


def _actionizes(name: str, count: int, times: int) -> Contender:
    program = Path(__file__).with_name("answers.py")
    return Contender(name, [sys.executable, "-P", str(program), str(count), str(times)])


def rows(times: Times) -> list[Row]:
    return [
        Row(
            "actionize of 2,000 answers",
            "100 × that of 20",
            ratio(times, MANY, FEW),
            goal=1.2,
            control=ratio(times, controlled(FEW), FEW),
            memory=memories(times, MANY),
        )
    ]
