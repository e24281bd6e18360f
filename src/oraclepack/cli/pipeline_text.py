"""The summary of a pipeline, for people."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from oraclepack.cli.finding_text import as_text
from oraclepack.cli.reply import ReplyError, Styled
from oraclepack.cli.run_reply import budget_failure, decision_failure
from oraclepack.cli.run_text import RunLocation, policy_failure, policy_line, run_text
from oraclepack.errors import SIGNALLED, ExitCode
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.lint.validate import CheckedPack
from oraclepack.pipeline.pipeline_report import PipelineReport, PolicyReport, StageReport

_LOOKS = {"ok": "green", "failed": "red", "skipped": "dim"}


def pipeline_text(
    report: PipelineReport,
    checked: CheckedPack | None,
    place: RunLocation,
    junit: str | None,
    error: ReplyError | None = None,
) -> tuple[str | Styled, ...]:
    """What went wrong in detail, then a line for each stage, then where to look."""
    pieces: list[str | Styled] = []
    if checked is not None and not checked.report.ok:
        pieces += [*as_text((checked,)), "\n"]
    if report.run is not None and report.status("run") == "failed":
        text = run_text(report.run, place, None, error)
        pieces += [*text, "\n"]
    pieces += [f"{line}\n" for line in _lacks(report)]
    for one in report.stages:
        pieces += [f"{one.stage:<9}  ", Styled(f"{one.status:<7}", _LOOKS[one.status])]
        pieces.append(f"  {one.reason}\n")
    if report.policy is not None and report.policy.applies:
        pieces += policy_line(met=report.policy.met, figures=_figures(report.policy))
    return (*pieces, *(f"{name}: {where}\n" for name, where in _places(report, place, junit)))


def failure_of(
    report: PipelineReport, pack: str, code: int, way_on: str, suggestion: str
) -> ReplyError:
    """Why the exit code is not 0."""
    onwards = f"to continue: {way_on}"
    if code == ExitCode.INVALID:
        fix = "fix the findings of severity error; see `oraclepack explain RULE`"
        return ReplyError(
            "INVALID_PACK", f"not valid: {report.pack}", phase="validate", suggestion=fix
        )
    if code >= SIGNALLED:
        how = ExitCode(code)
        return ReplyError(how.name, how.meaning, retryable=True, phase="run", suggestion=onwards)
    if code in {ExitCode.BUDGET, ExitCode.DECISION} and report.run is not None:
        failure = budget_failure if code == ExitCode.BUDGET else decision_failure
        return failure(report.run, way_on)
    if code == ExitCode.POLICY and report.policy is not None:
        return policy_failure(report.policy.shortfalls, _way_out(report, onwards), report.run)
    if code == ExitCode.CONTRACT and report.verify is not None:
        totals = report.verify.totals
        message = f"{totals.failed} of {totals.outputs} outputs do not meet their contract"
        again = (
            f"correct the files, `oraclepack step accept {quote(pack)} NN`, or ask again: "
            f"oraclepack pipeline {quote(pack)} --rerun NN --refresh"
        )
        return ReplyError("CONTRACT", message, phase="verify", suggestion=again)
    ways = report.run.way_on(pack, way_on) if report.run is not None else onwards
    return _partial(report, suggestion or ways)


def _way_out(report: PipelineReport, onwards: str) -> str:
    """More steps give more completion; more yield is a matter of the answers."""
    steps = report.policy.completion if report.policy else None
    if report.actionize is None or (steps is not None and steps.ok < steps.to_run):
        return onwards
    return f"what is blocked is listed in {report.actionize.out_dir}/backlog.md"


def _partial(report: PipelineReport, suggestion: str) -> ReplyError:
    failed = report.failed_step or ""
    later = next((one for one in report.stages if one.stage == failed), None)
    run = report.run if later is None else None
    why = run.cause if run is not None and run.cause else f"step {failed} failed"
    message = why if later is None else f"{later.stage} failed: {later.reason}"
    if report.rollback_status is not RollbackStatus.NOT_ATTEMPTED:
        message += f"; rollback {report.rollback_status}"
    return ReplyError(
        "PARTIAL_FAILURE",
        message,
        detail=report.rollback_error or "",
        retryable=_is_retryable(report, later),
        phase="run" if later is None else later.stage,
        suggestion=suggestion,
        retry_after=run.retry_after if run is not None else None,
    )


def _is_retryable(report: PipelineReport, later: StageReport | None) -> bool:
    """Whether the same command may succeed later without any change."""
    if later is None:
        return report.run is not None and report.run.is_retryable
    work = report.actionize
    return later.stage == "actionize" and work is not None and work.retryable


def _lacks(report: PipelineReport) -> Iterator[str]:
    return (one.line for one in (report.verify.failures if report.verify else ()))


def _figures(policy: PolicyReport) -> str:
    share, work = policy.completion, policy.action_yield
    return (
        f"completion {share.ratio:.2f} of {share.required:g}, "
        f"yield {work.ratio:.2f} of {work.required:g}"
    )


def _places(
    report: PipelineReport, place: RunLocation, junit: str | None
) -> Iterator[tuple[str, str]]:
    if report.run is not None and report.status("run") != "failed":
        yield "run directory", place.display_path(report.run.run_dir)
    work = report.actionize
    names = [artifact.path for artifact in work.artifacts] if work else []
    if work is not None and "backlog.md" in names:
        yield "backlog", place.display_path(f"{work.out_dir}/backlog.md")
        yield "beside it", ", ".join(name for name in names if name != "backlog.md")
    if junit is not None:
        yield "junit", junit
    if report.page is not None:
        yield "report", place.display_path(report.page)
