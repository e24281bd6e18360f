"""One step, from the plan to its place in the journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from signal import Signals
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oraclepack.answers.verification import describe_failure
from oraclepack.calls.server import ArrivedCall
from oraclepack.errors import SIGNALLED, StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import attempt_name, log_names
from oraclepack.journal.statuses import (
    AWAITED,
    BATCH_PENDING,
    BUDGET,
    INTERRUPTED,
    Status,
    Verification,
    Wait,
)
from oraclepack.pack.model import Step
from oraclepack.pack.tree_policy import TreePolicy, TreePolicyResult, policy_of
from oraclepack.run.planning.plan import PlannedStep
from oraclepack.run.step_outputs import StepOutputs, attached_hashes
from oraclepack.run.tree_guard import watched_tree
from oraclepack.run.unseen_calls import ALLOWED, ESCAPED, describe_unseen, unseen_calls
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import STRICT
from oraclepack.shell.attempt import (
    Attempt,
    AttemptCallbacks,
    AttemptEnd,
    AttemptOutcome,
    ProcessIdentity,
    StopLevel,
)
from oraclepack.shell.bash import run_attempt
from oraclepack.shell.logs import last_lines, skip_line
from oraclepack.shell.stop import Stop
from oraclepack.system import git
from oraclepack.tools.oracle_failures import last_words

if TYPE_CHECKING:
    from oraclepack.run.run import Run

_GOES_ON = "a question it asked goes on without it; the run ends after the answer"


@contextmanager
def intercepted(run: Run, attempt: Attempt, stop: Stop | None = None) -> Iterator[Attempt]:
    """The attempt with our shims first on its PATH, for as long as it runs.

    `stop` is that of its step, where it has one.
    """
    gateway = run.gateway
    guarded = replace(
        attempt,
        env=gateway.shims.environment(attempt.env),
        first_on_path=str(gateway.shims.path),
    )
    gateway.attempts.expect(guarded, stop)
    try:
        yield guarded
        is_stopped = (stop or run.stop).level is not StopLevel.NONE
        if not is_stopped and gateway.attempts.asking(guarded):
            warning = j.WarningRecorded(step=attempt.step, code=Wait.EARLIER_CALL, message=_GOES_ON)
            run.record.append(warning)
    finally:
        gateway.attempts.forget(guarded)


def with_calls(run: Run, attempt: Attempt, callbacks: AttemptCallbacks) -> AttemptCallbacks:
    """The callbacks of an attempt whose calls are not to be cut off."""
    attempts = run.gateway.attempts

    def announce() -> None:
        if run.stop.level is not StopLevel.NONE:
            if attempts.is_unannounced():
                run.record.append(j.CallsAwaited(calls=attempts.asking()))
        elif attempts.is_unannounced(attempt):
            run.record.append(j.CallsAwaited(calls=attempts.asking(attempt), step=attempt.step))

    return replace(
        callbacks,
        is_answered=partial(attempts.await_answers, attempt),
        asking=partial(attempts.asking, attempt),
        on_ending=partial(attempts.end_calls, attempt),
        on_stop_waits=announce,
    )


_UNFINISHED = frozenset({Status.FAILED, Status.PENDING})
"""The outcomes of an attempt after which the step is still to be done."""
_REASON_LINES = 400
"""The end of a log in which the reason of a failure is looked for: a stack trace is long."""
_UNMET = frozenset({"CONTRACT", "EMPTY_ANSWER", "NO_OUTPUT"})
"""Codes of calls whose answer is not what the step promised."""


def run_step(run: Run, planned: PlannedStep) -> Status:
    """Run a step once; everything about it is in the journal when this returns."""
    step = run.pack.step(planned.step_id)
    assert step is not None
    attached = attached_hashes(run, step)
    attempt = _attempt(run, step)
    outputs = StepOutputs(run, step, attempt.number)
    if run.state.step(step.id).status is Status.RUNNING:
        outputs.restore_removed()  # it was killed
    outputs.quarantine_earlier()
    outputs.back_up()
    stdout, stderr = log_names(step.id, attempt.number)
    run.record.append(
        j.StepStarted(
            step=step.id,
            attempt=attempt.number,
            command_hash=planned.command_hash,
            reason=planned.reason,
            stdout_log=stdout,
            stderr_log=stderr,
            token=attempt.token,
        )
    )
    tree = watched_tree(run, step, attempt.number, policy_of(step))
    with (
        run.control.step_stop(step.id) as stop,
        tree as watched,
        intercepted(run, attempt, stop) as guarded,
    ):
        outcome = run_attempt(guarded, stop, _watch(run, attempt), run.clock)
        stopped = stop.level is not StopLevel.NONE
        seen = run.gateway.attempts.arrived(attempt)
    attached |= run.calls.attached(step.id, attempt.number)
    outputs.record(succeeded=outcome.ok)
    end = j.StepFinished(
        step=step.id,
        attempt=attempt.number,
        status=Status.OK,
        exit_code=outcome.exit_code,
        duration_ms=round(outcome.duration * 1000),
        attached=attached,
    )
    end = _judged(end, run, outputs, attempt, outcome, stopped=stopped)
    end = _with_tree(end, run, watched)
    if end.status is not Status.SKIPPED:
        end = _with_unseen(end, run, step, outputs, seen)
    _record_leftovers(run, step, outcome)
    if end.status in _UNFINISHED:
        outputs.restore_removed()
    run.record.append(end)
    _record_head(run, step.id)
    return end.status


def _record_head(run: Run, step_id: str) -> None:
    """The commit of a step becomes one of the run's, so that the run still fits the repository."""
    sha = git.head_commit(run.root)
    if sha is None and run.state.heads:
        sha = git.work_tree_state(run.root, run.environment).sha
    if sha is not None and sha not in run.state.heads:
        run.record.append(j.HeadRecorded(sha=sha, step=step_id))


