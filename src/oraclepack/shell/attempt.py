"""One attempt to run a step (or the prelude) in bash, and its outcome."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Protocol

import msgspec

from oraclepack.system.machine import Machine


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Identifies a process so that a later one with the same number is not mistaken for it.

    A process id alone is reused by the kernel; together with the start time it is unique until the
    machine boots again, and then nothing of the process is left anyway.
    """

    pid: int
    pgid: int | None = None
    start_time: str | None = None
    """Opaque; empty where the system does not report it."""
    token: str | None = None
    """The mark in its environment by which its descendants are known."""
    machine: Machine | None = None
    """Where its number is valid; None in records of 0.1.0."""


class Grace(msgspec.Struct, frozen=True):
    """How long a process may take to obey each signal, in seconds, before the next one follows."""

    interrupt: float = 5.0
    terminate: float = 5.0
    linger: float = 0.5
    """How long a background process may outlive a step that ended by itself: `> >(tee log)`."""
    orphan: float = 1.0
    """How long a process that outlives its step may take to obey each signal."""
    finish: float = 2.0
    """How long a stopped step may go on after the last call that it was left to finish."""


class Attempt(msgspec.Struct, frozen=True):
    """Everything bash needs to run one body of code once. Paths are absolute."""

    step: str
    """The step's id, or `prelude`."""
    number: int
    """Counts from 1; part of the log names."""
    code: str
    """The text to run, of any length; bytes that are no UTF-8 as surrogate escapes."""
    cwd: str
    env: Mapping[str, str]
    """The whole environment; nothing else is inherited. The token is added to it."""
    stdout_log: str
    stderr_log: str
    token: str
    """Unique to this attempt on this machine: letters, digits, dots and dashes."""
    restore: str | None = None
    """The snapshot to restore before the body runs."""
    capture: str | None = None
    """Where to leave a snapshot of what the body changed (the prelude has one, a step has not)."""
    login: bool = True
    """Source the login profile. False where `restore` already holds what the profile did."""
    first_on_path: str | None = None
    """A directory that is first on PATH when the body starts, whatever profile and prelude did."""
    step_timeout: float | None = None
    """Seconds until the attempt is stopped."""
    idle_timeout: float | None = None
    """Seconds without output until that is reported; the attempt continues."""
    log_limit: int = 1 << 30
    """Bytes of a log after which the attempt is stopped: an endless loop would fill the disk."""
    grace: Grace = msgspec.field(default_factory=Grace)


class AttemptEnd(StrEnum):
    """Why an attempt is over."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    FLOODED = "flooded"
    """A log grew beyond its limit."""
    SPAWN_FAILED = "spawn_failed"
    INCOMPLETE = "incomplete"
    """Only the prelude: it left its shell before its last line, so its state is not known."""


class Orphan(msgspec.Struct, frozen=True):
    """A process that outlived its step's shell, and how it was ended."""

    pid: int
    command: str
    """The program's name as the kernel knows it: arguments may hold secrets."""
    ended_by: str
    """The signal that did it: INT, TERM or KILL; empty when it survived even that."""


class AttemptOutcome(msgspec.Struct, frozen=True):
    """How an attempt ended. A failed step is a value like any other."""

    reason: AttemptEnd
    exit_code: int | None
    """As a shell reports it: 128 + n when signal n ended bash; None when nothing was started."""
    signal: int | None
    """The signal that ended bash itself, if one did."""
    started_at: datetime
    duration: float
    """Seconds by a clock that never goes back."""
    orphans: tuple[Orphan, ...] = ()
    warnings: tuple[str, ...] = ()
    message: str = ""
    """For people: why it could not be started, or how it was stopped."""

    @property
    def ok(self) -> bool:
        return self.reason is AttemptEnd.EXITED and self.exit_code == 0


class StopLevel(IntEnum):
    """How urgently running attempts are asked to end."""

    NONE = 0
    POLITE = 1
    """Nothing new starts. What may be paid for finishes; the rest gets INT, grace, TERM, grace,
    KILL."""
    AT_ONCE = 2
    """KILL, to what may be paid for as well."""


class StopSwitch(Protocol):
    """What threads share to stop attempts: requested by one, visible to all, never withdrawn."""

    @property
    def level(self) -> StopLevel: ...

    def ask(self, level: StopLevel) -> None: ...


class AttemptCallbacks(msgspec.Struct, frozen=True):
    """Callbacks of an attempt, called in the thread that runs it."""

    on_started: Callable[[ProcessIdentity], None] | None = None
    """Bash runs; the time to write it into the journal."""
    on_idle: Callable[[float], None] | None = None
    """No output for that many seconds (reported once each time)."""
    is_answered: Callable[[float], bool] | None = None
    """The shell has ended by itself: waits up to that many seconds for what must not be ended
    with it, and says whether that is over. Asked again until it is, or the attempt has to end."""
    asking: Callable[[], int] = lambda: 0
    """How many calls of the attempt are being asked that may be paid for."""
    on_ending: Callable[[], None] = lambda: None
    """What is left of the attempt is about to be ended: its shell, or what that left."""
    on_stop_waits: Callable[[], None] = lambda: None
    """The attempt is to stop, and still waits for such calls. Called at each look."""
    spared: Callable[[], frozenset[int]] = frozenset
    """Processes to leave alone at the end: detached workers with another owner."""
