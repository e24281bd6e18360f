"""The live table on a real terminal."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packs import pack_text

PACK = pack_text("# 01) first\necho hello\n# 02) second\necho oh >&2; exit 7\n# 03) third\ntrue\n")


def on_terminal(folder: Path, *args: str, **variables: str) -> tuple[int, str]:
    """Run a command whose stderr is a terminal; its exit code and what the terminal got."""
    (folder / "pack.md").write_text(PACK)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "oraclepack", "run", "pack.md", "--cwd", ".", *args],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"} | variables,
    )
    os.close(theirs)
    got = b""
    try:
        while chunk := os.read(ours, 65536):
            got += chunk
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    return process.wait(), got.decode()


def test_on_a_terminal_there_is_a_table(tmp_path: Path) -> None:
    code, got = on_terminal(tmp_path)

    assert code == 3
    assert re.search(r"02 +\S*failed", got)
    assert "1/3 done, 1 failed, 1 not started" in got
    assert got.count("\x1b[?25l") == got.count("\x1b[?25h")
    assert "to continue: oraclepack run pack.md --cwd ." in got


@pytest.mark.parametrize(
    ("args", "variables", "has"),
    [
        pytest.param(["--no-tui"], {}, "01  started", id="--no-tui"),
        pytest.param(["--json"], {}, "01  started", id="JSON output"),
        pytest.param(["--json-log"], {}, '"kind":"step_started"', id="--json-log"),
        pytest.param([], {"TERM": "dumb"}, "01  started", id="a terminal that can do nothing"),
    ],
)
def test_where_no_table_is_wanted(
    tmp_path: Path, args: list[str], variables: dict[str, str], has: str
) -> None:
    _, got = on_terminal(tmp_path, *args, **variables)

    assert has in got
    assert "\x1b" not in got


def test_a_mistake_is_told_without_a_table(tmp_path: Path) -> None:
    code, got = on_terminal(tmp_path, "--steps", "77")

    assert code == 2
    assert got.startswith("error: --steps: there is no step 77")


def test_quiet_says_only_the_last_word(tmp_path: Path) -> None:
    _, got = on_terminal(tmp_path, "--quiet")

    assert got.startswith("error: step 02 failed")


def test_no_colour_where_none_is_wanted(tmp_path: Path) -> None:
    _, got = on_terminal(tmp_path, NO_COLOR="1")

    assert "1/3 done" in got
    assert not re.search(r"\x1b\[[0-9;]*m", got)
