"""How good the verifier is: `python -m tests.answers.score` prints its figures and its mistakes."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from oraclepack.answers.output_check import check_output
from oraclepack.answers.suspicions import suspicions
from oraclepack.system.files import Content
from tests.answers.corpus_reader import PROMPT, Case, cases


@dataclass(frozen=True)
class Score:
    """What one way of judging makes of the corpus; to refuse an answer is to find something."""

    found: int
    false_alarms: tuple[str, ...]
    overlooked: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Of the answers refused, the share that is bad."""
        return self.found / (self.found + len(self.false_alarms))

    @property
    def recall(self) -> float:
        """Of the bad answers, the share that is refused."""
        return self.found / (self.found + len(self.overlooked))


def fails(case: Case) -> bool:
    """It misses its contract: a failure always."""
    return check_output(case.contract, Content(case.data)) is not None


def fails_or_doubtful(case: Case) -> bool:
    """It misses its contract or looks wrong: a failure with `--strict`, else a warning."""
    return fails(case) or bool(suspicions(case.data.decode(), PROMPT))


HELD_BACK = "later"
"""The answers that were written when the rules had been tuned on all others."""


def score(refuses: Callable[[Case], bool], of: Sequence[Case]) -> Score:
    judged = [(case, refuses(case)) for case in of]
    return Score(
        found=sum(refused and not case.good for case, refused in judged),
        false_alarms=_names(case for case, refused in judged if refused and case.good),
        overlooked=_names(case for case, refused in judged if not refused and not case.good),
    )


def _names(found: Iterable[Case]) -> tuple[str, ...]:
    return tuple(f"{case.kind}: {case.name}" for case in found)


def report() -> str:
    """The figures and every mistake, as text."""
    every = cases()
    held = [case for case in every if case.kind == HELD_BACK]
    strict = score(fails_or_doubtful, every)
    lines = [
        f"{len(every)} answers, {sum(not case.good for case in every)} of them bad",
        _figures("failed", score(fails, every)),
        _figures("failed or doubtful", strict),
        _figures(f"  those of {HELD_BACK}.txt", score(fails_or_doubtful, held)),
        *(f"false alarm: {name}" for name in strict.false_alarms),
        *(f"overlooked: {name}" for name in strict.overlooked),
    ]
    return "\n".join(lines) + "\n"


def _figures(what: str, one: Score) -> str:
    return f"{what}: precision {one.precision:.2f}, recall {one.recall:.2f}"


if __name__ == "__main__":
    sys.stdout.write(report())
