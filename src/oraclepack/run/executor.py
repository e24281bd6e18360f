"""The executor of steps: start what is ready, wait for one to end, repeat. It decides nothing.

`Executor` is what a run needs of it; `ThreadExecutor` runs the steps in threads of this process.
"""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from msgspec.structs import replace

from oraclepack.journal.statuses import Status
from oraclepack.pack.model import StepId
from oraclepack.run.planning.plan import Plan, PlannedStep
from oraclepack.run.planning.schedule import OnFailure, Progress, ready
from oraclepack.settings.value_kinds import MaxParallel
from oraclepack.shell.attempt import StopLevel, StopSwitch

Work = Callable[[PlannedStep], Status]
"""Runs one step to its end and returns its outcome."""


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
        itself has failed: the running steps are asked to stop, and the error is raised after they
        have ended.
        """


class Throttle(Protocol):
    """What may change while steps run."""

    @property
    def is_paused(self) -> bool:
        """No step is started."""

    @property
    def max_parallel(self) -> MaxParallel: ...

    @property
    def changed(self) -> "Future[None]":
        """Done at the next change of these."""

    def was_stopped(self, step_id: str) -> bool:
        """Whether the step was stopped by a request of its own."""


class FixedThrottle:
    """A `Throttle` that never changes."""

    is_paused = False

    def __init__(self, max_parallel: MaxParallel) -> None:
        self.max_parallel = max_parallel
        self.changed: Future[None] = Future()

    def was_stopped(self, _step_id: str) -> bool:
        return False


_MOST_THREADS = 128
"""Threads are made as steps need them; how many steps run is up to the throttle."""
_LOOK_FOR_STOP = 0.2
"""Seconds, while nothing runs and everything is paused."""


class ThreadExecutor:
    """Runs as many steps at a time as the throttle says, each in a thread of a pool."""

    def __init__(
        self,
        throttle: Throttle,
        policy: OnFailure,
        concerns_all: Callable[[StepId], bool] = lambda _: False,
    ) -> None:
        """`concerns_all`: the failed step failed for a reason that the others would meet too."""
        self._throttle = throttle
        self._policy = policy
        self._concerns_all = concerns_all

    def run(
        self,
        plan: Plan,
        work: Work,
        stop: StopSwitch,
        between: Callable[[], None] = lambda: None,
    ) -> Progress:
        """Run a plan as far as it goes."""
        progress, policy = Progress(), self._policy
        trouble: BaseException | None = None
        running: dict[Future[Status], StepId] = {}
        with ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="step") as pool:
            while True:
                changed, limit = self._throttle.changed, self._throttle.max_parallel
                next_steps: tuple[StepId, ...] = ()
                if trouble is None and stop.level is StopLevel.NONE:
                    next_steps = ready(plan, progress, limit, policy)
                is_held = bool(next_steps) and self._throttle.is_paused
                for step_id in () if is_held else next_steps:
                    planned = plan.step(step_id)
                    assert planned is not None
                    running[pool.submit(work, planned)] = step_id
                    progress = replace(progress, running=progress.running | {step_id})
                trouble = trouble or _trouble_of(between)
                if trouble is not None:
                    stop.ask(StopLevel.POLITE)
                if not running and not is_held:
                    break
                patience = None if running else _LOOK_FOR_STOP
                awaited: list[Future[Any]] = [*running, changed]
                ended = set(wait(awaited, patience, FIRST_COMPLETED).done)
                for future in sorted(ended & running.keys(), key=lambda one: running[one]):
                    step_id = running.pop(future)
                    failure = future.exception()
                    trouble = trouble or failure
                    status = Status.FAILED if failure is not None else future.result()
                    if status is Status.PENDING and self._throttle.was_stopped(step_id):
                        progress = _stopped(progress, step_id)
                    else:
                        progress = _ended(progress, step_id, status)
                        if status is Status.FAILED and self._concerns_all(step_id):
                            policy = OnFailure.STOP
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


def _stopped(progress: Progress, step_id: StepId) -> Progress:
    """A step that was stopped by a request of its own does not stop the others."""
    running, stopped = progress.running - {step_id}, progress.stopped | {step_id}
    return replace(progress, running=running, stopped=stopped)