def _with_tree(end: j.StepFinished, run: Run, watched: TreePolicyResult) -> j.StepFinished:
    """A step that touched what is not its own has failed, where its policy is strict."""
    strict = run.settings[STRICT] or watched.policy is TreePolicy.OWNED
    if end.status in _UNFINISHED or not watched.strange or not strict:
        return end
    return _failed(end, StepError(code="TREE_CHANGED", message=watched.message))


def _failed(end: j.StepFinished, error: StepError) -> j.StepFinished:
    return replace(end, status=Status.FAILED, error=error, skip_reason=None)


def _with_unseen(
    end: j.StepFinished,
    run: Run,
    step: Step,
    outputs: StepOutputs,
    seen: tuple[ArrivedCall, ...],
) -> j.StepFinished:
    """A step whose calls did not all reach us has failed, unless the user allows that."""
    prelude = run.pack.prelude
    unseen = unseen_calls(
        step,
        [(call.tool, call.argv) for call in seen],
        new := outputs.new(),
        prelude.script if prelude else None,
        succeeded=end.status is Status.OK,
    )
    if not unseen:
        return end
    message = describe_unseen(unseen, new)
    if end.status is not Status.OK or run.settings[rs.ALLOW_UNSEEN_CALLS]:
        run.warn(message, "escaped", step.id)
        return end
    return _failed(end, StepError(code=ESCAPED, message=f"{message}; {ALLOWED}"))


def _attempt(run: Run, step: Step) -> Attempt:
    number = run.state.step(step.id).attempts + 1
    while attempt_name(step.id, number) in run.attempts_before:
        number += 1  # a crash may have kept a file and lost its event
    folder, (stdout, stderr) = run.dir.place, log_names(step.id, number)
    return Attempt(
        step=step.id,
        number=number,
        code=step.code,
        cwd=str(run.root),
        env=run.environment,
        stdout_log=f"{folder}/{stdout}",
        stderr_log=f"{folder}/{stderr}",
        token=run.token(step.id, number),
        restore=str(run.snapshot) if run.snapshot else None,
        login=run.settings[rs.LOGIN] != "once",
        step_timeout=run.settings[rs.STEP_TIMEOUT] or None,
        idle_timeout=run.settings[rs.IDLE_TIMEOUT] or None,
    )


def _watch(run: Run, attempt: Attempt) -> AttemptCallbacks:
    def started(process: ProcessIdentity) -> None:
        run.record.append(
            j.StepSpawned(
                step=attempt.step,
                attempt=attempt.number,
                process=process,
            )
        )
        run.record.sync()  # the shell is at work meanwhile

    def idle(seconds: float) -> None:
        message = f"no output for {seconds:.0f} s; it may be thinking"
        run.warn(message, "idle", attempt.step)

    return with_calls(run, attempt, AttemptCallbacks(on_started=started, on_idle=idle))


def _judged(
    end: j.StepFinished,
    run: Run,
    outputs: StepOutputs,
    attempt: Attempt,
    outcome: AttemptOutcome,
    *,
    stopped: bool,
) -> j.StepFinished:
    """The end of an attempt with what became of it."""
    failure = _failure(run, outputs, attempt, outcome)
    refused = _not_done(outputs, attempt)
    if refused is not None and (failure is None or failure.code != INTERRUPTED):
        # Nothing is wrong with it, and what it paid for is kept: the next command runs it again.
        return replace(end, status=Status.PENDING, error=refused)
    if failure is not None:
        # What a call missed is counted over many runs, like what the step itself finds missing.
        unmet = failure.code in _UNMET and run.settings[rs.OUTPUT_VERIFY]
        verified = outputs.verify() if unmet else None
        if verified is not None and failure.code == "CONTRACT" and verified.failures:
            failure = replace(failure, message=_lacks(verified))
        # Stopped, not failed: the next command runs it as one that is still to be done.
        is_pending = failure.code == INTERRUPTED and stopped
        status = Status.PENDING if is_pending else Status.FAILED
        return replace(end, status=status, error=failure, verification=verified)
    if not outputs.new():
        skipped = skip_line(attempt.stdout_log)
        if skipped is not None:
            return replace(end, status=Status.SKIPPED, skip_reason=skipped)
    if not run.settings[rs.OUTPUT_VERIFY]:
        return end
    verification = outputs.verify()
    for doubt in verification.doubts:
        message = f"{doubt.path}:{doubt.line} needs a look: {doubt.message}"
        run.warn(message, "doubtful", attempt.step)
    end = replace(end, verification=verification)
    if verification.passed:
        return end
    return _failed(end, _unmet(outputs, verification, _failed_calls(outputs, attempt)))


