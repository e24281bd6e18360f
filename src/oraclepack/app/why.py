"""The use case behind `why`: the plan for one step, and what became of its calls."""

from oraclepack.app.cache import explain_calls
from oraclepack.app.run.command import RunRequest, look_up
from oraclepack.app.run.told import told_plan
from oraclepack.app.runs import look_at
from oraclepack.core.why import WhyTold
from oraclepack.errors import UsageError


def why_step(request: RunRequest, step: str) -> tuple[str, WhyTold]:
    """The reason in a sentence, and everything behind it. Changes nothing."""
    found, plan = look_up(request)
    told = told_plan(found, plan)
    step_id = step.zfill(2)
    one = next((one for one in told.steps if one.step_id == step_id), None)
    if one is None:
        known = ", ".join(step.step_id for step in told.steps)
        raise UsageError(f"there is no step {step}", hint=f"the pack has the steps {known}")
    planned = next(step for step in plan.steps if step.step_id == step_id)
    # A rehearsal starts over, and so plans against nothing; the last one can still be compared.
    last = look_at(found.run).state if request.wish.rehearsal else found.state
    state = last.step(step_id)
    fields = {name: getattr(one, name) for name in one.__struct_fields__}
    return plan.why(step_id) or one.reason, WhyTold(
        **fields,
        run_id=told.run_id,
        run_reason=told.reason,
        command_hash=planned.command_hash,
        recorded_hash=state.command_hash,
        calls=explain_calls(request.root, state),
    )
