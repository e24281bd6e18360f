"""The session records that oracle leaves on disk, and the processes they speak of."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from oraclepack.adapters import processes
from oraclepack.core.oracle_session import SessionRecord, read_record
from oraclepack.core.process_record import Process
from oraclepack.system import files

_META, _LOG = "meta.json", "output.log"
_LONGEST_LOG = 16_000_000

_LOOKS = 50


class OracleSessions:
    """The sessions in one home of oracle. Reads only; what is half written is not there yet."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "sessions"

    def record(self, session_id: str) -> SessionRecord | None:
        """One session by its name, which may come from a tool's own words."""
        if not session_id or "/" in session_id or session_id.startswith("."):
            return None
        return _read(self._folder / session_id)

    def records(self) -> Iterator[SessionRecord]:
        """All sessions, by name."""
        try:
            names = sorted(entry.name for entry in os.scandir(self._folder))
        except OSError:
            return
        for name in names:
            found = _read(self._folder / name)
            if found is not None:
                yield found

    def log(self, session_id: str) -> str:
        """What oracle printed in a session; empty when that is not to be had."""
        path = self._folder / session_id / _LOG
        try:
            return files.read_regular(path, _LONGEST_LOG).decode("utf-8", "replace")
        except OSError:
            return ""


def _read(folder: Path) -> SessionRecord | None:
    try:
        record = read_record(files.read_regular(folder / _META))
    except OSError:
        return None
    if record is None or record.output_path is None:
        return record
    return replace(record, output_path=os.path.realpath(record.output_path))


def is_alive(process: Process) -> bool | None:
    """Whether exactly this process still runs; None where nobody can tell."""
    if not processes.has_proc():
        return None if processes.exists(process.pid) else False
    found = processes.look_at(process.pid)
    if found is None or found.is_dead:
        return False
    if process.start_time is None:
        return None
    return found.start_time == process.start_time


def worker_is_alive(pid: int) -> bool | None:
    """Whether a detached worker of oracle still runs.

    Its record tells only a number, which the kernel may have given away since; so it must
    look like oracle, too.
    """
    if not processes.has_proc():
        return None if processes.exists(pid) else False
    found = processes.look_at(pid)
    if found is None or found.is_dead:
        return False
    try:
        words = _words_of(pid)
    except OSError:
        return None
    return b"oracle" in words


def _words_of(pid: int) -> bytes:
    """The command line of a process; for the moment in which it becomes another program, none."""
    for _ in range(_LOOKS):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().lower()
        if words:
            return words
        os.sched_yield()
    return b""
