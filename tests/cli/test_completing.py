import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packs import pack_text, some_steps
from tests.runs_from_events import RUN_ID, an_ended_run


def offered(folder: Path, words: str) -> list[str]:
    """What a bash is offered for the last word of a command line."""
    count = len(words.split(" ")) - 1
    done = subprocess.run(
        [sys.executable, "-m", "oraclepack"],
        cwd=folder,
        capture_output=True,
        check=False,
        env=os.environ
        | {
            "_ORACLEPACK_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(count),
        },
        timeout=60,
    )
    return [line.partition(",")[2] for line in done.stdout.decode().splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("oraclepack step why pack.md ", ["01", "02", "03"], id="a step"),
        pytest.param("oraclepack step why gone.md ", [], id="no pack, no steps"),
        pytest.param("oraclepack run pack.md --steps 01,0", ["01,01", "01,02", "01,03"], id="list"),
        pytest.param("oraclepack run pack.md --steps 01-03", ["01-03"], id="a range"),
        pytest.param("oraclepack rub pack.md --st", [], id="after a wrong word"),
        pytest.param("oraclepack run pack.md --rerun f", ["failed"], id="a word of --rerun"),
        pytest.param("oraclepack run pack.md --resume-from 02", ["02"], id="where to begin"),
        pytest.param("oraclepack run pack.md --run-id 2026", [RUN_ID], id="a run"),
        pytest.param("oraclepack runs show ", [RUN_ID], id="a run to show"),
        pytest.param("oraclepack run pa", ["pa"], id="a pack: bash completes the file name"),
        pytest.param("oraclepack explain OP21", ["OP210", "OP211", "OP212"], id="a rule"),
        pytest.param(
            "oraclepack validate pack.md --select OP201,OP21",
            ["OP201,OP210", "OP201,OP211", "OP201,OP212"],
            id="a list of rules",
        ),
        pytest.param("oraclepack step undo pack.md 0", ["01", "02", "03"], id="a step to undo"),
        pytest.param("oraclepack runs logs latest ", ["01", "02", "03"], id="of the latest run"),
        pytest.param(f"oraclepack runs stop {RUN_ID} 0", ["01", "02", "03"], id="a step of a run"),
        pytest.param("oraclepack cache explain 0", ["01", "02", "03"], id="a step whose calls"),
        pytest.param("oraclepack runs logs nothing ", [], id="no run, no steps"),
    ],
)
def test_steps_and_runs_are_offered(tmp_path: Path, words: str, expected: list[str]) -> None:
    (tmp_path / "pack.md").write_text(pack_text(some_steps(["true"] * 3)))
    an_ended_run(tmp_path)

    assert offered(tmp_path, words) == expected
