"""The recorded run of `tui --demo`."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from oraclepack.tui.app import TuiApp
from oraclepack.tui.demo_project import demo_project
from tests.tui.demo_record import FILE, recorded
from tests.tui.screens import screen_text, use_screen


def test_the_record_is_what_the_example_gives(tmp_path: Path) -> None:
    assert FILE.read_text(encoding="utf-8") == recorded(tmp_path), "python -m tests.tui.demo_record"


@pytest.mark.heavy
def test_the_demo_shows_a_run_in_a_copy_that_is_removed() -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        assert "01    ✓ ok" in screen_text(app)

    with demo_project() as pack:
        use_screen(pack, script)
    assert not pack.parent.exists()
