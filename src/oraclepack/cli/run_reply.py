"""The answer of `run`: what was done or would be, for people and programs."""

from __future__ import annotations

from pathlib import Path

from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.run_text import (
    RunLocation,
    gitignore_lines,
    plan_text,
    policy_failure,
    run_text,
)
from oraclepack.cli.text import before_rerun
from oraclepack.errors import ExitCode
from oraclepack.run.run_report import PlanOutcome, RunOutcome, RunReport
from oraclepack.run.start_run import StartedRun
from oraclepack.system.printable import single_lines


def plan_reply(outcome: PlanOutcome) -> Reply:
    text = plan_text(single_lines(outcome.report))
    return Reply(outcome.report, text, warnings=outcome.warnings)


def started_reply(started: StartedRun) -> Reply:
    """A run that goes on by itself: one line of JSON for programs."""
    text = (
        f"run {started.name} goes on in the background, process {started.pid}\n"
        f"to watch it: oraclepack runs watch {started.name}\n"
        f"to stop it:  oraclepack runs stop {started.name}\n"
        f"console log: {started.console_log}\n"
    )
    return Reply(started, text, one_line_json=True)


def run_reply(outcome: RunOutcome, warnings: tuple[str, ...]) -> Reply:
    report, code, way_on = outcome.report, outcome.exit_code, outcome.continue_command
    place = RunLocation(outcome.root, Path.cwd(), outcome.pack.path)
    error = run_failure(outcome) if code else None
    return Reply(
        data=report,
        text=(
            *run_text(single_lines(report), place, None if code else way_on, error),
            *gitignore_lines(outcome.unignored),
        ),
        exit_code=code,
        warnings=warnings,
        error=error,
    )


def budget_failure(report: RunReport, command: str) -> ReplyError:
    """Why the exit code is 7: what is spent, reserved and left."""
    also = f"; {report.cause}" if report.cause else ""
    message = f"{report.budget_cause}{also}"
    way_on = f"to continue, once the limit has room for the call: {command}"
    return ReplyError("BUDGET", message, phase="run", suggestion=way_on)


def decision_failure(report: RunReport, command: str) -> ReplyError:
    """Why the exit code is 8: what is waited for, or how a person decides."""
    if report.awaited_cause is not None and report.cause is None:
        way_on = f"to go on waiting, without asking again: {command}"
        return ReplyError(
            "AWAITED", report.awaited_cause, retryable=True, phase="run", suggestion=way_on
        )
    ways = f"{command} --on-unknown retry asks again, and may pay a second time"
    message = report.cause or ExitCode.DECISION.meaning
    return ReplyError(ExitCode.DECISION.name, message, phase="run", suggestion=ways)


def run_failure(outcome: RunOutcome) -> ReplyError:
    """Why a run did not end with exit code 0."""
    return _failure(outcome)


def _failure(outcome: RunOutcome) -> ReplyError:
    report, code, command = outcome.report, outcome.exit_code, outcome.continue_command
    way_on = f"to continue: {command}"
    if code is ExitCode.POLICY:
        shortfall = report.completion.shortfall or code.meaning
        return policy_failure((shortfall,), way_on, report)
    if code is ExitCode.BUDGET:
        return budget_failure(report, command)
    if code is ExitCode.DECISION:
        return decision_failure(report, command)
    if code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}:
        return ReplyError(code.name, code.meaning, retryable=True, phase="run", suggestion=way_on)
    back = report.rollback_status
    rolled = "" if back == "not_attempted" else f"; rollback {back}"
    failed = [step for step in report.steps if step.step_id in report.failed_steps]
    changed = [step.step_id for step in failed if step.changed_files]
    way_on = report.way_on(outcome.pack.path, command)
    if changed and not rolled:
        way_on = f"step {changed[0]} changed files; {before_rerun(outcome.pack.path, changed[0])}"
    return ReplyError(
        "PARTIAL_FAILURE",
        f"{report.cause}{rolled}",
        detail=report.rollback_error or "",
        retryable=report.is_retryable,
        phase="run",
        suggestion=way_on,
        retry_after=report.retry_after,
    )
