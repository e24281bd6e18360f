"""The live table on a real terminal."""

import io
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from pstats import Stats

import pytest

from tests.packs import pack_text
from tests.scripted import scripted_tool

PACK = pack_text("# 01) first\necho hello\n# 02) second\necho oh >&2; exit 7\n# 03) third\ntrue\n")


def on_terminal(
    folder: Path, *args: str, command: str = "run", under: Sequence[str] = (), **variables: str
) -> tuple[int, str]:
    """Run a command whose stderr is a terminal; its exit code and what the terminal got.

    `under` are arguments of the interpreter before the program's own.
    """
    (folder / "pack.md").write_text(PACK)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *under, "-m", "oraclepack", command, "pack.md", "--cwd", ".", *args],
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
    assert got.count("exit code 7: oh") == 1, "the cause is given once"


OURS = """
import sys
from oraclepack.cli.live import Painter
painter = Painter(lambda text: (sys.stderr.write(text), sys.stderr.flush()), len)
for number in range(10_000):
    painter.paint([f"row {number}"], 80)
    sys.stdin.readline()
"""
RICH = """
import sys
from rich.console import Console
from rich.live import Live
with Live(console=Console(stderr=True, force_terminal=True), auto_refresh=False) as live:
    for number in range(10_000):
        live.update(f"row {number}", refresh=True)
        sys.stdin.readline()
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("code", "is_left_visible"),
    [pytest.param(OURS, True, id="our painter"), pytest.param(RICH, False, id="rich.live")],
)
def test_a_killed_display_leaves_the_cursor_visible(code: str, is_left_visible: bool) -> None:
    """Why rich.live does not paint the table: it hides the cursor from begin to end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    )
    os.close(theirs)
    got = b""
    while b"row" not in got or select.select([ours], [], [], 0.2)[0]:
        got += os.read(ours, 65536)
    process.kill()
    process.communicate()
    os.close(ours)

    assert b"\x1b[?25l" in got
    assert (got.rfind(b"\x1b[?25h") > got.rfind(b"\x1b[?25l")) is is_left_visible


@pytest.mark.parametrize("command", ["run", "pipeline"])
@pytest.mark.parametrize("earlier", [0, 1], ids=["a new run", "a run that is continued"])
def test_the_pack_is_planned_and_linted_once(tmp_path: Path, command: str, earlier: int) -> None:
    for _ in range(earlier):
        on_terminal(tmp_path, command=command)
    figures = tmp_path / "profile"

    _, got = on_terminal(tmp_path, command=command, under=("-m", "cProfile", "-o", str(figures)))

    assert "1/3 done, 1 failed, 1 not started" in got, "there is a table"
    assert times_called(figures, "planning/planner.py", "plan") == 1
    assert times_called(figures, "lint/engine.py", "lint") == 1


def times_called(figures: Path, file: str, function: str) -> int:
    """How often a function was called in a program that cProfile watched."""
    listed = io.StringIO()
    Stats(str(figures), stream=listed).print_stats()
    found = re.findall(rf"^ *(\d+) .*/{file}:\d+\({function}\)$", listed.getvalue(), re.MULTILINE)
    return sum(map(int, found))


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


def test_a_mistake_is_reported_without_a_table(tmp_path: Path) -> None:
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


class Terminal:
    """A terminal of tmux with its own server, in which one command runs."""

    def __init__(self, socket: Path, folder: Path, *command: str) -> None:
        self._base = ("tmux", "-S", str(socket))
        line = f"{shlex.join(command)}; read"
        size = ("-x", "100", "-y", "30", "-c", str(folder))
        self._run("new-session", "-d", *size, line)

    def until(self, pattern: str) -> str:
        """What is on the screen as soon as a pattern is."""
        for _ in range(1200):
            shown = self._run("capture-pane", "-p")
            if re.search(pattern, shown):
                return shown
            time.sleep(0.05)
        pytest.fail(f"never shown: {pattern}\n{shown}")

    def press(self, key: str) -> None:
        self._run("send-keys", key)

    def close(self) -> None:
        self._run("kill-server")

    def _run(self, *words: str) -> str:
        # Without configuration files of the user: their status line might hide ours.
        command = [*self._base, "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_the_table_says_why_something_waits(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    ask = 'oracle --engine api -m gpt-5.2 --write-output {0}.md -p "{1} {0}"\n'
    steps = ("[[fault=rate_limit]]", "[[fault=hold]]", "plain")
    bash = "".join(f"# 0{at}) s\n" + ask.format(at, text) for at, text in enumerate(steps, 1))
    (project / "pack.md").write_text(pack_text(bash))
    (project / "oraclepack.toml").write_text("[providers.openai]\nmax_concurrent = 1\n")
    oracle = scripted_tool(tmp_path / "tools")
    gate = Path(f"{oracle.program}.gate")
    os.mkfifo(gate)
    words = ("run", "pack.md", "--cwd", ".", "--max-parallel", "3", "--keep-going")
    path = f"PATH={oracle.folder}{os.pathsep}{os.environ['PATH']}"
    (home / ".bash_profile").write_text(f"{path}\n")
    program = (sys.executable, "-m", "oraclepack", *words)
    variables = (path, f"HOME={home}", "OPENAI_API_KEY=x", "LANG=C.UTF-8")

    terminal = Terminal(tmp_path / "tmux", project, "env", *variables, *program)
    try:
        waiting = terminal.until(r"slot of openai, 1 at a time")
        with gate.open("w"):  # waits for the one that holds the slot, and lets it go
            pass
        limited = terminal.until(r"429, retry in 0:[012]\d")
        running = terminal.until(r"2/3 done")
    finally:
        terminal.press("C-c")
        terminal.until("to continue|error:")
        terminal.close()

    assert re.search(r"0[123] +waiting.*\n +slot of openai, 1 at a time", waiting)
    # One attempt, and its retries, counted before it is over: two where 02 took the slot later.
    assert re.search(r"01 +waiting.* 1 +[12] .*\n +429, retry in", limited)
    assert re.search(r"1 (?:running|waiting)", running)
