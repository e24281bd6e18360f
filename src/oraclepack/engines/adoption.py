"""What to do about a call of oracle that a crash interrupted: adopt its answer, wait, or ask."""

import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from oraclepack.tools.oracle_sessions import UNKNOWN, SessionRecord

_SESSION_LINE = re.compile(r"^Session: (?P<id>\S+)\s*$", re.MULTILINE)
_COST_LINE = re.compile(r"^\d[\d.]*(?:ms|s|m)?.* · .*\bsid=(?P<id>\S+)\s*$", re.MULTILINE)

_NO_TEXT = "(no text output)"
"""What oracle prints in place of an empty answer."""


class Adoption(StrEnum):
    """What to do about an earlier call of the same question."""

    CALL = "call"
    """Nothing was paid for, or it failed: ask."""
    FORCE = "force"
    """Its process died, but oracle's record says it is running: ask with `--force`."""
    HARVEST = "harvest"
    """It is answered: take the answer."""
    WAIT = "wait"
    """Its process is running: wait for its end, then check again."""
    ATTACH = "attach"
    """A detached worker is running: wait for its end, then check again."""
    UNKNOWN = "unknown"


class LiveProcesses(msgspec.Struct, frozen=True):
    """Which processes of an earlier call are still running. None: unknown."""

    caller: bool | None = None
    """The oracle process we started ourselves."""
    is_named: bool = False
    """It was written down, so there was one."""
    worker: bool | None = None
    """The detached worker that the session record names."""


def adoption(
    record: SessionRecord | None,
    processes: LiveProcesses,
    *,
    waits: bool = True,
    has_begun: bool = False,
) -> Adoption:
    """What to do about an earlier call, by its record and its processes.

    Without `waits`, a process that is still running has exceeded the time limit of a call.
    `has_begun`: it had a session, so that without a record nothing is known of its answer.
    """
    if processes.caller and waits:
        # The record may be of an earlier try; this process may not have written its own yet.
        return Adoption.WAIT
    match record.status if record else None:
        case "completed":
            return Adoption.HARVEST
        case status if processes.caller or status == UNKNOWN:
            return Adoption.UNKNOWN
        case "running" | "pending" if record:
            decision = _unfinished(record, processes)
            return Adoption.UNKNOWN if decision is Adoption.ATTACH and not waits else decision
        case status if (processes.is_named and processes.caller is None) or (
            status is None and has_begun
        ):
            return Adoption.UNKNOWN
        case _:
            return Adoption.CALL


def _unfinished(record: SessionRecord, processes: LiveProcesses) -> Adoption:
    """The decision about a session marked as running whose caller is not known to run."""
    if record.detached or record.worker_pid is not None:
        if processes.worker is None:
            return Adoption.UNKNOWN
        return Adoption.ATTACH if processes.worker else Adoption.FORCE
    return Adoption.UNKNOWN if processes.caller is None else Adoption.FORCE


def matching(
    records: Iterable[SessionRecord], prompt: str, output_path: str | None, since: str = ""
) -> SessionRecord | None:
    """The newest session that asked this question for this file, begun after a moment."""
    fits = [
        record
        for record in records
        if record.output_path == output_path
        and _same_prompt(record.prompt, prompt)
        and record.started_at[:19] >= since[:19]
    ]
    return max(fits, key=lambda record: (record.started_at, record.id), default=None)


def _same_prompt(recorded: str, prompt: str) -> bool:
    """A suffix from the config may have been added on a line of its own."""
    recorded, prompt = recorded.strip(), prompt.strip()
    return recorded == prompt or recorded.startswith(f"{prompt}\n")


def session_id(out: str) -> str | None:
    """The session that oracle names in what it prints: after the answer, or else before it."""
    after = [match["id"] for match in _COST_LINE.finditer(out)]
    before = _SESSION_LINE.search(out)
    return after[-1] if after else (before["id"] if before else None)


def answer_in_log(log: str) -> str | None:
    """The answer in oracle's own log of a session, for when its file cannot be read."""
    _, mark, rest = log.partition("\nAnswer:\n")
    ends = [match.start() for match in _COST_LINE.finditer(rest)]
    if not mark or not ends:
        return None
    answer = rest[: ends[-1]].strip("\n")
    return f"{answer}\n" if answer.strip() not in {"", _NO_TEXT} else None
