"""Where the file of an answer is that `e` opens."""

from pathlib import Path

import pytest

from oraclepack.tui.step_details import answer_file


@pytest.mark.parametrize(
    ("run_name", "expected"),
    [
        ("2026-03-01__abc__1", ".oraclepack/runs/2026-03-01__abc__1/outputs/01-x.md"),
        (
            "rehearsals/2026-03-01__abc__1",
            ".oraclepack/rehearsals/2026-03-01__abc__1/outputs/01-x.md",
        ),
    ],
)
def test_answer_file(run_name: str, expected: str) -> None:
    assert answer_file(Path("/p"), run_name, "outputs/01-x.md") == Path("/p") / expected
