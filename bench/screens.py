"""How fast the screens are: first paint, the longest stall and the memory while a step prints 1 GB.

    python -m bench.screens

Prints figures; they are worth something only on a quiet machine.
"""

import asyncio
import os
import pty
import re
import resource
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.report.example_runs import PACK, Plan, a_run

from oraclepack import api
from oraclepack.tui.app import TuiApp
from oraclepack.tui.log_view import LogView

GIGABYTE = 1_000_000_000
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
    app = TuiApp(str(root / PACK), api.load_settings(root / PACK), is_pack=True)
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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        run = a_run(root, Plan(steps=2))
        os.chdir(root)
        paints = sorted(first_paint(root) for _ in range(5))
        took, used = paints[2]
        print(f"first paint: median {took:.2f} s of 5 by the clock, {used:.2f} s of a core")
        log = run.path / "logs/01.1.stdout.log"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        stall, took = asyncio.run(longest_stall(root, log, GIGABYTE))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"1 GB of log in {took:.1f} s: longest stall {stall * 1000:.0f} ms")
        print(f"memory: at most {memory / 1024:.0f} MB, {before / 1024:.0f} MB before")


if __name__ == "__main__":
    main()
