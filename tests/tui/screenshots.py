"""Draws the pictures of docs/how-to/tui.md and README.md: `python -m tests.tui.screenshots`."""

import os
import tempfile
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from oraclepack.tui.app import TuiApp
from tests.tui.conftest import FAULTY
from tests.tui.screens import PICTURE, keys, picture, screen_text, settle, use_screen
from tests.view.example_runs import PACK, a_run

PICTURES = Path(__file__).parent.parent.parent / "docs/images"
FAULTY_PACK = "faulty.md"
SCREENS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "tui-packs": (".", (), "✗ failed"),
    "tui-findings": (FAULTY_PACK, ("v",), "with a fix"),
    "tui-steps": (PACK, ("down", "4"), "Yes: a quantity"),
    "tui-prepare": (PACK, ("space", "p"), "selected: 01"),
    "tui-watch": (PACK, ("w",), "4 files attached"),
    "tui-read": (PACK, ("r", "down"), "Yes: a quantity"),
    "tui-backlog": (PACK, ("b", "space"), "1 ticked"),
    "tui-help": (PACK, ("question_mark",), "Keys of this screen"),
}
"""By the name of a picture: what is opened, the keys, and what is shown then."""
LOG = """\
4 files attached, 11,204 tokens of input
asking gpt-5.2-pro
waiting for the answer: 10 s
waiting for the answer: 20 s
waiting for the answer: 30 s
answer complete: 1,412 tokens, $0.43
saved to answers/01-order-schema.md
"""
"""What the tool of a step prints."""


def draw(name: str) -> str:
    """One screen of the example in the working directory as an SVG."""
    drawn: list[str] = []
    place, pressed, shown = SCREENS[name]

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, *pressed)
        for _ in range(200):
            if shown in screen_text(app):
                break
            await pilot.pause(0.05)
        assert shown in screen_text(app), screen_text(app)
        before = ""
        while (now := picture(app)) != before:  # tables measure their columns when there is time
            before = now
            await settle(pilot)
            await pilot.pause(0.5)
        drawn.append(now)

    use_screen(Path(place), script, PICTURE)
    return drawn[0]


def make_example(root: Path) -> None:
    """The project that the pictures show."""
    root.mkdir()
    run = a_run(root)
    (run.path / "logs/01.1.stdout.log").write_text(LOG)
    (root / FAULTY_PACK).write_text(FAULTY)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        os.environ["TZ"] = "UTC"
        time.tzset()
        root = Path(folder, "shop")
        make_example(root)
        with chdir(root):
            for name in SCREENS:
                (PICTURES / f"{name}.svg").write_text(draw(name), encoding="utf-8")


if __name__ == "__main__":
    main()
