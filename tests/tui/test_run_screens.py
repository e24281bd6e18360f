"""Prepare, watch, read and backlog, with runs in processes of their own and a scripted oracle."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Select, TextArea

from oraclepack.run.project_records import ProjectRuns
from oraclepack.run.step_content import step_content
from oraclepack.settings.loading import load_settings
from oraclepack.tui.app import TuiApp
from oraclepack.tui.backlog_screen import BacklogScreen
from oraclepack.tui.pack_screen import TextPane
from oraclepack.tui.prepare_screen import PrepareScreen
from oraclepack.tui.read_screen import ReadScreen
from oraclepack.tui.steps_screen import StepsScreen
from oraclepack.tui.watch_screen import COLUMNS, WatchScreen, step_row
from oraclepack.view.run_status import CallInFlight, StepStatus
from oraclepack.work.backlog_edit import read_notes
from tests.packs import pack_text
from tests.scripted import Scripted
from tests.tui.conftest import let_go
from tests.tui.screens import keys, screen_text, settle, use_screen


async def until(pilot: Pilot[Any], is_true: Callable[[], bool], what: str) -> None:
    """Wait for a process of another program; its state is read from the screen."""
    for _ in range(1500):
        if is_true():
            return
        await settle(pilot)
        await asyncio.sleep(0.02)
    raise AssertionError(f"{what}\n{screen_text(pilot.app)}")  # type: ignore[arg-type]


async def read_and_tick(app: TuiApp, pilot: Pilot[Any]) -> None:
    """From a run that goes on: read its first answer, tick a task, write a note, leave."""
    await keys(pilot, "t", "d")
    assert isinstance(app.screen, WatchScreen), "nothing to retry or to decide"
    await keys(pilot, "r")
    assert isinstance(app.screen, ReadScreen)
    assert "Direct answer" in app.screen.query_one("#read-answer", TextPane).plain
    await keys(pilot, "b")
    assert isinstance(app.screen, BacklogScreen)
    await keys(pilot, "space")
    assert "1 ticked" in screen_text(app)
    await keys(pilot, "n")
    app.screen.query_one("#note", TextArea).text = "ask Ann"
    await keys(pilot, "ctrl+o")
    assert "ask Ann" in app.screen.query_one("#tasks-detail", TextPane).plain
    await pilot.press("q")


@pytest.mark.heavy
def test_a_run_is_prepared_started_paused_resumed_read_and_ticked(
    project: Path, oracle: Scripted
) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "w")
        assert isinstance(app.screen, StepsScreen), "nothing to watch yet"
        await keys(pilot, "p")
        assert isinstance(app.screen, PrepareScreen)
        app.screen.query_one("#engine", Select).focus()
        await keys(pilot, "a")
        app.screen.query_one("#line", Input).value = "--no-such-flag"
        await keys(pilot, "enter")
        assert "refuses --no-such-flag" in screen_text(app)
        await keys(pilot, "a")
        app.screen.query_one("#line", Input).value = "02:--model=gpt-5.2-pro"
        await keys(pilot, "enter")
        assert "02:--model=gpt-5.2-pro" in screen_text(app)

        await keys(pilot, "f")
        await until(pilot, lambda: "Run 2 steps, 2 calls?" in screen_text(app), "no forecast")
        assert "likely $" in screen_text(app)
        assert oracle.calls == [], "nothing was asked"
        await keys(pilot, "y")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen), "did not start")
        watch = app.screen
        assert isinstance(watch, WatchScreen)
        await until(pilot, lambda: len(oracle.calls) == 1, "did not ask")

        await keys(pilot, "p")
        await until(pilot, lambda: bool(watch.status and watch.status.paused), "not paused")
        let_go(oracle)
        await until(pilot, lambda: "1 of 2 done" in screen_text(app), "step 01 did not end")
        assert len(oracle.calls) == 1, "paused: nothing new is asked"
        await keys(pilot, "p")
        await until(pilot, lambda: len(oracle.calls) == 2, "did not go on")
        assert "--model=gpt-5.2-pro" in oracle.calls[1]["argv"]

        await read_and_tick(app, pilot)

    assert use_screen(project / "pack.md", script).return_value == 0
    status = ProjectRuns(project).status()
    assert status.alive, "leaving the screen does not stop the run"
    notes = read_notes(project / status.run_dir)
    assert notes is not None
    assert len(notes.ticked) == 1

    async def again(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "w")
        watch = app.screen
        assert isinstance(watch, WatchScreen)
        await until(pilot, lambda: "1 of 2 done" in screen_text(app), "not attached")
        await keys(pilot, "down", "k", "!")  # a polite stop waits for the call that is held
        await until(pilot, lambda: bool(watch.status and not watch.status.alive), "not stopped")
        await keys(pilot, "t")
        assert isinstance(app.screen, PrepareScreen)

    use_screen(project / "pack.md", again)


def test_what_validate_refuses_is_not_started(project: Path, oracle: Scripted) -> None:
    (project / "pack.md").write_text(pack_text("# 01) broken\noracle -p 'x\n"))

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "p", "f")
        await until(pilot, lambda: "does not run" in screen_text(app), "not refused")
        assert isinstance(app.screen, PrepareScreen)

    use_screen(project / "pack.md", script)
    assert oracle.calls == []
    assert ProjectRuns(project).list().runs == ()


def test_a_chatgpt_page_gets_a_name(project: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "p")
        form = app.screen
        assert isinstance(form, PrepareScreen)
        form.query_one("#page", Select).value = "other"
        await settle(pilot)
        app.screen.query_one("#line", Input).value = "https://chatgpt.com/g/g-p-1"
        await keys(pilot, "enter")
        app.screen.query_one("#line", Input).value = "work"
        await keys(pilot, "enter")
        assert form.chosen_values()["chatgpt_url"] == "https://chatgpt.com/g/g-p-1"

    use_screen(project / "pack.md", script)
    settings = load_settings(project / "pack.md", {"chatgpt_url": "work"})
    content = step_content(project / "pack.md", "01", settings)
    assert "--chatgpt-url=https://chatgpt.com/g/g-p-1" in content.calls[0].words


def test_answers_are_searched_and_their_sources_opened(pack: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "r", "slash")
        app.screen.query_one("#search", Input).value = "compare-and-set"
        await keys(pilot, "enter")
        assert "1 step with compare-and-set" in screen_text(app)
        await keys(pilot, "c", "enter")
        screen = app.screen
        assert isinstance(screen, ReadScreen)
        source = screen.query_one("#read-question", TextPane).plain
        assert "19     def remove" in source
        target = screen.current_file()
        assert target is not None
        assert (target.path.name, target.line) == ("stock.py", 19)
        await keys(pilot, "escape", "escape", "escape")
        assert isinstance(app.screen, StepsScreen)

    use_screen(pack, script)


@pytest.mark.heavy
def test_the_backlog_is_exported_and_asks_again(pack: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "b", "x", "enter", "u")
        assert isinstance(app.screen, BacklogScreen)

    use_screen(pack, script)
    made = {path.name for path in pack.parent.rglob("*") if path.is_file()}
    assert "github-issues.json" in made
    assert [name for name in made if "followup" in name or "follow-up" in name]


@pytest.mark.parametrize(
    ("doing_now", "reason", "tries", "expected"),
    [
        pytest.param("prepare", "", 0, "preparing gpt-5.2", id="before the first try"),
        pytest.param("try", "", 1, "asking gpt-5.2", id="the first try"),
        pytest.param("wait", "429", 2, "gpt-5.2 waits: 429, try 2", id="between tries"),
    ],
)
def test_a_running_step_says_what_its_call_does(
    doing_now: str, reason: str, tries: int, expected: str
) -> None:
    call = CallInFlight(
        step_id="01",
        attempt=3,
        call=1,
        tool="oracle",
        provider="openai",
        model="gpt-5.2",
        doing=doing_now,
        reason=reason,
        detail="",
        since="2026-01-01T00:00:00Z",
        elapsed_ms=1000,
        tries=tries,
    )
    step = StepStatus(step_id="01", title="", state="running", attempts=3, elapsed_ms=9, error=None)

    row = dict(zip(COLUMNS, (one.plain for one in step_row(step, call)), strict=True))

    assert row[COLUMNS[-1]] == f"{expected} · attempt 3"
