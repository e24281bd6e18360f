"""`run`: execute a pack, or continue its run."""

from contextlib import ExitStack
from pathlib import Path

import click

from oraclepack.cli.command import command
from oraclepack.cli.display import asking, display
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import asked, picking
from oraclepack.cli.run_reply import plan_reply, run_reply
from oraclepack.errors import ExitCode
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.run_pack import look_up, run_pack
from oraclepack.run.run_request import request_for
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import STRICT, Settings


@command(
    "run",
    data="run-report",
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
        return plan_reply(found, plan)
    with ExitStack() as stack:
        shown = stack.enter_context(display(settings))
        person = asking(settings, shown, yes=bool(flags["yes"]))
        request = request_for(
            read_pack(Path(pack)),
            settings,
            wanted,
            shown.observers,
            person,
            shown.expect,
        )
        result = run_pack(request)
    return run_reply(request, result)
