"""The options that pick a run and its steps, for every command that runs a pack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from oraclepack.cli.command import command_words
from oraclepack.cli.value_completion import run_ids, step_id, step_list
from oraclepack.run.planning.selection import Existing, RunArguments

export_option = click.option(
    "--export", "exports", metavar="WORDS", multiple=True, help="Also write github, taskmaster."
)

allow_rehearsal_option = click.option(
    "--allow-rehearsal", is_flag=True, help="Export even what a rehearsal answered, marked as such."
)

per_option = click.option(
    "--per",
    type=click.Choice(["question", "task"]),
    default=None,
    help="On GitHub: one issue per question with a task list (the default), or one per task.",
)


_OPTIONS = (
    click.option(
        "--rerun",
        metavar="WHAT",
        help="Run again: all, failed, changed or 01,03,07.",
        shell_complete=step_list("all", "failed", "changed"),
    ),
    click.option(
        "--steps", metavar="LIST", help="Only these steps: 01,03-07.", shell_complete=step_list()
    ),
    click.option(
        "--resume-from",
        metavar="NN",
        help="Leave out the steps before this one.",
        shell_complete=step_id,
    ),
    click.option(
        "--run-id",
        metavar="ID",
        help="Continue this run of `oraclepack runs list`.",
        shell_complete=run_ids,
    ),
    click.option("--new-run", is_flag=True, help="Start a fresh run, whatever there is already."),
    click.option(
        "--resume/--no-resume", default=True, help="Continue a run that fits (the default)."
    ),
    click.option(
        "--run-all", is_flag=True, hidden=True, help="Run all steps (the default; for old scripts)."
    ),
    click.option("-y", "--yes", is_flag=True, help="Ask nothing; the same as --non-interactive."),
    click.option(
        "--in-place",
        is_flag=True,
        help="Rehearse in the project, not in a copy.",
    ),
    click.option(
        "--detach",
        is_flag=True,
        help="Run in the background and return at once; `oraclepack runs watch` shows it.",
    ),
    click.option(
        "--wait-for",
        metavar="RUN",
        help="Begin the steps after this run has ended.",
        shell_complete=run_ids,
    ),
    click.option(
        "--expect-pack",
        metavar="SHA256",
        help="Refuse a pack with another hash; `oraclepack list --json` shows it.",
    ),
    click.option("--import-state", metavar="FILE", help="Take over a state file of the Go tool."),
    click.option(
        "--existing",
        type=click.Choice(("adopt", "replace")),
        help="Take answers that are there, or ask again; backups are kept.",
    ),
    click.option("--take-over", is_flag=True, hidden=True, help="The same as --existing replace."),
)


def picking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; `run_arguments` reads what they were given."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def run_arguments(flags: dict[str, object]) -> RunArguments:
    """What the options of `picking` say."""

    def text(name: str) -> str | None:
        value = flags.get(name)
        return value if isinstance(value, str) else None

    existing = text("existing") or ("replace" if flags.get("take_over") else None)
    return RunArguments(
        rerun=text("rerun"),
        steps=text("steps"),
        resume_from=text("resume_from"),
        run_id=text("run_id"),
        new_run=bool(flags["new_run"]) or not flags["resume"],
        import_state=text("import_state"),
        in_place=bool(flags.get("in_place")),
        existing=Existing(existing) if existing else None,
        wait_for=text("wait_for"),
        expect_pack=text("expect_pack"),
        argv=command_words(),
    )
