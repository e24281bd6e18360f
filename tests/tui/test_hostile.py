"""Text from outside is shown as text: it cannot write to the terminal, and it cannot stall it."""

import asyncio
import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable

from oraclepack.__main__ import main
from oraclepack.shell.logs import LogPart, LogWindow
from oraclepack.tui.app import TuiApp
from oraclepack.tui.log_view import LogView, lines_of
from oraclepack.tui.steps_screen import StepsScreen
from tests.packs import pack_text
from tests.tui.screens import keys, screen_text, use_screen
from tests.view.example_runs import Plan, a_run

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m[/x][bold red]\u202egnp.exe\u2066[@click=app.quit]x[/]"


def no_control(text: str) -> bool:
    return not any(sign in text for sign in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066"))


@pytest.mark.parametrize(
    ("longest", "tabs", "evil_keys"),
    [
        pytest.param(100_000, "145", ("v",), id="quick"),
        pytest.param(
            10_000_000,
            "1234567",
            ("1", "2", "3", "4", "6", "v"),
            id="a line of 10 MB, every tab",
            marks=pytest.mark.heavy,
        ),
    ],
)
def test_hostile_packs_answers_and_logs_are_shown_as_text(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    longest: int,
    tabs: str,
    evil_keys: tuple[str, ...],
) -> None:
    run = a_run(tmp_path, Plan(steps=2, answers={1: f"## Direct answer\n\n- {EVIL}\n"}))
    (run.path / "logs/01.1.stdout.log").write_text(f"{EVIL}\n" + "x" * longest + "\nend\n")
    pack = tmp_path / "oracle-pack-2026-03-01.md"
    (tmp_path / "evil.md").write_text(pack_text(f"# 01) {EVIL}\noracle -p '{EVIL}' -f '{EVIL}'\n"))
    monkeypatch.chdir(tmp_path)

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        for key in tabs:
            await keys(pilot, key, "y")
            assert no_control(screen_text(app).replace("\n", "")), key
            assert key != "4" or "[/x][bold red]" in app.clipboard
        await keys(pilot, "5")
        for _ in range(400):
            if "end" in app.screen.query_one("#text-log", LogView).lines:
                break
            await asyncio.sleep(0.02)
            await pilot.pause(0)
        lines = app.screen.query_one("#text-log", LogView).lines
        assert "end" in lines
        assert max(map(len, lines)) < 2_100
        await keys(pilot, "r")
        assert no_control(screen_text(app).replace("\n", ""))

    use_screen(pack, script)

    async def evil(app: TuiApp, pilot: Pilot[Any]) -> None:
        for key in evil_keys:
            await keys(pilot, key)
            assert no_control(screen_text(app).replace("\n", "")), key

    use_screen(tmp_path / "evil.md", evil)


@pytest.mark.heavy
def test_ten_thousand_steps_scroll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No real pack is that long: ids have two digits, so these repeat; the table takes them."""
    steps = "".join(f"# {n % 99 + 1:02}) step {n}\ntrue\n" for n in range(1_000))
    (tmp_path / "long.md").write_text(pack_text(steps))
    monkeypatch.chdir(tmp_path)

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        screen = app.screen
        assert isinstance(screen, StepsScreen)
        table = screen.query_one("#steps", DataTable)
        assert screen._steps is not None
        many = screen._steps.steps * 10
        screen._show(api_list(screen, many))
        for _ in range(2_000):
            if table.row_count == 10_000:
                break
            await pilot.pause(0.02)
        assert table.row_count == 10_000
        await pilot.press("ctrl+end")
        await pilot.pause()
        assert table.cursor_row == 9_999

    use_screen(tmp_path / "long.md", script)


def api_list(screen: StepsScreen, steps: tuple[Any, ...]) -> Any:
    assert screen._steps is not None
    return msgspec.structs.replace(screen._steps, steps=steps)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"bar 1\rbar 2\r\ndone\n", ["bar 1", "bar 2", "done"]),
        (b"\x1b[31mred\x1b[0m\n", ["[31mred[0m"]),
        (b"\xff\xfe\n", ["\ufffd\ufffd"]),
    ],
)
def test_lines_of_a_log(data: bytes, expected: list[str]) -> None:
    assert lines_of(LogPart(data)) == expected


def test_a_log_that_grows_too_fast_is_skipped_and_counted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first\n")
    window = LogWindow(log, most=100)
    assert window.read() == LogPart(b"first\n")
    assert window.read() == LogPart()

    with log.open("ab") as file:
        file.write(b"".join(b"line %05d\n" % n for n in range(1_000)))
    part = window.read()
    assert part.data.endswith(b"line 00999\n")
    assert part.data.startswith(b"line ")
    assert part.skipped + len(part.data) == 11_000
    log.write_bytes(b"new\n")
    assert window.read() == LogPart(b"new\n")
    with log.open("ab") as file:
        file.write(b"half")
    assert window.read() == LogPart()
    assert window.rest() == b"half"


def test_a_command_without_a_terminal_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["oraclepack", "tui", str(tmp_path)])
    monkeypatch.setattr("sys.stdin", io.StringIO())

    assert main() == 2
