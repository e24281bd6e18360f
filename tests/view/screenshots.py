"""Makes the pictures in `docs/images`: `python -m tests.view.screenshots [FOLDER]`."""

import os
import sys
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs/images"
SHOTS = {
    "report-light": ("light", (1280, 860), ""),
    "report-dark": ("dark", (1280, 860), "timeline"),
    "report-answer": ("light", (1280, 860), "s02-1-1"),
    "report-narrow": ("light", (420, 860), ""),
}
"""Name → scheme, size, the part that is shown."""


def main(folder: Path) -> None:
    from oraclepack.view.report.gather import gather_report
    from oraclepack.view.report.page import run_page
    from tests.view.browser import OpenPage, browser
    from tests.view.example_runs import a_run

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as room:
        os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = room
        page = Path(room) / "report.html"
        page.write_text(run_page(gather_report(a_run(Path(room) / "shop"))), encoding="utf-8")
        with browser() as started:
            for name, (scheme, size, part) in SHOTS.items():
                opened = OpenPage(started, page, color_scheme=scheme, size=size)
                if part:
                    opened.page.evaluate(f"location.hash = {part!r}")
                    opened.page.wait_for_timeout(200)
                opened.page.screenshot(path=folder / f"{name}.png")
                opened.close()
        print(f"{len(SHOTS)} pictures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
