"""What is fuzzed: cases of one kind, and the sentence that must hold for each of them."""

import resource
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from oraclepack.errors import OraclePackError


@dataclass(frozen=True)
class Target:
    """A part of the program under fire."""

    name: str
    promise: str
    """What holds for every case, as a sentence."""
    cases: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    """Raises when the promise does not hold."""
    few: int = 30
    """How many cases the test suite can afford."""
    share: float = 1.0
    """How many of the cases of the long form it gets: what starts processes gets fewer."""


@dataclass
class Hunted:
    """What came of it."""

    cases: int = 0
    cpu: float = 0.0
    slowest: float = 0.0
    """CPU seconds of the slowest case, our children's included."""
    slowest_case: Any = None
    crash: str = ""
    """The traceback of the smallest case that breaks the promise."""

    def note(self, seconds: float, case: Any) -> None:
        self.cases += 1
        self.cpu += seconds
        if seconds > self.slowest:
            self.slowest, self.slowest_case = seconds, case


def hunt(target: Target, count: int, seed: int | None = None) -> Hunted:
    """Try that many cases; without a seed always the same ones."""
    hunted = Hunted()

    def one_case(case: Any) -> None:
        started = cpu_seconds()
        try:
            target.check(case)
        finally:
            hunted.note(cpu_seconds() - started, case)

    test = settings(
        max_examples=count,
        derandomize=seed is None,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )(given(target.cases)(one_case))
    if seed is not None:
        test = hypothesis.seed(seed)(test)
    try:
        test()
    except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
        hunted.crash = traceback.format_exc()
    return hunted


def says_why(refusal: OraclePackError) -> None:
    """A refusal is an answer too, when it has words of its own."""
    assert refusal.message
    assert "Traceback" not in refusal.message


def cpu_seconds() -> float:
    """What we and our children have worked: on a busy machine the rest is waiting."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
