"""The rows of the table: medians of ratios, each beside its goal, its rivals and its noise."""

import operator
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.scene import Times


@dataclass(frozen=True)
class Row:
    """One figure of ours, and what it is measured against."""

    what: str
    against: str
    ours: float
    goal: float | None = None
    """At most this much. None: a floor, which only explains."""
    unit: str = ""
    """Empty for a ratio."""
    rivals: Mapping[str, float] = field(default_factory=dict)
    control: float | None = None
    """The baseline against itself: how far this is from 1 is how much the ratios mean."""
    memory: Mapping[str, float] = field(default_factory=dict)
    """Megabytes at the highest point, ours under the name "ours"."""
    rounds: int = 0


def median(times: Times, formula: Callable[..., float], *names: str) -> float:
    """The median over the rounds in which all of them took part."""
    shared = set.intersection(*(set(times[name]) for name in names))
    return statistics.median(
        formula(*(times[name][number].seconds for name in names)) for number in shared
    )


def ratio(times: Times, name: str, against: str) -> float:
    return median(times, operator.truediv, name, against)


def ratios(times: Times, names: Mapping[str, str], against: str) -> dict[str, float]:
    """The rivals, each under its short name."""
    return {short: ratio(times, name, against) for short, name in names.items()}


def present(times: Times, names: Mapping[str, str]) -> dict[str, str]:
    """Those who took part: a rival may not be installed."""
    return {short: name for short, name in names.items() if name in times}


def memories(times: Times, name: str, rivals: Mapping[str, str] | None = None) -> dict[str, float]:
    """Megabytes of ours, and of the rivals, each under its short name."""
    names = {"ours": name} | dict(rivals or {})
    return {short: _peak(times, title) for short, title in names.items()}


def _peak(times: Times, name: str) -> float:
    return max(used.memory for used in times[name].values())
