"""`runs watch --inline`: what its lines show, how it ends, and when it is refused."""

import asyncio
import io
import os
import pty
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from oraclepack.__main__ import main
from oraclepack.run.project_records import ProjectRuns
from oraclepack.settings.loading import load_settings
from oraclepack.tui.inline_watch import InlineWatchApp, rest_text, shown_steps
from oraclepack.view.run_status import StepStatus
from tests.scripted import Scripted
from tests.tui.conftest import a_step, let_go
from tests.tui.screens import SMALL, screen_text
from tests.tui.test_run_screens import until
from tests.tui.test_steering import started
from tests.view.example_runs import a_run

WITHOUT_TEXTUAL = """
import sys
sys.modules["textual"] = None
sys.argv = ["oraclepack", "runs", "watch", "--inline"]
from oraclepack.__main__ import main
sys.exit(main())
"""


def steps(*states: str) -> list[StepStatus]:
    return [
        StepStatus(
            step_id=f"{n:02}", title="", state=state, attempts=1, elapsed_ms=None, error=None
        )
        for n, state in enumerate(states, 1)
    ]


@pytest.mark.parametrize(
    ("states", "room", "shown", "rest"),
    [
        pytest.param(("ok", "running"), 8, "01 02", "", id="there is room for all"),
        pytest.param(
            ("ok", "ok", "running", "pending"), 2, "03 04", "… and 2 ok · ", id="done goes first"
        ),
        pytest.param(
            ("failed", "ok", "pending", "pending", "running"),
            2,
            "01 05",
            "… and 1 ok, 2 pending · ",
            id="failed before pending, in the order of the pack",
        ),
        pytest.param(
            ("running", "needs_decision"), 1, "02", "… and 1 running · ", id="a decision is first"
        ),
        pytest.param((), 3, "", "", id="no steps"),
    ],
)
def test_the_steps_that_matter_are_shown(
    states: tuple[str, ...], room: int, shown: str, rest: str
) -> None:
    all_steps = steps(*states)

    chosen = shown_steps(all_steps, room)

    assert " ".join(one.step_id for one in chosen) == shown
    assert rest_text(all_steps, chosen) == rest


def watch(
    root: Path, script: Callable[[InlineWatchApp, Pilot[int]], Awaitable[None]]
) -> int | None:
    """The program with the newest run; what it returns in the end."""
    app = InlineWatchApp(ProjectRuns(root).status().name, load_settings(root))
    app.animation_level = "none"

    async def use() -> None:
        async with app.run_test(size=SMALL) as pilot:
            await script(app, pilot)

    asyncio.run(use())
    for fault in (*app.faults, *([app.fatal] if app.fatal else [])):
        raise fault
    return app.return_value


@pytest.mark.heavy
def test_leaving_does_not_stop_the_run_and_its_end_ends_the_watching(
    project: Path, oracle: Scripted
) -> None:
    started(project, a_step(1) + a_step(2))

    async def leave(key: str, app: InlineWatchApp, pilot: Pilot[int]) -> None:
        await until(pilot, lambda: "▶ running" in screen_text(app), "not shown")
        text = screen_text(app)
        assert "running · 0 of 2 done" in text
        assert "question 1" in text
        assert "q leaves; the run goes on" in text
        await pilot.press("p", "K", "y", key)

    for key, code in (("q", 0), ("escape", 0), ("ctrl+c", 130)):
        assert watch(project, partial(leave, key)) == code
        status = ProjectRuns(project).status()
        assert (status.alive, status.paused) == (True, False), "it only reads"

    async def see_the_end(app: InlineWatchApp, pilot: Pilot[int]) -> None:
        await until(pilot, lambda: len(oracle.calls) == 1, "not asked")
        let_go(oracle)
        await until(pilot, lambda: len(oracle.calls) == 2, "not asked")
        let_go(oracle)
        await until(pilot, lambda: not app.is_running or app._exit, "does not end")

    assert watch(project, see_the_end) is None
    assert ProjectRuns(project).status().state == "ok"


@pytest.mark.parametrize("more", ["", "--json", "--all", "--display=plain"])
def test_it_is_refused_without_a_terminal_and_with_other_displays(
    tmp_path: Path, more: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    a_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["oraclepack", "runs", "watch", "--inline", *more.split()])
    monkeypatch.setattr("sys.stdin", io.StringIO())

    assert main() == 2
    said = "".join(capfd.readouterr())
    assert ("a display of its own" if more else "--inline needs a terminal") in said


def test_it_says_which_package_is_missing(tmp_path: Path) -> None:
    a_run(tmp_path)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", WITHOUT_TEXTUAL]

    done = subprocess.run(
        command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, check=False
    )

    said = os.read(ours, 4096).decode()
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert "pip install 'oraclepack[tui]'" in said
