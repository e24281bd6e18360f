"""`why`: the reason behind one step of a plan."""

import click

from oraclepack.app.run.asking import Asked, request_for
from oraclepack.app.run.command import look_up
from oraclepack.app.run.telling import told_plan
from oraclepack.cli.completing import step_id as complete_step
from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.core.errors import UsageError
from oraclepack.core.settings import Settings


@command(
    "why",
    data="step-told",
    examples=("oraclepack why pack.md 07", "oraclepack why pack.md 07 --json"),
)
@click.argument("pack")
@click.argument("step", metavar="NN", shell_complete=complete_step)
def why(pack: str, step: str, settings: Settings) -> Reply:
    """Tell why a step ran, was left, or would run."""
    found, plan = look_up(request_for(pack, settings, Asked()))
    told = told_plan(found, plan)
    step_id = step.zfill(2)
    one = next((one for one in told.steps if one.step_id == step_id), None)
    if one is None:
        known = ", ".join(step.step_id for step in told.steps)
        raise UsageError(f"there is no step {step}", hint=f"the pack has the steps {known}")
    lines = [f"{plan.why(step_id)}\n", f"run {told.run_id}: {told.reason}\n"]
    lines.append(f"status {one.status}, attempts {one.attempts}\n")
    if one.error:
        lines.append(f"last error {one.error}: {one.message}\n")
    return Reply(one, "".join(lines))
