"""Calls whose runner was killed, and what oracle itself remembers of them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.shell import processes
from oraclepack.shell.attempt import ProcessIdentity
from tests.calls.office import Office, ScriptedShim, answering, saying

DEAD = ProcessIdentity(pid=4_190_000, start_time="1")


class KilledError(BaseException):
    """The machine dies on this line."""


class DyingShim(ScriptedShim):
    """We die after the tool was started, or before its process is known."""

    def __init__(self, process: ProcessIdentity | None) -> None:
        super().__init__(answering())
        self.process = process

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        self.orders.append(order)
        if self.process is not None:
            on_started(self.process)
        raise KilledError


def crash(tmp_path: Path, process: ProcessIdentity | None = DEAD) -> Office:
    """The office in which we died."""
    office = Office(tmp_path)
    with pytest.raises(KilledError):
        office.call(DyingShim(process))
    office.journal.close()
    return office


def session(office: Office, status: str, log: str = "", **more: Any) -> None:
    """Oracle's own record of the call."""
    folder = office.oracle_home / "sessions" / "s"
    folder.mkdir(parents=True, exist_ok=True)
    meta = {
        "id": "s",
        "status": status,
        "startedAt": "2026-03-01T10:00:09.000Z",
        "options": {"prompt": "why?", "writeOutputPath": str(office.private)},
        **({"usage": {"outputTokens": 7}} if status == "completed" else {}),
        **more,
    }
    (folder / "meta.json").write_bytes(msgspec.json.encode(meta))
    if log:
        (folder / "output.log").write_text(log)


@contextmanager
def living(*words: str) -> Iterator[tuple[ProcessIdentity, Callable[[], None]]]:
    """A process that lives until it is asked to end."""
    argv = [sys.executable, "-c", "import sys; sys.stdin.read()", *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None

        def end() -> None:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()

        yield ProcessIdentity(pid=process.pid, start_time=processes.start_time(process.pid)), end
        if process.returncode is None:
            end()


class EndingShim(ScriptedShim):
    """While it waits, something happens."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__(saying(ToolEnd(1, "ERROR: nobody should be asked\n")))
        self.then = then

    def pause(self, seconds: float) -> bool:
        if len(self.pauses) == 1:
            self.then()
        return super().pause(seconds)


def later(tmp_path: Path, **options: Any) -> Office:
    office = Office(tmp_path, day=2, **options)
    office.number = 9
    return office
