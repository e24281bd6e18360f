"""The program of the screens without a terminal, for tests and pictures."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.screen import ModalScreen

from oraclepack.settings.loading import load_settings
from oraclepack.tui.app import TuiApp

_FONT = re.compile(r"@font-face\s*\{.*?\}|<!--.*?-->", re.DOTALL)
WIDE, SMALL, PICTURE = (120, 26), (80, 24), (120, 36)

Script = Callable[[TuiApp, Pilot[Any]], Awaitable[None]]


def use_screen(
    place: Path,
    script: Script,
    size: tuple[int, int] = WIDE,
    *,
    expects_faults: bool = False,
    **values: object,
) -> TuiApp:
    """Open the program at a place, and do with it what a script does."""
    settings = load_settings(place, values)
    app = TuiApp(str(place), settings, is_pack=place.is_file())
    app.animation_level = "none"

    async def use() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await settle(pilot)
            await script(app, pilot)

    asyncio.run(use())
    if not expects_faults:
        for fault in (*app.faults, *([app.fatal] if app.fatal else [])):
            raise fault
    return app


ENDLESS = {"log", "watch"}
"""Workers that wait for a log or a run."""


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until nothing is being read any more, and every message of that is handled."""
    quiet = 0
    for _ in range(3_000):
        await pilot.pause(0)
        quiet = 0 if _is_busy(pilot) else quiet + 1
        if quiet == 2:
            return
        if not quiet:
            await asyncio.sleep(0.01)
    raise AssertionError(f"still reading: {[one.group for one in pilot.app.workers]}")


def _is_busy(pilot: Pilot[Any]) -> bool:
    app = pilot.app
    # Work that asks a person waits as long as its dialog is shown.
    waiting = ENDLESS | ({"dialog"} if isinstance(app.screen, ModalScreen) else set())
    if any(not one.is_finished for one in app.workers if one.group not in waiting):
        return True
    pumps = (app, *app.screen.walk_children(with_self=True))
    return any(one.message_queue_size for one in pumps)


async def keys(pilot: Pilot[Any], *names: str) -> None:
    """Press keys, each after the last one had its effect."""
    for name in names:
        await pilot.press(name)
        await settle(pilot)


def screen_text(app: TuiApp) -> str:
    """What is on the screen, as text."""
    size = app.size
    rows = app.screen._compositor.render_strips() if size else []
    return "\n".join(strip.text.rstrip() for strip in rows)


def picture(app: TuiApp) -> str:
    """The screen as an SVG that refers to nothing."""
    return _FONT.sub("", app.export_screenshot(simplify=True))
