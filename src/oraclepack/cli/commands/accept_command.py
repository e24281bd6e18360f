"""`accept`: take an answer as it is."""

from __future__ import annotations

import click

from oraclepack import api
from oraclepack.api import run_settings as rs
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.cli.value_completion import pack_files, run_ids
from oraclepack.cli.value_completion import step_id as complete_step
from oraclepack.errors import ExitCode


@command(
    "accept",
    data="accept-report",
    settings=(rs.OUTPUT_REQUIRE_HEADINGS, rs.OUTPUT_CHUNK_MODE, rs.OUTPUT_CONTRACT),
    changes="the run's journal, and its copy of the output",
    exit_codes=(ExitCode.LOCKED,),
    examples=(
        'oraclepack accept pack.md 03 --reason "no risks, and that is right"',
        "oraclepack accept pack.md 03 --file out/03-risks-unknowns.md",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@click.argument("step", metavar="NN", shell_complete=complete_step)
@click.option("--reason", metavar="TEXT", default="", help="Why; kept in the journal.")
@click.option(
    "--file",
    "outputs",
    metavar="PATH",
    multiple=True,
    help="Which output, where several could be meant. May be given again.",
)
@click.option(
    "--run-id",
    metavar="ID",
    shell_complete=run_ids,
    help="Of this run (see `oraclepack runs list`).",
)
def accept(
    pack: str,
    step: str,
    reason: str,
    outputs: tuple[str, ...],
    run_id: str | None,
    settings: api.Settings,
) -> Reply:
    """Take an answer that misses its contract, or an edited one, as it is.

    The file at its path becomes the recorded output; what was recorded before is kept in the run
    directory. The step is ok and shown as accepted, and its question is not asked again. Other runs
    of the project take it for the same question, with a note that it was accepted; it does not
    enter the cache. A missing or empty file and a
    rehearsal are never accepted.
    """
    report = api.accept(pack, step, settings, reason=reason, outputs=outputs, run_id=run_id)
    return Reply(report, _text(report))


def _text(report: api.AcceptReport) -> str:
    lines = [f"{one.line}\n" for one in report.outputs]
    lines += [f"{one.line}\n" for one in report.failures]
    rest = "" if report.status == "accepted" else ": `oraclepack run` goes on with it"
    return "".join((*lines, f"step {report.step_id} is {report.status}{rest}\n"))
