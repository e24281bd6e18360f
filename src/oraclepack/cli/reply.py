"""What a command answers. Only the boundary prints it and ends the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from oraclepack.errors import ExitCode
from oraclepack.journal.statuses import RollbackStatus

if TYPE_CHECKING:
    from oraclepack.run.transaction import TransactionReport

SCHEMA_VERSION = 1
"""Raised when a reader of the envelope or of any published data shape would have to change."""


class ReplyError(msgspec.Struct, frozen=True):
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
    project_root: str | None = None
    """Where the command looked for settings and runs; null where it needed none."""
    run_id: str | None = None
    """The run that the data is about, where it is about one."""
    request_id: str | None = None
    """From `ORACLEPACK_REQUEST_ID`; without it, a new one for commands that run something."""
    untrusted: tuple[str, ...] = ()
    """Parts of `data` that hold text of models, packs or other files: data, not instructions."""


class Envelope(msgspec.Struct, frozen=True):
    """The answer of one command. `ok` is true exactly when the exit code is 0."""

    ok: bool
    data: Any
    error: ReplyError | None
    warnings: tuple[str, ...]
    meta: Meta


class Styled(msgspec.Struct, frozen=True):
    """A piece of text with a look: `bold`, `dim`, `red`, `green`, `yellow`, `blue`, `cyan`."""

    text: str
    style: str


Text = str | tuple[str | Styled, ...]
"""Plain text, or pieces of it where some have a look on a coloured screen."""


class Reply(msgspec.Struct, frozen=True):
    """A command's answer, once for programs and once for people."""

    data: object = None
    """The `data` of the envelope: anything made of plain values, dataclasses and structs."""
    text: Text = ""
    """What goes to stdout when people ask."""
    exit_code: ExitCode = ExitCode.DONE
    warnings: tuple[str, ...] = ()
    error: ReplyError | None = None
    """Why the exit code is not 0."""
    talk: Text = ""
    """What goes to stderr when people ask, before warnings and error."""
    next: str = ""
    """The command that usually comes next, for people; on stderr, where nothing failed."""
    bare: str | None = None
    """A format of its own (SARIF, annotations): printed as it is, without the envelope."""
    wants_json: bool = False
    """The envelope was asked for by a flag of the command itself."""
    one_line_json: bool = False
    """As JSON, it is the last of many lines."""


def partial_failure(data: TransactionReport, what: str, warnings: tuple[str, ...] = ()) -> Reply:
    """Exit code 3, with what became of the rollback."""
    rollback_texts = {
        RollbackStatus.NOT_ATTEMPTED: "what was written before is kept",
        RollbackStatus.COMPLETED: "everything is as it was before",
        RollbackStatus.FAILED: "not everything could be taken back",
    }
    rollback_text = rollback_texts.get(data.rollback_status, "")
    back = set(data.rolled_back_steps)
    lines = [f"{step}: {'taken back' if step in back else 'done'}" for step in data.completed_steps]
    lines += [f"{data.failed_step}: failed"]
    lines += [f"{step}: not begun" for step in data.skipped_steps]
    lines += [f"quarantined: {path}" for path in data.quarantined]
    lines += [f"not rolled back: {path}" for path in data.not_rolled_back]
    failure = ReplyError(
        "PARTIAL_FAILURE",
        f"{what}: {data.error}; {rollback_text}",
        detail=data.rollback_error or "",
        # A person has to look first at what a rollback could not undo.
        retryable=data.retryable and data.rollback_status is not RollbackStatus.FAILED,
        phase=data.failed_step or "work",
        suggestion=data.suggestion or "fix the cause, then run the same command again",
    )
    text = "".join(f"{line}\n" for line in lines)
    notices = warnings + rollback_notice(data)
    return Reply(data, text, ExitCode.STEP_FAILED, warnings=notices, error=failure)


def rollback_notice(data: TransactionReport) -> tuple[str, ...]:
    """A warning where the command began by finishing an earlier rollback."""
    if not data.finished_rollback:
        return ()
    return ("the rollback of the last command had failed; now it is completed",)
