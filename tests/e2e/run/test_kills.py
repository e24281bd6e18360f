"""A runner killed anywhere; `python -m tests.e2e.run.kills` does it at 200 moments."""

from pathlib import Path

from tests.e2e.run.kills import kill_everywhere, told
from tests.e2e.run.project import Zygote

COUNT = 5
"""A few of them; `make torture` and its short form kill at every operation."""


def test_a_run_killed_anywhere_ends_as_one_that_was_not(tmp_path: Path, zygote: Zygote) -> None:
    histogram, wrong = kill_everywhere(tmp_path, zygote, COUNT)

    print(told(histogram))  # noqa: T201 - where it was killed, for `pytest -s`
    assert wrong == []
    assert histogram.total() == COUNT
