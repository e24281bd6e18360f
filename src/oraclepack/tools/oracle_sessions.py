"""The session records that oracle leaves on disk, and the processes they name."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from oraclepack.shell import processes
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.shell.processes import ProcessInfo
from oraclepack.system import files
from oraclepack.system.machine import Machine, ProcessLocation, process_location
from oraclepack.tools.usage import Usage

UNFINISHED = frozenset({"running", "pending"})
"""The statuses of sessions that are at work, or whose process died."""
UNKNOWN = "unknown"
"""The status of a session that sent its question and lost the reply; `--engine direct` has it."""


class SessionRecord(msgspec.Struct, frozen=True):
    """One session of oracle, as far as it matters to us."""

    id: str
    status: str
    """`pending`, `running`, `completed`, `error`, …"""
    prompt: str = ""
    output_path: str | None = None
    """Absolute; where it comes from the disk, with links resolved."""
    started_at: str = ""
    model: str | None = None
    detached: bool = False
    worker_pid: int | None = None
    error_message: str = ""
    reason: str = ""
    """The kind of transport error, in oracle's words."""
    category: str = ""
    """The kind of local error, in oracle's words."""
    incomplete: str = ""
    usage: Usage | None = None
    is_submitted: bool = False
    """Its prompt was sent in a browser: the conversation may have an answer."""
    is_harvested: bool = False
    """Its conversation was read again, is complete and sure to be its own."""

    @property
    def output_tokens(self) -> int | None:
        return self.usage.output_tokens if self.usage else None


def read_record(data: bytes) -> SessionRecord | None:
    """The record in a `meta.json`; None when it is not one (yet)."""
    try:
        meta = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None

    def at(*path: str) -> object:
        value: object = meta
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(*path: str) -> str:
        value = at(*path)
        return value if isinstance(value, str) else ""

    def number(*path: str) -> int | None:
        value = at(*path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    identity, status, cost = text("id"), text("status"), at("usage", "cost")
    if not (identity and status):
        return None
    submitted = at("browser", "runtime", "promptSubmitted") is True
    harvest = text("browser", "harvest", "state"), text("browser", "harvest", "integrity", "status")
    usage = Usage(
        input_tokens=number("usage", "inputTokens"),
        cached_tokens=number("usage", "cachedTokens") or msgspec.UNSET,
        cache_write_tokens=number("usage", "cacheWriteTokens") or msgspec.UNSET,
        output_tokens=number("usage", "outputTokens"),
        reasoning_tokens=number("usage", "reasoningTokens"),
        total_tokens=number("usage", "totalTokens"),
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
    )
    return SessionRecord(
        id=identity,
        status=status,
        prompt=text("options", "prompt"),
        output_path=text("options", "writeOutputPath") or None,
        started_at=text("startedAt") or text("createdAt"),
        model=text("model") or text("options", "model") or None,
        detached=at("lifecycle", "detached") is True,
        worker_pid=number("lifecycle", "workerPid"),
        error_message=text("errorMessage"),
        reason=text("transport", "reason"),
        category=text("error", "category"),
        incomplete=text("response", "incompleteReason"),
        usage=usage if isinstance(at("usage"), dict) else None,
        is_submitted=submitted or bool(text("browser", "runtime", "conversationId")),
        is_harvested=harvest == ("completed", "matched"),
    )


RECORDS = "sessions"
"""The folder of the records in a home of oracle."""
_META, _LOG = "meta.json", "output.log"
_LONGEST_LOG = 16_000_000

_LOOKS = 50


class OracleSessions:
    """The sessions in one home of oracle. Reads only; what is half written is not there yet."""

    def __init__(self, home: Path) -> None:
        self._folder = home / RECORDS

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
            record = _read(self._folder / name)
            if record is not None:
                yield record

    def log(self, session_id: str) -> str:
        """What oracle printed in a session; empty when it cannot be read."""
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


def is_alive(process: ProcessIdentity) -> bool | None:
    """Whether exactly this process still runs; None where this machine cannot say."""
    info = _looked_up(process.pid, process.machine)
    if not isinstance(info, ProcessInfo):
        return info
    return None if process.start_time is None else info.start_time == process.start_time


def worker_is_alive(pid: int, machine: Machine | None = None) -> bool | None:
    """Whether a detached worker of oracle still runs; `machine` is where it was started.

    Its record holds only a number, which the kernel may have reused since, so the process must
    also look like oracle.
    """
    info = _looked_up(pid, machine)
    if not isinstance(info, ProcessInfo):
        return info
    try:
        return b"oracle" in _words_of(pid)
    except OSError:
        return None


def _looked_up(pid: int, machine: Machine | None) -> ProcessInfo | bool | None:
    """The living process of a number; False where there is none, None where that is unknown."""
    match process_location(machine):
        case ProcessLocation.GONE:
            return False
        case ProcessLocation.ELSEWHERE:
            return None
    if not processes.has_proc():
        return None if processes.exists(pid) else False
    info = processes.process_info(pid)
    return False if info is None or info.is_dead else info


def _words_of(pid: int) -> bytes:
    """The command line of a process; for the moment in which it becomes another program, none."""
    for _ in range(_LOOKS):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().lower()
        if words:
            return words
        os.sched_yield()
    return b""


HEAD_BYTES = 64_000
"""They are printed within the first second; an answer that is longer is not searched."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SESSION = re.compile(r"^Session: (\S+)[ \t]*$", re.MULTILINE)
_RESPONSE = re.compile(
    r"^API scheduled background response (resp_\w+) \(status=", re.MULTILINE | re.ASCII
)
_ANSWER = "\nAnswer:\n"


class PrintedIds(msgspec.Struct, frozen=True):
    """What oracle has printed about itself so far."""

    session: str | None = None
    """The name of its session record."""
    response: str | None = None
    """The provider's id of a response that it computes in the background."""
    is_over: bool = False
    """The answer has begun: nothing after it counts."""


def printed_ids(text: str) -> PrintedIds:
    """The ids in the whole lines of what oracle has printed before its answer."""
    plain = _COLOUR.sub("", text)
    head, mark, _ = plain.partition(_ANSWER)
    lines = head if mark else head.rpartition("\n")[0]
    sessions, responses = _SESSION.findall(lines), _RESPONSE.findall(lines)
    return PrintedIds(
        session=sessions[0] if sessions else None,
        response=responses[-1] if responses else None,
        is_over=bool(mark),
    )
