"""A run's result as data."""

from oraclepack.app.run.command import RunResult
from oraclepack.app.run.opening import Found
from oraclepack.core.plan import Plan, PlannedStep
from oraclepack.core.run_report import CompletionTold, RunTold, StepTold
from oraclepack.journal.run_dir import log_names
from oraclepack.journal.run_state import RunState
from oraclepack.pack.model import PRELUDE
from oraclepack.run.policy import Completion, RunReply, completion, reply


def told(result: RunResult) -> RunTold:
    return _told(
        result.found, result.plan, result.state, result.told, result.completion, dry_run=False
    )


def told_plan(found: Found, plan: Plan) -> RunTold:
    """What would be done, told in the same shape."""
    answer = reply(plan, found.state)
    return _told(found, plan, found.state, answer, completion(plan, found.state), dry_run=True)


def _told(
    found: Found,
    plan: Plan,
    state: RunState,
    answer: RunReply,
    figures: Completion,
    *,
    dry_run: bool,
) -> RunTold:
    failed_prelude = state.prelude_error is not None
    logs = log_names(PRELUDE, state.prelude_attempts) if failed_prelude else (None, None)
    return RunTold(
        run_id=found.run.run_id,
        run_dir=found.run.relative,
        continued=not found.is_new,
        reason=found.reason,
        status=state.status,
        completed_steps=answer.completed_steps,
        done_steps=answer.done_steps,
        failed_step=answer.failed_step,
        failed_steps=answer.failed_steps,
        interrupted_steps=answer.interrupted_steps,
        held_steps=answer.held_steps,
        prelude_error=state.prelude_error.message if state.prelude_error else None,
        prelude_stdout_log=logs[0],
        prelude_stderr_log=logs[1],
        skipped_steps=answer.skipped_steps,
        resume_from=answer.resume_from,
        rollback_status=answer.rollback_status,
        rollback_error=answer.rollback_error,
        completion=CompletionTold(
            ok=figures.ok,
            to_run=figures.to_run,
            figure=round(figures.figure, 4),
            required=figures.required,
            self_skipped=figures.self_skipped,
        ),
        steps=tuple(_step(step, state) for step in plan.steps),
        dry_run=dry_run,
        output_failures=answer.output_failures,
        rolled_back_steps=answer.rolled_back_steps,
        not_taken_back=answer.not_taken_back,
    )


def _step(step: PlannedStep, state: RunState) -> StepTold:
    now = state.step(step.step_id)
    change = now.change if now.change and now.change.attempt == now.attempts else None
    return StepTold(
        step_id=step.step_id,
        decision=step.decision,
        reason=step.reason,
        status=now.word,
        attempts=now.attempts,
        duration_ms=now.duration_ms,
        error=now.error.code if now.error else None,
        message=now.error.message if now.error else None,
        transient=now.error.transient if now.error else None,
        retry_after=now.error.known_wait if now.error else None,
        stdout_log=now.stdout_log,
        stderr_log=now.stderr_log,
        changed_files=change.files if change else (),
        patch=change.patch if change else None,
    )
