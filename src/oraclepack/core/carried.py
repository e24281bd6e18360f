"""What became of the files that a command set out to write, and of taking them back."""

import msgspec

from oraclepack.core.result import RollbackStatus


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command that writes several files under names of its own for each."""

    completed_steps: tuple[str, ...] = ()
    failed_step: str | None = None
    skipped_steps: tuple[str, ...] = ()
    """What was still to be done when one failed."""
    resume_from: str | None = None
    """Where the same command would have to begin; everything of it again after a rollback."""
    error: str | None = None
    retryable: bool = False
    """What failed may succeed later without any change: a full disk, a file in use."""
    suggestion: str = ""
    rollback_status: RollbackStatus = RollbackStatus.NOT_ATTEMPTED
    rollback_error: str | None = None
    quarantined: tuple[str, ...] = ()
    """Where the files went that a rollback took away, relative to the project root."""

    @property
    def ok(self) -> bool:
        return self.failed_step is None
