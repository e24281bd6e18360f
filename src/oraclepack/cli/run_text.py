"""The last word of a run, for people."""

from pathlib import Path

from oraclepack.adapters.logs import last_lines
from oraclepack.cli.events import seconds
from oraclepack.cli.reply import Styled
from oraclepack.cli.tables import columns
from oraclepack.core.result import RollbackStatus
from oraclepack.core.run_report import RunTold, StepTold

_TAIL = 10


def plan_text(told: RunTold) -> str:
    """What would be done with every step, and why."""
    head = f"run {told.run_id} ({'continued' if told.continued else 'new'}: {told.reason})\n\n"
    rows = [(step.step_id, step.decision, step.status, step.reason) for step in told.steps]
    return head + columns(("step", "decision", "status", "reason"), rows)


def run_text(told: RunTold, root: Path, pack: str) -> tuple[str | Styled, ...]:
    """How it went, and if not well: the end of the log, and the command that continues."""
    pieces: list[str | Styled] = []
    failed = next((step for step in told.steps if step.step_id == told.failed_step), None)
    if failed is not None:
        pieces += _failure(failed, root / told.run_dir)
    elif told.failed_step is not None:
        pieces += [Styled("failed", "red"), f": the {told.failed_step}\n"]
    pieces += _summary(told)
    if told.rollback_status != RollbackStatus.NOT_ATTEMPTED:
        told_error = f": {told.rollback_error}" if told.rollback_error else ""
        pieces.append(f"rollback {told.rollback_status}{told_error}\n")
    pieces.append(f"run directory: {told.run_dir}\n")
    if told.resume_from is not None:
        pieces.append(f"to continue: oraclepack run {pack}\n")
    return tuple(pieces)


def _failure(step: StepTold, run_dir: Path) -> list[str | Styled]:
    pieces: list[str | Styled] = [
        Styled(f"step {step.step_id} failed", "red"),
        f" ({step.error}): {step.message}\n",
    ]
    for name in (step.stderr_log, step.stdout_log):
        lines = last_lines(run_dir / name, _TAIL) if name else ()
        if lines:
            pieces.append(f"the end of {name}:\n")
            pieces += [Styled(f"  | {line}\n", "dim") for line in lines]
            break
    return pieces


def _summary(told: RunTold) -> list[str | Styled]:
    counts = [
        (len(told.completed_steps), "ok"),
        (len(told.done_steps), "done before"),
        (len(told.skipped_steps), "skipped"),
        (len(told.failed_steps), "failed"),
    ]
    spent = sum(s.duration_ms or 0 for s in told.steps if s.step_id in told.completed_steps)
    said = ", ".join(f"{count} {word}" for count, word in counts if count) or "nothing to do"
    took = f" ({seconds(spent)} of work)" if told.completed_steps else ""
    return [f"{said}{took}\n"]
