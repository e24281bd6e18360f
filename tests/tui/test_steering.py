"""What the screen of a run does to it: decide, accept, stop a step, stop the run."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.start_run import start_run
from oraclepack.settings.loading import load_settings
from oraclepack.tui.app import TuiApp
from oraclepack.tui.watch_screen import WatchScreen, stop_detail
from tests.e2e.run.project import asking
from tests.packs import pack_text
from tests.scripted import Scripted
from tests.tui.conftest import a_step, let_go
from tests.tui.screens import keys, screen_text, use_screen
from tests.tui.test_run_screens import until

pytestmark = pytest.mark.heavy
SHORT = asking(1).replace("Question 1?", "Question 1? [[fault=short]]")
"""A step whose answer lacks a heading."""


def started(project: Path, bash: str) -> None:
    (project / "pack.md").write_text(pack_text(bash))
    settings = load_settings(project / "pack.md", {"keep_going": True, "engine": "api"})
    arguments = RunArguments()
    start_run(str(project / "pack.md"), settings, arguments, more=("--yes", "--no-validate"))


def states(watch: WatchScreen) -> list[str]:
    return [step.state for step in watch.status.steps] if watch.status else []


def test_a_decision_a_stopped_step_and_an_accepted_answer(project: Path, oracle: Scripted) -> None:
    started(project, f"mkdir -p out\n{SHORT}{a_step(2)}")

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "w")
        watch = app.screen
        assert isinstance(watch, WatchScreen)
        await until(pilot, lambda: "1 decision to make" in screen_text(app), "nothing to decide")
        await keys(pilot, "d")
        assert "accept" in screen_text(app)
        await keys(pilot, "escape", "d", "down", "down", "enter")
        await until(pilot, lambda: states(watch)[:1] == ["failed"], "not decided")
        await until(pilot, lambda: len(oracle.calls) == 2, "step 02 did not begin")

        await keys(pilot, "down", "k", "n")
        assert watch.status is not None
        assert watch.status.alive, "no is no"
        await keys(pilot, "k", "y")
        assert "02" in screen_text(app).split("log of step")[1], "the reply names the step"
        let_go(oracle)
        await until(pilot, lambda: bool(watch.status and not watch.status.alive), "not stopped")

        await keys(pilot, "up", "A")
        app.screen.query_one("#line", Input).value = "good enough"
        await keys(pilot, "enter")
        await until(pilot, lambda: states(watch)[:1] == ["accepted"], "not accepted")
        assert "2 of 2 done" in screen_text(app)

    use_screen(project / "pack.md", script)
    assert len(oracle.calls) == 2


def test_a_run_is_stopped_now_though_it_waits_for_a_call(project: Path, oracle: Scripted) -> None:
    started(project, a_step(1) + a_step(2))

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "w")
        watch = app.screen
        assert isinstance(watch, WatchScreen)
        await until(pilot, lambda: bool(watch.status and watch.status.calls), "not asked")
        await keys(pilot, "K", "y")
        await until(pilot, lambda: "stopping" in screen_text(app), "not asked to stop")
        assert watch.status is not None
        assert watch.status.alive, "it waits for the call"
        await keys(pilot, "K")
        assert "1 call is being asked" in screen_text(app)
        assert "Stop now (!)" in screen_text(app)
        await keys(pilot, "exclamation_mark")
        await until(pilot, lambda: bool(watch.status and not watch.status.alive), "not stopped")
        assert states(watch) == ["interrupted", "pending"]

    use_screen(project / "pack.md", script)
    assert len(oracle.calls) == 1


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        pytest.param(0, "No call is being asked. What", id="none"),
        pytest.param(1, "1 call is being asked. Stop waits for it. Stop now cancels it", id="one"),
        pytest.param(3, "3 calls are being asked. Stop waits for them.", id="several"),
    ],
)
def test_the_question_says_what_happens_to_calls(asked: int, text: str) -> None:
    assert stop_detail(asked).startswith(text)


def test_a_run_is_stopped(project: Path, oracle: Scripted) -> None:
    started(project, a_step(1) + a_step(2))

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "w")
        watch = app.screen
        assert isinstance(watch, WatchScreen)
        await until(pilot, lambda: len(oracle.calls) == 1, "not asked")
        await keys(pilot, "K", "y")
        await until(pilot, lambda: "stopping" in screen_text(app), "not asked to stop")
        let_go(oracle)
        await until(pilot, lambda: bool(watch.status and not watch.status.alive), "not stopped")

    use_screen(project / "pack.md", script)
    assert len(oracle.calls) == 1, "the call that was being asked finished, and no other began"
