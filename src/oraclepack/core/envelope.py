"""The one shape in which every command answers a program."""

from typing import Any

import msgspec

SCHEMA_VERSION = 1
"""Raised when a reader of the envelope or of any published data shape would have to change."""


class Failure(msgspec.Struct, frozen=True):
    """Why a command did not do what it was asked."""

    code: str
    """A stable word in capitals, for programs."""
    message: str
    detail: str = ""
    retryable: bool = False
    """The same command may succeed later without any change."""
    phase: str = "work"
    """How far it came: `arguments`, `settings`, `work` or `internal`, or a stage of a command."""
    suggestion: str = ""
    """What to do about it."""
    retry_after: float | None = None
    """Seconds to wait before that, as a provider says, or between tries of a locked run."""


class Meta(msgspec.Struct, frozen=True):
    """What an envelope says about itself."""

    command: str
    duration_ms: int
    oraclepack_version: str
    schema_version: int = SCHEMA_VERSION


class Envelope(msgspec.Struct, frozen=True):
    """The answer of one command. `ok` is true exactly when the exit code is 0."""

    ok: bool
    data: Any
    error: Failure | None
    warnings: tuple[str, ...]
    meta: Meta


def reported_ms(elapsed_ns: int, *, timed: bool) -> int:
    """The duration an envelope reports.

    A command that runs nothing gives the same bytes for the same input, so it tells no time.
    """
    return elapsed_ns // 1_000_000 if timed else 0
