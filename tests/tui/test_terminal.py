"""The screens in a real terminal, with real keys."""

import re
import shutil
from pathlib import Path

import pytest

from oraclepack.run.project_records import ProjectRuns
from oraclepack.work.backlog_edit import read_notes
from tests.packs import pack_text
from tests.scripted import Scripted
from tests.tui.conftest import a_step, let_go
from tests.tui.terminal import COMMAND, Terminal, terminal
from tests.tui.test_hostile import EVIL
from tests.view.example_runs import PACK, Plan, a_run

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((140, 40), id="140x40")]


def until_asked(oracle: Scripted, count: int, window: Terminal) -> None:
    """Wait until the tool was asked that often."""
    for _ in range(1200):
        if len(oracle.calls) >= count:
            return
        window.pause()
    raise AssertionError(f"{len(oracle.calls)} calls\n{window.text()}")


@pytest.mark.parametrize("size", SIZES)
def test_a_day_with_the_screens(
    project: Path, oracle: Scripted, tmp_path: Path, size: tuple[int, int]
) -> None:
    faulty = a_step(1).replace("oracle -e api", "oracle \\\x20\n  -e api")
    (project / "pack.md").write_text(pack_text(faulty + a_step(2)))
    with terminal(tmp_path, size) as window:
        window.start(*COMMAND, str(project), folder=project)
        prepare(window)
        assert oracle.calls == [], "nothing was asked before the start"
        window.press("y", "Run of pack.md", "running")
        until_asked(oracle, 1, window)
        window.press("p", "paused")
        let_go(oracle)
        window.shows("1 of 2 done")
        assert len(oracle.calls) == 1, "paused: nothing new is asked"
        window.press("p")
        until_asked(oracle, 2, window)
        assert "--model=gpt-5.2-pro" in oracle.calls[1]["argv"]
        window.press("r", "Answers – pack.md", "1 answer", "Direct answer")
        window.press("b", "Backlog – pack.md", "0 ticked")
        window.press("Space", "1 ticked", "☑")
        window.press("q")
        window.wait_for_end()

        status = ProjectRuns(project).status()
        assert status.alive, "leaving does not stop the run"
        notes = read_notes(project / status.run_dir)
        assert notes is not None
        assert len(notes.ticked) == 1

        window.start(*COMMAND, "pack.md", folder=project)
        window.shows("2 steps by step", "still running")
        window.press("w", "Run of pack.md", "1 of 2 done")
        let_go(oracle)
        window.shows("2 of 2 done", "no command works on it now")
        window.press("q")
        window.wait_for_end()
    assert len(oracle.calls) == 2, "each question was asked once"
    assert ProjectRuns(project).status().state == "ok"


def prepare(window: Terminal) -> None:
    """From the packs to the question whether to start: finding, fix, filter, flag, forecast."""
    window.shows("1 pack below", "pack.md", "error")
    window.press("v", "Findings – pack.md", "1 with a fix")
    window.press("f", "Change pack.md?", "+++")
    window.press("y", "valid;")
    window.press("Escape", "1 pack below", "✓ valid")
    window.press("Enter", "2 steps by step")
    window.press("/")
    window.type("roi>7", "1 of 2 steps")
    window.press("Enter", "space Select")
    window.press("Space", "1 selected")
    window.press("x", "1 of 2 steps by step", gone="1 selected")
    window.press("Escape", "question 2", gone="1 of 2")
    window.press("p", "Prepare – pack.md", "all that are not done")
    window.press("a", "Flag of oracle")
    window.type("02:--model=gpt-5.2-pro")
    window.press("Enter", "flags: 02:--model=gpt-5.2-pro", gone="Flag of oracle")
    window.press("f", "Run 2 steps, 2 calls?", "likely $")


def test_the_demo_opens_pager_and_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`o` gives the text to the pager, `e` the file to the editor; then the screen is back."""
    program = tmp_path / "note"
    program.write_text(f'#!/bin/sh\nfor last; do :; done\ncat "$last" >{tmp_path}/$NOTE\n')
    program.chmod(0o755)
    monkeypatch.setenv("PAGER", f"env NOTE=paged {program}")
    monkeypatch.setenv("VISUAL", f"env NOTE=edited {program}")
    with terminal(tmp_path, (100, 30)) as window:
        window.start(*COMMAND, "--demo", folder=tmp_path)
        window.shows("20 steps by step", "✓ ok", "Which callers break")
        for key, name in (("o", "paged"), ("e", "edited")):
            window.press(key)
            until_exists(tmp_path / name, window)
            window.shows("20 steps by step", "Which callers break")
        window.press("q")
        window.wait_for_end()
    assert "Which callers break" in (tmp_path / "paged").read_text()
    assert "```bash" in (tmp_path / "edited").read_text()


def until_exists(path: Path, window: Terminal) -> None:
    for _ in range(600):
        if path.exists() and path.stat().st_size:
            return
        window.pause()
    raise AssertionError(f"{path.name}\n{window.text()}")


def test_no_color_leaves_only_greys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    with terminal(tmp_path, (100, 30)) as window:
        window.start(*COMMAND, "--demo", folder=tmp_path)
        window.shows("20 steps by step", "✓ ok")
        written = window.written.read_bytes()
    colours = set(re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", written))
    assert all(len(set(one)) == 1 for one in colours), colours
    assert colours
    assert not re.search(rb"\x1b\[(?:\d;)*(?:3[1-6]|4[1-6]|9[1-6])[;m]", written)


def test_hostile_content_does_not_reach_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run(tmp_path, Plan(steps=2, answers={1: f"## Direct answer\n\n- {EVIL}\n"}))
    log = run.path / "logs/01.1.stdout.log"
    log.write_text(f"{EVIL}\n" + "x" * 10_000_000 + "\nthe end\n")
    (tmp_path / "evil.md").write_text(pack_text(f"# 01) {EVIL}\noracle -p '{EVIL}' -f '{EVIL}'\n"))
    monkeypatch.chdir(tmp_path)
    with terminal(tmp_path, (100, 30)) as window:
        window.start(*COMMAND, PACK, folder=tmp_path)
        window.shows("20 steps by step", "✓ ok")
        window.press("4", "[/x][bold", "gnp.exe", "owned")
        window.press("5", "the end")
        window.press("r", "Answers – ", "Direct answer")
        written = window.written.read_bytes()
        window.start(*COMMAND, "evil.md", folder=tmp_path)
        window.shows("1 step by step", "owned")
        window.press("3", "[@click=app.quit]")
        window.press("v", "Findings – evil.md")
        written += window.written.read_bytes()
        assert "owned" not in window.title()
    for sign in (b"\x1b]0;owned", b"\x9b31m", "\u202e".encode(), "\u2066".encode()):
        assert sign not in written
