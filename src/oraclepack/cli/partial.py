"""The answer of a command that wrote only some of its files."""

from oraclepack.cli.reply import Reply
from oraclepack.core.envelope import Failure
from oraclepack.errors import ExitCode
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.transaction import Carried

_TOLD = {
    RollbackStatus.NOT_ATTEMPTED: "what was written before is kept",
    RollbackStatus.COMPLETED: "everything is as it was before",
    RollbackStatus.FAILED: "not everything could be taken back",
}


def partial_failure(data: Carried, what: str, warnings: tuple[str, ...] = ()) -> Reply:
    """Exit code 3, with what became of the rollback."""
    told = _TOLD.get(data.rollback_status, "")
    back = set(data.rolled_back_steps)
    lines = [f"{step}: {'taken back' if step in back else 'done'}" for step in data.completed_steps]
    lines += [f"{data.failed_step}: failed"]
    lines += [f"{step}: not begun" for step in data.skipped_steps]
    lines += [f"set aside: {path}" for path in data.quarantined]
    lines += [f"not taken back: {path}" for path in data.not_taken_back]
    failure = Failure(
        "PARTIAL_FAILURE",
        f"{what}: {data.error}; {told}",
        detail=data.rollback_error or "",
        # What a rollback could not take back somebody has to look at first.
        retryable=data.retryable and data.rollback_status is not RollbackStatus.FAILED,
        phase=data.failed_step or "work",
        suggestion=data.suggestion or "mend the cause, then give the same command again",
    )
    text = "".join(f"{line}\n" for line in lines)
    said = warnings + rollback_notice(data)
    return Reply(data, text, ExitCode.STEP_FAILED, warnings=said, error=failure)


def rollback_notice(data: Carried) -> tuple[str, ...]:
    """A warning where the command began by finishing an earlier rollback."""
    if not data.finished_rollback:
        return ()
    return ("the rollback of the last command had failed; now it is completed",)
