"""Draws the pictures of docs/how-to/tui.md: `python -m tests.tui.screenshots`."""

import os
import tempfile
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from oraclepack.tui.app import TuiApp
from tests.report.example_runs import PACK, a_run
from tests.tui.screens import PICTURE, keys, picture, use_screen

PICTURES = Path(__file__).parent.parent.parent / "docs/images"
KEYS = {
    "tui-steps": ("down", "4"),
    "tui-watch": ("w",),
    "tui-read": ("r", "down"),
    "tui-backlog": ("b", "space"),
}


def draw(root: Path, name: str) -> str:
    """One screen of the example as an SVG."""
    drawn: list[str] = []

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, *KEYS[name])
        await pilot.pause(1.0 if name == "tui-watch" else 0.1)
        drawn.append(picture(app))

    use_screen(root / PACK, script, PICTURE)
    return drawn[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "shop")
        root.mkdir()
        os.environ |= {"HOME": folder, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        a_run(root)
        os.chdir(root)
        for name in KEYS:
            (PICTURES / f"{name}.svg").write_text(draw(root, name), encoding="utf-8")


if __name__ == "__main__":
    main()
