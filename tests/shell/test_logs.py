"""What a log says: the line by which a step skips itself."""

from pathlib import Path

import pytest

from oraclepack.shell.logs import skip_line


@pytest.mark.parametrize(
    ("log", "line"),
    [
        pytest.param("SKIP: codex not found\n", "SKIP: codex not found", id="the usual word"),
        pytest.param("SKIP no codex", "SKIP no codex", id="without a colon or a line end"),
        pytest.param("Skipped: codex missing\n", "Skipped: codex missing", id="a sentence"),
        pytest.param("looking\nskipping : no tm\n", "skipping : no tm", id="in small letters"),
        pytest.param("Skip: a\nSKIP: b\n", "Skip: a", id="the first one counts"),
        pytest.param("Skipping default-ignored path: tmp/a\n", None, id="a tool that skips a file"),
        pytest.param("Skipped 3 tests\n", None, id="a figure"),
        pytest.param("  Skipped: codex\n", None, id="not at the beginning of a line"),
        pytest.param("not SKIP: here\n", None, id="in the middle of a line"),
        pytest.param("", None, id="nothing said"),
    ],
)
def test_the_line_by_which_a_step_skips_itself(tmp_path: Path, log: str, line: str | None) -> None:
    place = tmp_path / "log"
    place.write_text(log)

    assert skip_line(str(place)) == line
