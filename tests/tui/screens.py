"""The program of the screens without a terminal, for tests and pictures."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from oraclepack import api
from oraclepack.tui.app import TuiApp

_FONT = re.compile(r"@font-face\s*\{.*?\}|<!--.*?-->", re.DOTALL)
WIDE, SMALL = (120, 36), (80, 24)

Script = Callable[[TuiApp, Pilot[Any]], Awaitable[None]]


def use_screen(
    place: Path, script: Script, size: tuple[int, int] = WIDE, **values: object
) -> TuiApp:
    """Open the program at a place, and do with it what a script does."""
    settings = api.load_settings(place, values)
    app = TuiApp(str(place), settings, is_pack=place.is_file())

    async def use() -> None:
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            await script(app, pilot)

    asyncio.run(use())
    return app


ENDLESS = {"log", "watch", "dialog"}
"""Workers that wait for a log, a run or a person."""


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until nothing is being read any more, and everything is drawn."""
    for _ in range(400):
        await pilot.pause()
        if not _is_busy(pilot):
            await pilot.pause()
            if not _is_busy(pilot):
                return
        await asyncio.sleep(0.02)
    raise AssertionError(f"still reading: {[one.group for one in pilot.app.workers]}")


def _is_busy(pilot: Pilot[Any]) -> bool:
    return any(not one.is_finished for one in pilot.app.workers if one.group not in ENDLESS)


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
