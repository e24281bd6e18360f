"""What fails is said in a message: no traceback reaches the screen, and the screens go on."""

from pathlib import Path
from threading import Event
from typing import Any, ClassVar

import pytest
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.drivers.linux_driver import LinuxDriver
from textual.pilot import Pilot
from textual.widgets import DataTable, Footer

from oraclepack.errors import OraclePackError
from oraclepack.tui.app import TextTerminal, TuiApp
from oraclepack.tui.faults import fault_message
from oraclepack.tui.pack_screen import PackScreen
from oraclepack.tui.steps_screen import StepsScreen
from tests.tui.conftest import FAULTY
from tests.tui.screens import SMALL, keys, screen_text, settle, use_screen


class BrokenScreen(PackScreen):
    """A screen whose keys fail."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "break", "Break", id="test.action"),
        Binding("2", "break_work", "Break the work", id="test.work"),
        Binding("3", "break_read", "Break the reading", id="test.read"),
    ]

    def compose(self) -> ComposeResult:
        yield Footer()

    def action_break(self) -> None:
        raise ValueError("in an action")

    @work(group="test")
    async def action_break_work(self) -> None:
        raise ValueError("in a worker")

    def action_break_read(self) -> None:
        def read() -> None:
            raise ValueError("in a thread")

        self.start("test", read, lambda _: None)


def test_what_fails_is_said_and_the_screen_goes_on(tmp_path: Path) -> None:
    (tmp_path / "faulty.md").write_text(FAULTY)
    logged: list[str] = []

    def log(error: BaseException) -> str:
        logged.append(str(error))
        return "/logs/crash-1.log"

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        app._log_fault = log
        app.push_screen(BrokenScreen())
        await settle(pilot)
        for key in "123":
            await keys(pilot, key)
            text = screen_text(app)
            assert "This did not work: ValueError: in a" in text, key
            assert "crash-1.log" in text
            assert "Traceback" not in text
            assert "? Help" in text.splitlines()[-1], "the message leaves the keys free"
            app.clear_notifications()
        await keys(pilot, "escape")
        assert isinstance(app.screen, StepsScreen)

    app = use_screen(tmp_path / "faulty.md", script, SMALL, expects_faults=True)
    assert app.fatal is None
    assert logged == ["in an action", "in a worker", "in a thread"]


@pytest.mark.heavy
def test_settings_that_break_meanwhile_are_said(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("")
    monkeypatch.setenv("ORACLEPACK_CONFIG", str(config))

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        config.write_text("max_parallel = 'many'\n")
        await keys(pilot, "p")
        assert isinstance(app.screen, StepsScreen)
        assert "max_parallel" in screen_text(app)

    use_screen(pack, script)


def test_a_screen_that_cannot_be_made_ends_the_program_with_its_error(tmp_path: Path) -> None:
    class NoScreen(PackScreen):
        def on_mount(self) -> None:
            self.query_one("#missing", DataTable)

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        app.push_screen(NoScreen())
        await pilot.pause(0)

    app = use_screen(tmp_path, script, expects_faults=True)
    assert "missing" in str(app.fatal)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OraclePackError("no\nway", hint="try that"), "no way\ntry that"),
        (PermissionError(13, "Permission denied", "a/b"), "a/b: Permission denied"),
        (KeyError("x"), "This did not work: KeyError: 'x'\n"),
    ],
)
def test_message_of(error: Exception, expected: str) -> None:
    assert fault_message(error, lambda _: "").startswith(expected)


def test_typed_bytes_that_are_no_text_do_not_end_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs = [b"\xff", b"q"]
    monkeypatch.setattr(LinuxDriver, "run_input_thread", lambda _: inputs.pop(0).decode())
    driver = object.__new__(TextTerminal)
    driver.exit_event = Event()

    driver.run_input_thread()

    assert inputs == []
