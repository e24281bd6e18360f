"""`quarantine`: the outputs of failed attempts, and how to restore them."""

from __future__ import annotations

import click

from oraclepack import api
from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import paged
from oraclepack.cli.text import columns, size
from oraclepack.cli.value_completion import pack_files, run_ids
from oraclepack.cli.value_completion import step_id as complete_step
from oraclepack.errors import ExitCode
from oraclepack.system.printable import single_lines


@command(
    "undo",
    data="undo-report",
    changes="the files the step changed",
    effect="destructive",
    exit_codes=(ExitCode.LOCKED,),
    examples=("oraclepack undo pack.md 10",),
)
@click.argument("pack", shell_complete=pack_files)
@click.argument("step", metavar="NN", shell_complete=complete_step)
@click.option(
    "--run-id",
    metavar="ID",
    help="Of this run (see `oraclepack runs list`).",
    shell_complete=run_ids,
)
def undo(pack: str, step: str, run_id: str | None, settings: api.Settings) -> Reply:
    """Take back what a step changed in the work tree.

    Applies the step's recorded patch in reverse. Refuses when the files have changed since, so
    your own work is never touched. An undo that was cut off is finished by the next one.
    """
    undone = api.undo(pack, step, settings, run_id)
    listed = "".join(f"  {path}\n" for path in single_lines(undone).files)
    return Reply(undone, f"taken back, step {undone.step_id}:\n{listed}")


quarantine = Group(
    "quarantine",
    entries={
        "list": LazyCommand(f"{__name__}:list_entries", "List the outputs of failed attempts."),
        "restore": LazyCommand(f"{__name__}:restore", "Bring files back to where they came from."),
    },
    help="List and restore the outputs of failed attempts.",
)


@command(
    "list",
    data="quarantine",
    examples=("oraclepack quarantine list", "oraclepack quarantine list pack.md --json"),
)
@click.argument("pack", required=False, shell_complete=pack_files)
@paged
def list_entries(
    pack: str | None, limit: int | None, cursor: str | None, settings: api.Settings
) -> Reply:
    """List the outputs of failed attempts.

    With PACK only those of its runs.
    """
    every = api.quarantine(settings.root).list(pack)
    entries = api.page(every, "files", lambda file: file.path, limit, cursor)
    if not every.files:
        return Reply(entries, talk="nothing is in quarantine\n")
    heads = ("step", "attempt", "came from", "size", "now there", "why", "path")
    return Reply(entries, columns(heads, map(_row, entries.files)))


@command(
    "restore",
    data="quarantine-restore-report",
    changes="moves the named files back; with --force, moves files in their place to quarantine",
    exit_codes=(ExitCode.LOCKED,),
    examples=(
        "oraclepack quarantine restore docs/out/_failed/2026-03-01__abc1234__55555555/step-03/1",
        "oraclepack quarantine restore --force docs/out/_failed/2026-03-01__abc1234__55555555",
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option("--force", is_flag=True, help="Swap with a file that is at the original path now.")
def restore(paths: tuple[str, ...], settings: api.Settings, *, force: bool) -> Reply:
    """Bring files back to where they came from.

    PATH is a file in quarantine, or a directory of it: everything below comes back. Either all
    can be restored, or nothing is touched.
    """
    done, warnings = api.quarantine(settings.root).restore(paths, force=force)
    text = "".join(f"{move.source} -> {move.target}\n" for move in single_lines(done).moves)
    return Reply(done, text, warnings=warnings)


def _row(entry: api.QuarantineEntry) -> tuple[str, ...]:
    there = "a file" if entry.occupied else "-"
    bytes_now = size(entry.bytes)
    return (entry.step_id, entry.attempt, entry.original, bytes_now, there, entry.cause, entry.path)
