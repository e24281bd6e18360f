"""`undo`: take back what a step changed in the work tree."""

import click

from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.errors import ExitCode
from oraclepack.run.undo import undo_step
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import single_lines


@command(
    "undo",
    data="undone",
    changes="the files the step changed",
    exit_codes=(ExitCode.LOCKED,),
    examples=("oraclepack undo pack.md 10",),
)
@click.argument("pack")
@click.argument("step", metavar="NN")
@click.option("--run-id", metavar="ID", help="Of this run (see `oraclepack runs list`).")
def undo(pack: str, step: str, run_id: str | None, settings: Settings) -> Reply:
    """Take back what a step changed in the work tree.

    Applies the step's recorded patch in reverse. Refuses when the files have changed since, so
    your own work is never touched. An undo that was cut off is finished by the next one.
    """
    undone = undo_step(pack, step, settings, run_id)
    listed = "".join(f"  {path}\n" for path in single_lines(undone).files)
    return Reply(undone, f"taken back, step {undone.step_id}:\n{listed}")
