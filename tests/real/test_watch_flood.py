"""A watcher of a step that prints a gigabyte: little memory, and a screen that goes on."""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.packs import pack_text

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

FLOOD = """\
line=$(printf 'x%.0s' {1..99})
for part in {1..10}; do yes "$line" | head -c 100000000; sleep 0.4; done
"""
MOST_KB = 60_000
LEAST_FRAMES = 2.0
"""Screens in a second."""
FRAME = b"\x1b[?25l"
"""The begin of each painting."""


def highest_memory(pid: int) -> int:
    """The most that the process has had in memory, in kB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


def on_a_screen(argv: list[str], cwd: Path, env: dict[str, str]) -> tuple[int, list[float], bytes]:
    """Run a program in a terminal: its memory in kB, when it painted, what it wrote."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    memory, frames, written = 0, [], b""
    with suppress(OSError):  # the terminal ends with its last program
        while process.poll() is None or select.select([master], [], [], 0)[0]:
            with suppress(OSError):
                memory = max(memory, highest_memory(process.pid))
            if select.select([master], [], [], 0.05)[0]:
                part = os.read(master, 1 << 16)
                frames += [time.monotonic()] * part.count(FRAME)
                written += part
    os.close(master)
    assert process.wait() == 0, written.decode(errors="replace")[-2000:]
    return memory, frames, written


def test_a_watcher_of_a_gigabyte_is_small_and_quick(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text(f"# 01) prints a gigabyte\n{FLOOD}"))
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    program = [sys.executable, "-m", "oraclepack"]
    run = [*program, "run", "pack.md", "--no-validate", "--detach"]
    subprocess.run(run, cwd=tmp_path, env=env, check=True, capture_output=True)

    memory, frames, written = on_a_screen([*program, "runs", "watch", "latest"], tmp_path, env)

    (log,) = tmp_path.glob(".oraclepack/runs/*/logs/01.1.stdout.log")
    took = frames[-1] - frames[0]
    figures = f"{memory} kB, {len(frames)} screens in {took:.1f} s"
    assert log.stat().st_size == 1_000_000_000
    assert b"1.0 GB" in written, "the screen shows how much was printed"
    assert memory < MOST_KB, figures
    assert len(frames) / took >= LEAST_FRAMES, figures
    print(figures)
