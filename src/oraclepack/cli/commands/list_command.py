"""`list`: the steps of a pack at a glance."""

from __future__ import annotations

import click

from oraclepack.cli.command import command, paged
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import columns
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import InputError
from oraclepack.settings.registry import Settings
from oraclepack.system.paging import page
from oraclepack.view import step_listing
from oraclepack.view.step_listing import ListedStep


@command(
    "list",
    data="listing",
    examples=("oraclepack list pack.md", "oraclepack list --json pack.md"),
)
@click.argument("pack", shell_complete=pack_files)
@click.option("--contracts", is_flag=True, help="Show which sections each output must have.")
@paged
def list_steps(
    pack: str,
    limit: int | None,
    cursor: str | None,
    *,
    settings: Settings,
    contracts: bool,
) -> Reply:
    """List the questions of PACK and their status.

    The status of a step is the one in the run that `oraclepack run PACK` would continue. With
    --json each step also has its attributes as written, since `# Impact: High` is not a number.
    """
    steps = step_listing.list_steps(pack, settings)
    if not steps.steps:
        raise InputError(f"{pack}: no steps found", hint=f"see oraclepack validate {pack}")
    steps = page(steps, "steps", lambda step: step.step_id, limit, cursor)
    text = _contracts(steps.steps) if contracts else _steps(steps.steps)
    return Reply(data=steps, text=text)


def _steps(steps: tuple[ListedStep, ...]) -> str:
    """The question first: what is asked decides what a reader looks for."""
    heads = ("step", "status", "question", "output")
    rows = [
        (
            step.step_id,
            step.status or "-",
            step.title or step.reference or "-",
            _paths(step),
        )
        for step in steps
    ]
    return columns(heads, rows)


def _paths(step: ListedStep) -> str:
    first = step.outputs[0].path if step.outputs else "-"
    return first if len(step.outputs) < 2 else f"{first} (+{len(step.outputs) - 1})"


def _contracts(steps: tuple[ListedStep, ...]) -> str:
    heads = ("step", "output", "contract", "sections", "reason", "line")
    rows = [
        (
            step.step_id,
            output.path,
            output.contract,
            ", ".join(output.sections) or "-",
            output.reason,
            "-" if output.line is None else str(output.line),
        )
        for step in steps
        for output in step.outputs
    ]
    return columns(heads, rows)
