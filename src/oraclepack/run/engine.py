"""The loop: start what is ready, wait for something to end, ask again. It decides nothing."""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from msgspec.structs import replace

from oraclepack.core.attempt import StopLevel, StopSwitch
from oraclepack.core.plan import Plan, PlannedStep
from oraclepack.core.result import Status
from oraclepack.core.step import StepId
from oraclepack.run.schedule import OnFailure, Progress, ready

Work = Callable[[PlannedStep], Status]
"""Runs one step to its end and tells what became of it; called in a thread of the executor."""


def drive(
    plan: Plan,
    work: Work,
    executor: Executor,
    stop: StopSwitch,
    *,
    limit: int,
    policy: OnFailure,
) -> Progress:
    """Run a plan as far as it goes.

    When a step raises, the machine itself is in trouble: the running steps are asked to stop,
    and the trouble is raised after they have ended.
    """
    progress = Progress()
    running: dict[Future[Status], StepId] = {}
    trouble: BaseException | None = None
    while True:
        if trouble is None and stop.level is StopLevel.NONE:
            for step_id in ready(plan, progress, limit, policy):
                planned = plan.step(step_id)
                assert planned is not None
                running[executor.submit(work, planned)] = step_id
                progress = replace(progress, running=progress.running | {step_id})
        if not running:
            break
        ended, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in sorted(ended, key=running.__getitem__):
            step_id = running.pop(future)
            failure = future.exception()
            status = Status.FAILED if failure else future.result()
            if failure is not None:
                trouble = trouble or failure
                stop.ask(StopLevel.POLITE)
            progress = _ended(progress, step_id, status)
    if trouble is not None:
        raise trouble
    return progress


def _ended(progress: Progress, step_id: StepId, status: Status) -> Progress:
    running = progress.running - {step_id}
    if status is Status.FAILED:
        return replace(progress, running=running, failed=progress.failed | {step_id})
    return replace(progress, running=running, finished=progress.finished | {step_id})