def _failure(
    run: Run, outputs: StepOutputs, attempt: Attempt, outcome: AttemptOutcome
) -> StepError | None:
    ended = _ended_early(attempt, outcome)
    if ended is not None or outcome.exit_code == 0:
        return ended
    for call in _failed_calls(outputs, attempt):
        if (call.exit_code or 1) == outcome.exit_code:
            return call.error
    code, name = outcome.exit_code or 0, ""
    with suppress(ValueError):  # which signal it stands for, by the convention of shells
        name = f" ({Signals(code - SIGNALLED).name})"
    message = f"exit code {outcome.exit_code}{name}"
    log = run.dir.path / log_names(attempt.step, attempt.number)[1]
    reason = last_words("\n".join(last_lines(log, _REASON_LINES)))
    return StepError(code="EXIT_CODE", message=f"{message}: {reason}" if reason else message)


def _ended_early(attempt: Attempt, outcome: AttemptOutcome) -> StepError | None:
    """Why the shell did not end by itself; None where it did."""
    match outcome.reason:
        case AttemptEnd.STOPPED:
            return StepError(code=INTERRUPTED, message="stopped before its end", transient=True)
        case AttemptEnd.TIMEOUT:
            limit = attempt.step_timeout or 0.0
            message = f"stopped after {limit:g} s, its --step-timeout"
            return StepError(code="STEP_TIMEOUT", message=message, transient=True)
        case AttemptEnd.FLOODED:
            message = f"stopped: it printed more than {attempt.log_limit} bytes; see its log"
            return StepError(code="LOG_LIMIT", message=message)
        case AttemptEnd.SPAWN_FAILED | AttemptEnd.INCOMPLETE:
            return StepError(code="SPAWN_FAILED", message=outcome.message)
        case _:
            return None


def _not_done(outputs: StepOutputs, attempt: Attempt) -> StepError | None:
    """The call that did not fit the budget, or whose answer its provider still computes.

    Unless its question was answered in the end.

    A step may continue after it, but without the answer it is not done.
    """
    outcomes = outputs.state.outcomes(attempt.number)
    answered = {outcome.output_path for outcome in outcomes if outcome.ok}
    for outcome in outcomes:
        error = outcome.error
        is_answered = outcome.output_path in answered
        if error is not None and error.code in {AWAITED, BATCH_PENDING, BUDGET} and not is_answered:
            return error
    return None


def _failed_calls(outputs: StepOutputs, attempt: Attempt) -> list[j.InvocationOutcome]:
    """The calls of the attempt that failed, the last one first: most likely the step's reason."""
    outcomes = outputs.state.outcomes(attempt.number)
    return [outcome for outcome in outcomes if outcome.error is not None]


def _unmet(
    outputs: StepOutputs, verification: Verification, calls: list[j.InvocationOutcome]
) -> StepError:
    unreadable = [failure for failure in verification.failures if failure.io_error]
    if unreadable:
        missing = {outputs.place_of(failure.path) for failure in unreadable}
        for call in calls:
            if call.output_path in missing and call.error is not None:
                return call.error
        listed = ", ".join(f"{failure.path} ({failure.io_error})" for failure in unreadable)
        return StepError(
            code="OUTPUT_MISSING", message=f"it ended well but left no answer: {listed}"
        )
    if not verification.failures:
        listed = "; ".join(f"{doubt.path}: {doubt.message}" for doubt in verification.doubts)
        return StepError(code="OUTPUT_DOUBTFUL", message=listed)
    return StepError(code="OUTPUT_CONTRACT", message=_lacks(verification))


def _lacks(verification: Verification) -> str:
    """Each file that failed its check, with what it lacks."""
    return "; ".join(
        f"{one.path}: {describe_failure(one.io_error, one.missing_sections, one.reason)}"
        for one in verification.failures
    )


def _record_leftovers(run: Run, step: Step, outcome: AttemptOutcome) -> None:
    for warning in outcome.warnings:
        run.warn(warning, step=step.id)
    if outcome.orphans:
        names = ", ".join(f"{orphan.command} ({orphan.pid})" for orphan in outcome.orphans)
        message = f"processes outlived the step and were ended: {names}"
        run.warn(message, "orphans", step.id)
