"""The answer of `run`: what was done or would be, for people and programs."""

from pathlib import Path

from oraclepack.cli.continuing import continuing
from oraclepack.cli.picking import notices
from oraclepack.cli.policy_text import policy_failure
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_text import Place, plan_text, run_text
from oraclepack.core.envelope import Failure
from oraclepack.errors import ExitCode
from oraclepack.pipeline.pipeline_exports import tell_github
from oraclepack.run.open_run import Found
from oraclepack.run.planning.plan import Plan
from oraclepack.run.run_pack import RunRequest, RunResult
from oraclepack.run.run_report import RunTold, told, told_plan
from oraclepack.system.printable import single_lines


def plan_reply(found: Found, plan: Plan) -> Reply:
    report = told_plan(found, plan)
    warnings = notices(found.notice) + plan.warnings
    if plan.refusal is not None:
        said = plan.refusal
        warnings += (f"without --dry-run this is refused: {said.message} (hint: {said.hint})",)
    return Reply(report, plan_text(single_lines(report)), warnings=warnings)


def run_reply(request: RunRequest, result: RunResult) -> Reply:
    report = told(result)
    code = ExitCode(result.exit_code)
    way_on = continuing(request.argv, result.plan, result.state)
    return Reply(
        data=report,
        text=run_text(
            single_lines(report), Place(request.root, Path.cwd()), None if code else way_on
        ),
        exit_code=code,
        warnings=notices(result.found.notice) + tell_github(report, request.pack),
        error=_failure(report, code, way_on) if code else None,
    )


def _failure(told: RunTold, code: ExitCode, command: str) -> Failure:
    way_on = f"to continue: {command}"
    if code is ExitCode.POLICY:
        shortfall = told.completion.shortfall or code.meaning
        return policy_failure((shortfall,), way_on, told)
    if code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}:
        return Failure(code.name, code.meaning, retryable=True, phase="run", suggestion=way_on)
    rolled = f"; rollback {told.rollback_status}" if told.rollback_status != "not_attempted" else ""
    return Failure(
        "PARTIAL_FAILURE",
        f"{told.cause}{rolled}",
        detail=told.rollback_error or "",
        retryable=told.is_retryable,
        phase="run",
        suggestion=told.ways_on or way_on,
        retry_after=told.retry_after,
    )
