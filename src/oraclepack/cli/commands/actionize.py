"""`actionize`: answers → work items."""

from pathlib import Path

import click

from oraclepack.adapters.project import project_of
from oraclepack.app.actionize.command import Request, actionize_request
from oraclepack.cli.exports import export_option, exports_named
from oraclepack.cli.frame import command
from oraclepack.cli.partial import partial_failure
from oraclepack.cli.reply import Reply
from oraclepack.core.backlog import Actionized, WorkStatus
from oraclepack.core.exit_codes import ExitCode
from oraclepack.core.run_settings import ROLLBACK_ON_FAILURE
from oraclepack.core.settings import Settings


@command(
    "actionize",
    data="actionized",
    changes="the directory actionizer/ of the run or of the answers, or --out-dir",
    settings=(ROLLBACK_ON_FAILURE,),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.LOCKED),
    rollback_available=True,
    examples=(
        "oraclepack actionize --run-dir .oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10",
        "oraclepack actionize --run-dir DIR --export github,taskmaster",
        "oraclepack actionize --answers docs/answers --pack docs/pack.md --json",
    ),
)
@click.option("--run-dir", metavar="DIR", default="", help="The run whose answers are meant.")
@click.option("--answers", metavar="DIR", default="", help="A plain directory of 01-*.md answers.")
@click.option("--pack", metavar="PACK", default="", help="The pack that --answers belong to.")
@click.option("--out-dir", metavar="DIR", default="", help="Where to write instead.")
@export_option
def actionize(
    run_dir: str,
    answers: str,
    pack: str,
    out_dir: str,
    exports: tuple[str, ...],
    settings: Settings,
) -> Reply:
    """Turn the answers of a pack into a backlog, a change plan and tracker files.

    No model is asked and the same answers give the same bytes. Text that you put between marked
    lines of backlog.md survives. A question without an answer is a blocked task, never a gap.
    """
    undo = settings[ROLLBACK_ON_FAILURE]
    request = Request(run_dir, answers, pack, out_dir, exports_named(exports), undo)
    done = actionize_request(request, _root(request, settings))
    if not done.told.ok:
        return partial_failure(done.told, f"cannot write {done.told.failed_step}", done.warnings)
    return Reply(done.told, _text(done.told), warnings=done.warnings)


def _root(request: Request, settings: Settings) -> Path:
    """The project: where a run directory lies, unless it was moved elsewhere."""
    home = project_of(Path(request.run_dir)) if request.run_dir else None
    return home or Path(settings.root)


def _text(told: Actionized) -> str:
    counts = ", ".join(f"{told.tasks[status]} {status}" for status in WorkStatus)
    lines = [f"{told.answered} of {told.steps} answers: {counts}"]
    for artifact in told.artifacts:
        state = "written" if artifact.changed else "unchanged"
        lines.append(f"{told.out_dir}/{artifact.path} {state}")
    return "\n".join(lines)
