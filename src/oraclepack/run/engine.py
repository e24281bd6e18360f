"""The loop: start what is ready, wait for something to end, ask again. It decides nothing."""

from collections.abc import Callable

from msgspec.structs import replace

from oraclepack.core.attempt import StopLevel, StopSwitch
from oraclepack.core.plan import Plan, PlannedStep
from oraclepack.core.ports import Crew
from oraclepack.core.result import Status
from oraclepack.core.step import StepId
from oraclepack.run.schedule import OnFailure, Progress, ready

Work = Callable[[PlannedStep], Status]
"""Runs one step to its end and tells what became of it."""


def drive_in_order(plan: Plan, work: Work, stop: StopSwitch, *, policy: OnFailure) -> Progress:
    """Run a plan one step at a time, without any thread but the caller's."""
    progress = Progress()
    while stop.level is StopLevel.NONE:
        planned = next(map(plan.step, ready(plan, progress, 1, policy)), None)
        if planned is None:
            break
        progress = _ended(progress, planned.step_id, work(planned))
    return progress


def drive(
    plan: Plan,
    crew: Crew,
    stop: StopSwitch,
    *,
    limit: int,
    policy: OnFailure,
    between: Callable[[], None] = lambda: None,
) -> Progress:
    """Run a plan as far as it goes, several steps at a time by a crew.

    `between` is called whenever others work and there is nothing else to do. When it or a step
    raises, the machine itself is in trouble: the running steps are asked to stop, and the trouble
    is raised after they have ended.
    """
    progress = Progress()
    trouble: BaseException | None = None
    while True:
        if trouble is None and stop.level is StopLevel.NONE:
            for step_id in ready(plan, progress, limit, policy):
                planned = plan.step(step_id)
                assert planned is not None
                crew.begin(planned)
                progress = replace(progress, running=progress.running | {step_id})
        trouble = trouble or _trouble_of(between)
        if trouble is not None:
            stop.ask(StopLevel.POLITE)
        if not progress.running:
            break
        for ended in crew.await_ended():
            trouble = trouble or ended.trouble
            progress = _ended(progress, ended.step_id, ended.status)
    if trouble is not None:
        raise trouble
    return progress


def _trouble_of(action: Callable[[], None]) -> BaseException | None:
    try:
        action()
    except Exception as trouble:  # noqa: BLE001 - raised by the loop once nothing runs any more
        return trouble
    return None


def _ended(progress: Progress, step_id: StepId, status: Status) -> Progress:
    running = progress.running - {step_id}
    if status is Status.FAILED:
        return replace(progress, running=running, failed=progress.failed | {step_id})
    return replace(progress, running=running, finished=progress.finished | {step_id})
