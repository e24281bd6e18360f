"""`run`: execute a pack, or continue its run."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from oraclepack.cli.command import command
from oraclepack.cli.display import DisplaySession, PackSessions
from oraclepack.cli.packs_reply import packs_plan_reply, packs_reply
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import picking, run_arguments
from oraclepack.cli.run_reply import plan_reply, run_reply, started_reply
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import ExitCode, UsageError
from oraclepack.pipeline.pipeline_exports import append_run_summary
from oraclepack.run.entry_points import plan_packs, plan_run, run_pack, run_packs, start_run
from oraclepack.run.planning.selection import RunArguments
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.notify_settings import NOTIFY
from oraclepack.settings.registry import STRICT, Settings
from oraclepack.system.environment import GITHUB_SUMMARY_VARIABLE, environment


@command(
    "run",
    data="run-report",
    changes="the run directory, the outputs of the pack, its state and report files",
    effect="execute",
    starts="the bash of the pack and the tools it calls; their calls cost money",
    settings=(STRICT, *rs.RUN_SETTINGS, *cs.CALL_SETTINGS, NOTIFY),
    exit_codes=(
        ExitCode.STEP_FAILED,
        ExitCode.POLICY,
        ExitCode.LOCKED,
        ExitCode.BUDGET,
        ExitCode.DECISION,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
    runs_something=True,
    rollback_available=True,
    examples=(
        "oraclepack run pack.md",
        "oraclepack run pack.md --steps 03,07-09 --dry-run",
        "oraclepack run pack.md --rerun failed",
        "oraclepack run pack.md --ci --min-completion 0.9",
    ),
)
@click.argument("packs", nargs=-1, required=True, metavar="PACK|DIR...", shell_complete=pack_files)
@picking
@click.option("--dry-run", is_flag=True, help="Only show what would be done with every step.")
def run(packs: tuple[str, ...], *, settings: Settings, dry_run: bool, **flags: object) -> Reply:
    """Run a pack, or continue its run.

    A step that is done and whose outputs are unchanged is not run again. When a step fails the
    command stops and keeps everything; the same command continues. Several packs, or all of a
    directory, run one after another under the limits of one command.
    """
    arguments = run_arguments(flags)
    if len(packs) > 1 or Path(packs[0]).is_dir():
        return _run_several(packs, settings, arguments, flags, dry_run=dry_run)
    pack = packs[0]
    if dry_run:
        return plan_reply(plan_run(pack, settings, arguments))
    if flags["detach"]:
        return started_reply(start_run(pack, settings, arguments))
    with DisplaySession(settings, yes=bool(flags["yes"])) as watching:
        outcome = run_pack(
            pack,
            settings,
            msgspec.structs.replace(arguments, detached=watching.is_detached),
            display=watching,
            stop=watching.stop,
            ask=watching.ask,
        )
    if environment().get(GITHUB_SUMMARY_VARIABLE):
        more = append_run_summary(outcome.report, outcome.pack)
        outcome = msgspec.structs.replace(outcome, warnings=outcome.warnings + more)
    return run_reply(outcome, watching.unshown_warnings(outcome))


def _run_several(
    paths: tuple[str, ...],
    settings: Settings,
    arguments: RunArguments,
    flags: dict[str, object],
    *,
    dry_run: bool,
) -> Reply:
    if flags["detach"]:
        raise UsageError(
            "--detach: only with one pack, and this command names several",
            hint="detach each pack; --wait-for RUN lets one wait for another",
        )
    if dry_run:
        return packs_plan_reply(plan_packs(paths, settings, arguments))
    sessions = PackSessions(settings, yes=bool(flags["yes"]))
    outcome = run_packs(paths, settings, arguments, front_ends=sessions.open)
    return packs_reply(outcome, sessions.unshown_warnings(outcome))
