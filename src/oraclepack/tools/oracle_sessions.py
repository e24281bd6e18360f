"""The session records that oracle leaves on disk, and the processes they name."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.shell import processes
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system import files
from oraclepack.system.machine import Machine, ProcessLocation, process_location
from oraclepack.tools.usage import Usage

UNFINISHED = frozenset({"running", "pending"})
"""The statuses of sessions that are at work, or whose process died."""
UNKNOWN = "unknown"
"""The status of a session that sent its question and lost the reply; `--engine direct` has it."""


class _Options(msgspec.Struct, frozen=True, rename="camel"):
    prompt: str | None = None
    write_output_path: str | None = None
    model: str | None = None


class _Lifecycle(msgspec.Struct, frozen=True, rename="camel"):
    detached: bool | None = None
    worker_pid: int | None = None


class _Usage(msgspec.Struct, frozen=True, rename="camel"):
    input_tokens: int | None = None
    cached_tokens: int | msgspec.UnsetType = msgspec.UNSET
    cache_write_tokens: int | msgspec.UnsetType = msgspec.UNSET
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None


class _Transport(msgspec.Struct, frozen=True):
    reason: str | None = None


class _Error(msgspec.Struct, frozen=True):
    category: str | None = None


class _Response(msgspec.Struct, frozen=True, rename="camel"):
    incomplete_reason: str | None = None


class _Runtime(msgspec.Struct, frozen=True, rename="camel"):
    prompt_submitted: bool | None = None
    conversation_id: str | None = None


class _Integrity(msgspec.Struct, frozen=True):
    status: str | None = None


class _Harvest(msgspec.Struct, frozen=True):
    state: str | None = None
    integrity: _Integrity | None = None


class _Browser(msgspec.Struct, frozen=True):
    runtime: _Runtime | None = None
    harvest: _Harvest | None = None


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    status: str
    started_at: str | None = None
    created_at: str | None = None
    error_message: str | None = None
    model: str | None = None
    options: _Options = _Options()
    lifecycle: _Lifecycle | None = None
    usage: _Usage | None = None
    transport: _Transport | None = None
    error: _Error | None = None
    response: _Response | None = None
    browser: _Browser | None = None


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


_DECODER = msgspec.json.Decoder(_Meta)


def read_record(data: bytes) -> SessionRecord | None:
    """The record in a `meta.json`; None when it is not one (yet)."""
    try:
        meta = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    life, browser = meta.lifecycle or _Lifecycle(), meta.browser or _Browser()
    runtime, harvest = browser.runtime or _Runtime(), browser.harvest or _Harvest()
    integrity = harvest.integrity.status if harvest.integrity else None
    return SessionRecord(
        id=meta.id,
        status=meta.status,
        prompt=meta.options.prompt or "",
        output_path=meta.options.write_output_path,
        started_at=meta.started_at or meta.created_at or "",
        model=meta.model or meta.options.model,
        detached=bool(life.detached),
        worker_pid=life.worker_pid,
        error_message=meta.error_message or "",
        reason=(meta.transport.reason or "") if meta.transport else "",
        category=(meta.error.category or "") if meta.error else "",
        incomplete=(meta.response.incomplete_reason or "") if meta.response else "",
        usage=_usage(meta.usage),
        is_submitted=bool(runtime.prompt_submitted or runtime.conversation_id),
        is_harvested=harvest.state == "completed" and integrity == "matched",
    )


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        total_tokens=usage.total_tokens,
        cost_usd=usage.cost,
    )


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
    match process_location(process.machine):
        case ProcessLocation.GONE:
            return False
        case ProcessLocation.ELSEWHERE:
            return None
    if not processes.has_proc():
        return None if processes.exists(process.pid) else False
    info = processes.process_info(process.pid)
    if info is None or info.is_dead:
        return False
    if process.start_time is None:
        return None
    return info.start_time == process.start_time


def worker_is_alive(pid: int, machine: Machine | None = None) -> bool | None:
    """Whether a detached worker of oracle still runs; `machine` is where it was started.

    Its record holds only a number, which the kernel may have reused since, so the process must
    also look like oracle.
    """
    match process_location(machine):
        case ProcessLocation.GONE:
            return False
        case ProcessLocation.ELSEWHERE:
            return None
    if not processes.has_proc():
        return None if processes.exists(pid) else False
    info = processes.process_info(pid)
    if info is None or info.is_dead:
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
