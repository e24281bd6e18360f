"""The options that pick a run and its steps, for every command that runs a pack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from oraclepack.cli.command import command_words, option
from oraclepack.cli.value_completion import run_ids, step_id, step_list
from oraclepack.run.planning.selection import Existing, RunArguments

export_option = option(
    "--export WORDS", "Also write github, taskmaster.", name="exports", many=True
)

allow_rehearsal_option = option(
    "--allow-rehearsal", "Export even what a rehearsal answered, marked as such."
)

per_option = option(
    "--per question|task",
    "On GitHub: one issue per question with a task list (the default), or one per task.",
)


_OPTIONS = (
    option(
        "--rerun WHAT",
        "Run again: all, failed, changed or 01,03,07.",
        complete=step_list("all", "failed", "changed"),
    ),
    option("--steps LIST", "Only these steps: 01,03-07.", complete=step_list()),
    option("--resume-from NN", "Leave out the steps before this one.", complete=step_id),
    option("--run-id ID", "Continue this run of `oraclepack runs list`.", complete=run_ids),
    option("--new-run", "Start a fresh run, whatever there is already."),
    click.option(
        "--resume/--no-resume", default=True, help="Continue a run that fits (the default)."
    ),
    option("--run-all", "Run all steps (the default; for old scripts).", hidden=True),
    option("-y --yes", "Ask nothing; the same as --non-interactive."),
    option("--in-place", "Rehearse in the project, not in a copy."),
    option(
        "--detach", "Run in the background and return at once; `oraclepack runs watch` shows it."
    ),
    option("--wait-for RUN", "Begin the steps after this run has ended.", complete=run_ids),
    option(
        "--expect-pack SHA256",
        "Refuse a pack with another hash; `oraclepack list --json` shows it.",
    ),
    option("--import-state FILE", "Take over a state file of the Go tool."),
    option(
        "--existing adopt|replace", "Take answers that are there, or ask again; backups are kept."
    ),
    option("--take-over", "The same as --existing replace.", hidden=True),
)


def picking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; `run_arguments` reads what they were given."""
    for each in reversed(_OPTIONS):
        function = each(function)
    return function


def run_arguments(flags: dict[str, Any]) -> RunArguments:
    """What the options of `picking` say."""
    existing = flags.get("existing") or ("replace" if flags.get("take_over") else None)
    return RunArguments(
        rerun=flags.get("rerun") or None,
        steps=flags.get("steps") or None,
        resume_from=flags.get("resume_from") or None,
        run_id=flags.get("run_id") or None,
        new_run=bool(flags["new_run"]) or not flags["resume"],
        import_state=flags.get("import_state") or None,
        in_place=bool(flags.get("in_place")),
        existing=Existing(existing) if existing else None,
        wait_for=flags.get("wait_for") or None,
        expect_pack=flags.get("expect_pack") or None,
        argv=command_words(),
    )
