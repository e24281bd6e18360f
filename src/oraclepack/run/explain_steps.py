"""The reply of `why`: one step of a pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oraclepack.calls.cache import CallExplanation
from oraclepack.errors import NotFoundError
from oraclepack.run.cache_queries import explain_calls
from oraclepack.run.run_report import StepReport, plan_report
from oraclepack.view.run import read_view

if TYPE_CHECKING:
    from oraclepack.run.open_run import SelectedRun
    from oraclepack.run.planning.plan import Plan
    from oraclepack.run.request import RunRequest


class WhyReport(StepReport, frozen=True, kw_only=True):
    """One step: what would be done with it, what was, and what became of its calls."""

    run_id: str
    run_reason: str
    """Why this run and no other."""
    command_hash: str
    """Of its commands and the prelude, as they are now."""
    recorded_hash: str | None
    """The same when it last ran."""
    calls: tuple[CallExplanation, ...]
    """The calls of oracle in its last attempt."""


def why_step(
    request: RunRequest, selected: SelectedRun, plan: Plan, step: str
) -> tuple[str, WhyReport]:
    """The reason in a sentence, and everything behind it, from what `preview_run` found."""
    report = plan_report(selected, plan)
    step_id = step.zfill(2)
    one = next((one for one in report.steps if one.step_id == step_id), None)
    if one is None:
        known = ", ".join(step.step_id for step in report.steps)
        raise NotFoundError(f"there is no step {step}", hint=f"the pack has the steps {known}")
    planned = next(step for step in plan.steps if step.step_id == step_id)
    # A rehearsal starts over, and so plans against nothing; the last one can still be compared.
    last = read_view(selected.run).state if request.is_rehearsal else selected.state
    state = last.step(step_id)
    fields = {name: getattr(one, name) for name in one.__struct_fields__}
    return plan.why(step_id) or one.reason, WhyReport(
        **fields,
        run_id=report.run_id,
        run_reason=report.reason,
        command_hash=planned.command_hash,
        recorded_hash=state.command_hash,
        calls=explain_calls(request.root, state),
    )
