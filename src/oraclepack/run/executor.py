"""The executor of steps: start what is ready, wait for one to end, repeat. It decides nothing.

`Executor` is what a run needs of it; `ThreadExecutor` runs the steps in threads of this process.
"""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from msgspec.structs import replace

from oraclepack.journal.statuses import Status
from oraclepack.pack.model import StepId
from oraclepack.run.planning.plan import Plan, PlannedStep
from oraclepack.run.planning.schedule import OnFailure, Progress, ready
from oraclepack.shell.attempt import StopLevel, StopSwitch

Work = Callable[[PlannedStep], Status]
"""Runs one step to its end and tells what became of it."""


class Executor(Protocol):
    """Runs the steps of a plan, in an order that their dependencies allow."""

    def run(
        self,
        plan: Plan,
        work: Work,
        stop: StopSwitch,
        between: Callable[[], None] = lambda: None,
    ) -> Progress:
        """Run a plan as far as it goes; nothing begins after `stop` was asked for.

        `between` is called each time steps were started. When it or a step raises, the machine
        itself is in trouble: the running steps are asked to stop, and the error is raised after
        they have ended.
        """


class ThreadExecutor:
    """Runs up to `limit` steps at a time, each in a thread of a pool."""

    def __init__(self, limit: int, policy: OnFailure) -> None:
        self._limit = limit
        self._policy = policy

    def run(
        self,
        plan: Plan,
        work: Work,
        stop: StopSwitch,
        between: Callable[[], None] = lambda: None,
    ) -> Progress:
        """Run a plan as far as it goes."""
        progress = Progress()
        trouble: BaseException | None = None
        running: dict[Future[Status], StepId] = {}
        with ThreadPoolExecutor(self._limit, thread_name_prefix="step") as pool:
            while True:
                if trouble is None and stop.level is StopLevel.NONE:
                    for step_id in ready(plan, progress, self._limit, self._policy):
                        planned = plan.step(step_id)
                        assert planned is not None
                        running[pool.submit(work, planned)] = step_id
                        progress = replace(progress, running=progress.running | {step_id})
                trouble = trouble or _trouble_of(between)
                if trouble is not None:
                    stop.ask(StopLevel.POLITE)
                if not running:
                    break
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(ended, key=lambda one: running[one]):
                    step_id = running.pop(future)
                    failure = future.exception()
                    trouble = trouble or failure
                    status = Status.FAILED if failure is not None else future.result()
                    progress = _ended(progress, step_id, status)
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
    if status in {Status.FAILED, Status.PENDING}:
        return replace(progress, running=running, failed=progress.failed | {step_id})
    return replace(progress, running=running, finished=progress.finished | {step_id})
