"""What people look at: the screens while a step prints 1 GB, and the report of twenty steps.

    python -m bench.screens [--write]

The figures are worth something only on a quiet machine. `--write` puts them into bench/screens.md
and on the page. The paint of the report is left out where no Chromium can be had.
"""

import argparse
import asyncio
import os
import pty
import re
import resource
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.real.install import NotToBeHadError
from tests.view.browser import OpenPage, browser
from tests.view.example_runs import PACK, Plan, a_run

from bench.machine import described
from bench.page import SCREENS, renew_fragments
from bench.process import spent
from bench.scene import BIN, clean_place
from oraclepack.settings.loading import load_settings
from oraclepack.tui.app import TuiApp
from oraclepack.tui.log_view import LogView

GIGABYTE = 1_000_000_000
ROUNDS = 5
INTRO = f"""\
Medians of {ROUNDS}. A table of 10,000 steps is filled while it is shown and scrolls to its end
(`tests/tui/test_hostile.py`)."""
_PAINTED = "performance.getEntriesByName('first-contentful-paint')"
_WRITER = """
import sys
line = b"x" * 98 + b"\\n"
with open(sys.argv[1], "ab", buffering=0) as log:
    for _ in range({count}):
        log.write(line * 10_000)
"""


def first_paint(root: Path) -> tuple[float, float]:
    """Seconds from the start of the program to its first table: by the clock, and of a core."""
    ours, theirs = pty.openpty()
    began = time.monotonic()
    words = [sys.executable, "-m", "oraclepack", "tui", str(root)]
    variables = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "36"}
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True
    )
    os.close(theirs)
    seen = b""
    while b"Last run" not in re.sub(rb"\x1b\[[0-9;]*m", b"", seen):
        if not select.select([ours], [], [], 30)[0]:
            raise TimeoutError(seen[-500:].decode("utf-8", "replace"))
        seen += os.read(ours, 65536)
    took = time.monotonic() - began
    process.kill()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = -9
    os.close(ours)
    return took, used.ru_utime + used.ru_stime


async def longest_stall(root: Path, log: Path, size: int) -> tuple[float, float]:
    """Seconds: the longest that the event loop did not answer, and how long it was watched."""
    app = TuiApp(str(root / PACK), load_settings(root / PACK), is_pack=True)
    longest, is_over = 0.0, False

    async def measure() -> None:
        nonlocal longest
        while not is_over:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - before - 0.005)

    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(1.0)
        await pilot.press("5")
        await pilot.pause(1.0)
        code = _WRITER.format(count=size // 990_000)
        writer = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(log))
        began = time.monotonic()
        task = asyncio.create_task(measure())
        await writer.wait()
        await asyncio.sleep(1)
        is_over = True
        await task
        assert app.screen.query_one("#text-log", LogView).lines
        return longest, time.monotonic() - began


def report_seconds(run: Path, page: Path) -> float:
    """How long the command takes that writes the report."""
    words = [str(BIN / "oraclepack"), "report", str(run), "--out", str(page)]
    return statistics.median(spent(words, os.environ).seconds for _ in range(ROUNDS))


def report_paint(page: Path) -> float:
    """Seconds from opening the report in a browser to its first text. Raises NotToBeHadError."""
    painted: list[float] = []
    with browser() as started:
        for _ in range(ROUNDS):
            opened = OpenPage(started, page)
            opened.page.goto(opened.address)
            opened.page.wait_for_function(f"{_PAINTED}.length > 0")
            painted.append(opened.page.evaluate(f"{_PAINTED}[0].startTime") / 1000)
            opened.close()
    return statistics.median(painted)


def measured_rows(root: Path) -> list[tuple[str, str, str]]:
    """What, its figure, its goal."""
    run = a_run(root, Plan(steps=2))
    paints = sorted(first_paint(root) for _ in range(ROUNDS))
    took, used = paints[ROUNDS // 2]
    log = run.path / "logs/01.1.stdout.log"
    stall, _ = asyncio.run(longest_stall(root, log, GIGABYTE))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shop = root / "shop"
    page = root / "report.html"
    seconds = report_seconds(a_run(shop).path, page)
    rows = [
        (
            "`tui`: from its start to its first table",
            f"{took:.2f} s ({used:.2f} s of a core)",
            "1 s",
        ),
        (
            "`tui` while a step writes 1 GB: longest time without an answer",
            f"{stall:.3f} s",
            "0.15 s",
        ),
        ("`tui` while a step writes 1 GB: memory", f"{memory:.0f} MB", "120 MB"),
        (f"`report` of 20 steps, {page.stat().st_size // 1000} kB", f"{seconds:.2f} s", "1 s"),
    ]
    try:
        rows.append(
            ("that report in Chromium: to its first text", f"{report_paint(page):.2f} s", "1 s")
        )
    except NotToBeHadError as reason:
        print(f"the report is not shown in a browser: {reason}", file=sys.stderr)
    return rows


def text_of(rows: list[tuple[str, str, str]], machine: str) -> str:
    lines = ["| what | figure | goal |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n\n".join([INTRO, "\n".join(lines), machine]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.screens", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the page with the table")
    args = parser.parse_args()
    before = os.getloadavg()[0]
    with clean_place() as place:
        os.environ |= place.env  # the runs are signed with the key of this home
        text = text_of(measured_rows(place.path), described(place, before))
    if args.write:
        SCREENS.write_text(text, encoding="utf-8")
        renew_fragments()
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
