"""What became of the files that a command set out to write, and of taking them back."""

import msgspec

from oraclepack.journal.statuses import RollbackStatus


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command that writes several files under names of its own for each."""

    completed_steps: tuple[str, ...] = ()
    """The steps that this command completed, in their order, also those that a rollback took back.

    The same in all commands that can roll back: what is left of them is what `rolled_back_steps`
    does not name. What earlier commands did is never among them.
    """
    failed_step: str | None = None
    skipped_steps: tuple[str, ...] = ()
    """What was still to be done when one failed."""
    resume_from: str | None = None
    """Where the same command begins: the first step whose file is not in place."""
    error: str | None = None
    retryable: bool = False
    """What failed may succeed later without any change: a full disk, a file in use."""
    suggestion: str = ""
    rollback_status: RollbackStatus = RollbackStatus.NOT_ATTEMPTED
    rollback_error: str | None = None
    rolled_back_steps: tuple[str, ...] = ()
    """Those of the completed steps of which a rollback took back files."""
    not_taken_back: tuple[str, ...] = ()
    """The files that a failed rollback left as they were."""
    finished_rollback: bool = False
    """Before it began, the command finished the rollback that an earlier one could not."""
    quarantined: tuple[str, ...] = ()
    """Where the files went that a rollback took away, relative to the project root."""

    @property
    def standing(self) -> tuple[str, ...]:
        """The completed steps whose files are in place."""
        return tuple(one for one in self.completed_steps if one not in self.rolled_back_steps)

    @property
    def ok(self) -> bool:
        return self.failed_step is None
