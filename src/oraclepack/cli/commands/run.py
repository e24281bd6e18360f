"""`run`: execute a pack, or continue its run."""

from contextlib import ExitStack
from pathlib import Path

import click

from oraclepack.app.reading import read_pack
from oraclepack.app.run.command import look_up, run_pack
from oraclepack.app.run.request import request_for
from oraclepack.app.run.told import told, told_plan
from oraclepack.app.step_summary import tell_github
from oraclepack.cli.continuing import continuing
from oraclepack.cli.display import asking, display
from oraclepack.cli.frame import command
from oraclepack.cli.picking import asked, notices, picking
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_text import Place, plan_text, run_text
from oraclepack.core import call_settings as cs
from oraclepack.core import run_settings as rs
from oraclepack.core.envelope import Failure
from oraclepack.core.exit_codes import ExitCode
from oraclepack.core.run_report import RunTold
from oraclepack.core.settings import STRICT, Settings
from oraclepack.core.step import PRELUDE


@command(
    "run",
    data="run-told",
    changes="the run directory, the outputs of the pack, its state and report files",
    settings=(STRICT, *rs.RUN_SETTINGS, *cs.CALL_SETTINGS),
    exit_codes=(
        ExitCode.STEP_FAILED,
        ExitCode.POLICY,
        ExitCode.LOCKED,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
    timed=True,
    rollback_available=True,
    examples=(
        "oraclepack run pack.md",
        "oraclepack run pack.md --max-parallel 4 --keep-going",
        "oraclepack run pack.md --rerun failed",
        "oraclepack run pack.md --steps 03,07-09 --dry-run",
        "oraclepack run pack.md --ci --min-completion 0.9",
    ),
)
@click.argument("pack")
@picking
@click.option("--dry-run", is_flag=True, help="Only tell what would be done with every step.")
def run(pack: str, *, settings: Settings, dry_run: bool, **flags: object) -> Reply:
    """Run a pack, or continue its run.

    A step that went well before and whose outputs are unchanged is not run again. On a failed
    step the command stops and keeps everything; the same command continues.
    """
    wanted = asked(flags)
    if dry_run:
        found, plan = look_up(request_for(read_pack(Path(pack)), settings, wanted))
        plan_told = told_plan(found, plan)
        return Reply(plan_told, plan_text(plan_told), warnings=notices(found.notice))
    with ExitStack() as stack:
        shown = stack.enter_context(display(settings))
        person = asking(settings, shown, yes=bool(flags["yes"]))
        request = request_for(read_pack(Path(pack)), settings, wanted, shown.observers, person)
        shown.expect(request)
        result = run_pack(request)
    report = told(result)
    code = ExitCode(result.exit_code)
    way_on = continuing(request.argv, result.plan, result.state)
    return Reply(
        data=report,
        text=run_text(report, Place(request.root, Path.cwd()), None if code else way_on),
        exit_code=code,
        warnings=notices(result.found.notice) + tell_github(report, request.pack),
        error=_failure(report, code, way_on) if code else None,
    )


def _failure(told: RunTold, code: ExitCode, command: str) -> Failure:
    way_on = f"to continue: {command}"
    if code is ExitCode.POLICY:
        message = told.completion.shortfall or code.meaning
        return Failure("POLICY", message, phase="policy", suggestion=way_on)
    if code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}:
        return Failure(code.name, code.meaning, retryable=True, phase="run", suggestion=way_on)
    where = f"step {told.failed_step}" if told.failed_step != PRELUDE else "the prelude"
    rolled = f"; rollback {told.rollback_status}" if told.rollback_status != "not_attempted" else ""
    return Failure(
        "PARTIAL_FAILURE",
        f"{where} failed{rolled}",
        detail=told.rollback_error or "",
        phase="run",
        suggestion=way_on,
    )
