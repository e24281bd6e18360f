"""`list`: the steps of a pack at a glance."""

from __future__ import annotations

import click

from oraclepack import api
from oraclepack.api import call_settings as cs
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import paged
from oraclepack.cli.text import before_rerun, call_line, columns, differing, some_of
from oraclepack.cli.value_completion import pack_files
from oraclepack.cli.value_completion import step_id as complete_step
from oraclepack.errors import InputError
from oraclepack.system.printable import one_line, single_lines


@command(
    "why",
    data="why-report",
    settings=(cs.ENGINE,),
    examples=("oraclepack why pack.md 07", "oraclepack why pack.md 07 --json"),
)
@click.argument("pack", shell_complete=pack_files)
@click.argument("step", metavar="NN", shell_complete=complete_step)
def why(pack: str, step: str, settings: api.Settings) -> Reply:
    """Explain why a step ran, was skipped, or would run.

    For each call of its last attempt: whether it was asked or answered from the cache, and in
    which parts its question differs from the one asked before.
    """
    why_text, reasons = api.why(pack, step, settings)
    printable = single_lines(reasons)
    lines = [f"{one_line(why_text)}\n", f"run {printable.run_id}: {printable.run_reason}\n"]
    lines.append(f"status {printable.status}, attempts {printable.attempts}\n")
    if printable.error:
        lines.append(f"last error {printable.error}: {printable.message}\n")
    if printable.error and printable.changed_files:
        lines.append(f"it changed {some_of(printable.changed_files)}\n")
        lines.append(f"{before_rerun(pack, printable.step_id)}\n")
    if printable.recorded_hash not in {None, printable.command_hash}:
        lines.append(f"commands {printable.recorded_hash} then, {printable.command_hash} now\n")
    lines += [call_line(call) + differing(call) for call in printable.calls]
    if printable.compared_run is not None:
        changed = "differs in:" if printable.changes else "asks the same, as far as its text shows"
        lines.append(f"from run {printable.compared_run} of this pack it {changed}\n")
        lines += [f"  call {one.call}: {one.change}\n" for one in printable.changes]
    return Reply(reasons, "".join(lines))


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
    settings: api.Settings,
    contracts: bool,
) -> Reply:
    """List the steps of PACK with score, category, tools and outputs.

    The status of a step is the one in the run that `oraclepack run PACK` would continue. With
    --json each step also has its attributes as written, since `# Impact: High` is not a number.
    """
    steps = api.list_steps(pack, settings)
    if not steps.steps:
        raise InputError(f"{pack}: no steps found", hint=f"see oraclepack validate {pack}")
    steps = api.page(steps, "steps", lambda step: step.step_id, limit, cursor)
    text = _contracts(steps.steps) if contracts else _steps(steps.steps)
    return Reply(data=steps, text=text)


def _steps(steps: tuple[api.ListedStep, ...]) -> str:
    heads = ("step", "status", "ROI", "category", "tools", "calls", "outputs", "title")
    rows = [
        (
            step.step_id,
            step.status or "-",
            "-" if step.roi is None else f"{step.roi:g}",
            step.category or "-",
            ", ".join(step.tools) or "-",
            str(step.calls),
            _paths(step),
            step.title or step.reference or "-",
        )
        for step in steps
    ]
    return columns(heads, rows)


def _paths(step: api.ListedStep) -> str:
    first = step.outputs[0].path if step.outputs else "-"
    return first if len(step.outputs) < 2 else f"{first} (+{len(step.outputs) - 1})"


def _contracts(steps: tuple[api.ListedStep, ...]) -> str:
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
