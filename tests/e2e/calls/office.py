"""What the tests of calls ask of a project: steps that ask, and what the journal tells of them."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.journal_file import load
from oraclepack.journal.line_format import AnyEvent
from tests.e2e.run.project import Project


def step(number: int, *lines: str) -> str:
    """A step with these commands."""
    return "\n".join([f"# {number:02}) step {number}", *lines, ""])


def ask(prompt: str, output: str, *more: str) -> str:
    return " ".join(["oracle", *more, "--write-output", f'"{output}"', "-p", f'"{prompt}"'])


def events(project: Project, run_dir: Path | None = None) -> tuple[AnyEvent, ...]:
    return load((run_dir or project.run_dir) / "journal.jsonl").events


def outcomes(project: Project, run_dir: Path | None = None) -> list[j.InvocationOutcome]:
    return [one for one in events(project, run_dir) if isinstance(one, j.InvocationOutcome)]


def warnings(project: Project, run_dir: Path | None = None) -> list[tuple[str | None, str]]:
    records = [one for one in events(project, run_dir) if isinstance(one, j.WarningRecorded)]
    return [(one.code, one.message) for one in records]


def until(holds: Callable[[], bool]) -> None:
    """Wait for another process to come so far."""
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.02)
    pytest.fail("it never came so far")


class Gate:
    """Holds scripted calls back until the test lets them go."""

    def __init__(self, project: Project) -> None:
        self._path = Path(f"{project.oracle.program}.gate")
        os.mkfifo(self._path)

    def open(self) -> None:
        """Waits for the call, and lets it go."""
        with self._path.open("w"):
            pass

    def open_until(self, holds: Callable[[], bool]) -> None:
        """Let every call go that comes; one opening may let two go."""

        def look() -> bool:
            if not holds():
                with suppress(OSError):  # no call waits now
                    os.close(os.open(self._path, os.O_WRONLY | os.O_NONBLOCK))
                return False
            return True

        until(look)
