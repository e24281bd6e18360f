"""`run`: execute a pack, or continue its run."""

from __future__ import annotations

import click
import msgspec

from oraclepack import api
from oraclepack.api import call_settings as cs
from oraclepack.api import run_settings as rs
from oraclepack.cli.command import command
from oraclepack.cli.display import DisplaySession
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import picking, run_arguments
from oraclepack.cli.run_reply import plan_reply, run_reply, started_reply
from oraclepack.errors import ExitCode


@command(
    "run",
    data="run-report",
    changes="the run directory, the outputs of the pack, its state and report files",
    effect="execute",
    starts="the bash of the pack and the tools it calls; their calls cost money",
    settings=(api.STRICT, *rs.RUN_SETTINGS, *cs.CALL_SETTINGS, api.NOTIFY),
    exit_codes=(
        ExitCode.STEP_FAILED,
        ExitCode.POLICY,
        ExitCode.LOCKED,
        ExitCode.BUDGET,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
    timed=True,
    rollback_available=True,
    examples=(
        "oraclepack run pack.md",
        "oraclepack run pack.md --max-parallel 4 --keep-going",
        "oraclepack run pack.md --rerun failed",
        "oraclepack run pack.md --detach",
        "oraclepack run pack.md --steps 03,07-09 --dry-run",
        "oraclepack run pack.md --ci --min-completion 0.9",
    ),
)
@click.argument("pack")
@picking
@click.option("--dry-run", is_flag=True, help="Only show what would be done with every step.")
def run(pack: str, *, settings: api.Settings, dry_run: bool, **flags: object) -> Reply:
    """Run a pack, or continue its run.

    A step that went well before and whose outputs are unchanged is not run again. On a failed
    step the command stops and keeps everything; the same command continues.
    """
    arguments = run_arguments(flags)
    if dry_run:
        return plan_reply(api.plan(pack, settings, arguments))
    if flags["detach"]:
        return started_reply(api.start(pack, settings, arguments))
    with DisplaySession(settings, yes=bool(flags["yes"])) as watching:
        outcome = api.run(
            pack,
            settings,
            msgspec.structs.replace(arguments, detached=watching.is_detached),
            display=watching,
            stop=watching.stop,
            ask=watching.ask,
            github=True,
        )
    return run_reply(outcome, watching.unshown_warnings(outcome))
