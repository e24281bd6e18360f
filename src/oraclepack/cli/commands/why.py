"""`why`: the reason behind one step of a plan."""

from pathlib import Path

import click

from oraclepack.cli.cache_text import call_line, differing
from oraclepack.cli.completing import step_id as complete_step
from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.explain_steps import why_step
from oraclepack.run.run_request import Picked, request_for
from oraclepack.settings import call_settings as cs
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import one_line, single_lines


@command(
    "why",
    data="why-told",
    settings=(cs.ENGINE,),
    examples=("oraclepack why pack.md 07", "oraclepack why pack.md 07 --json"),
)
@click.argument("pack")
@click.argument("step", metavar="NN", shell_complete=complete_step)
def why(pack: str, step: str, settings: Settings) -> Reply:
    """Tell why a step ran, was left, or would run.

    For each call of its last attempt: whether it was asked or answered from the cache, and in
    which parts its question differs from the one asked before.
    """
    said, told = why_step(request_for(read_pack(Path(pack)), settings, Picked()), step)
    shown = single_lines(told)
    lines = [f"{one_line(said)}\n", f"run {shown.run_id}: {shown.run_reason}\n"]
    lines.append(f"status {shown.status}, attempts {shown.attempts}\n")
    if shown.error:
        lines.append(f"last error {shown.error}: {shown.message}\n")
    if shown.recorded_hash not in {None, shown.command_hash}:
        lines.append(f"commands {shown.recorded_hash} then, {shown.command_hash} now\n")
    lines += [call_line(call) + differing(call) for call in shown.calls]
    return Reply(told, "".join(lines))
