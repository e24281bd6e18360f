"""Which steps start now.

Pure: the engine passes what is finished, failed and running, and asks again whenever
something ends. With a limit of one the steps run exactly in the order of their ids;
a larger limit changes the time, never the results. `auto` runs only questions at the same time.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from oraclepack.errors import Refusal
from oraclepack.pack.model import StepId
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep
from oraclepack.settings.value_kinds import AUTO, AUTO_STEPS, MaxParallel


class OnFailure(StrEnum):
    """What becomes of the other steps when one fails."""

    STOP = "stop"
    """Nothing new starts; running steps finish, since they may be paid for."""
    KEEP_GOING = "keep_going"
    """Everything runs that does not need the failed step."""


class Progress(msgspec.Struct, frozen=True):
    """How far a command has come with the steps it has to run."""

    finished: frozenset[StepId] = frozenset()
    """Ended well, or skipped themselves."""
    failed: frozenset[StepId] = frozenset()
    running: frozenset[StepId] = frozenset()
    stopped: frozenset[StepId] = frozenset()
    """Stopped one by one: what needs them does not run, everything else does."""

    @property
    def started(self) -> frozenset[StepId]:
        return self.finished | self.failed | self.running | self.stopped


def on_failure(
    *, keep_going: bool | None, stop_on_fail: bool | None, min_completion: float = 1.0
) -> OnFailure | Refusal:
    """The meaning of `--keep-going` and the older `--stop-on-fail`; None is a flag not given.

    A run that needs fewer than all steps continues after a failure: `--min-completion`
    below 1 means `--keep-going`, unless one of the two was given.
    """
    if keep_going and stop_on_fail:
        return Refusal("--keep-going and --stop-on-fail contradict each other", hint="give one")
    if keep_going or (keep_going is None and stop_on_fail is False):
        return OnFailure.KEEP_GOING
    if keep_going is None and stop_on_fail is None and min_completion < 1:
        return OnFailure.KEEP_GOING
    return OnFailure.STOP


def ready(
    plan: Plan, progress: Progress, limit: MaxParallel, policy: OnFailure = OnFailure.STOP
) -> tuple[StepId, ...]:
    """The steps to start now, in the order of their ids; none means wait, or the end."""
    if progress.failed and policy is OnFailure.STOP:
        return ()
    # Asked between any two steps, so only the open ones are looked at, and each once.
    planned = plan.to_run
    held = frozenset(step.step_id for step in plan.of(Decision.HELD))
    if held and policy is OnFailure.STOP:
        # It has failed and stays so: what comes before it runs, as it would have then.
        planned = tuple(step for step in planned if step.step_id < min(held))
    settled = progress.started - progress.running | _blocked(planned, progress, held)
    waiting = [step for step in planned if step.step_id not in settled]
    running = len(progress.running)
    most, in_order = (AUTO_STEPS, True) if limit == AUTO else (limit, False)
    starting: list[StepId] = []
    for place, step in enumerate(waiting):
        if running >= most:
            break
        is_next = not _waits(step, waiting[:place], in_order=in_order)
        if step.step_id not in progress.running and is_next:
            running += 1
            starting.append(step.step_id)
    return tuple(starting)


def _blocked(
    planned: Iterable[PlannedStep], progress: Progress, held: frozenset[StepId]
) -> set[StepId]:
    """The steps that will not run, since a step they need failed or will not run either."""
    blocked: set[StepId] = set()
    failed = progress.failed | progress.stopped | held
    if not failed:
        return blocked
    for step in planned:
        is_blocked = any(one in failed or one in blocked for one in step.needs)
        if is_blocked and step.step_id not in progress.started:
            blocked.add(step.step_id)
    return blocked


def _waits(step: PlannedStep, earlier: Iterable[PlannedStep], *, in_order: bool) -> bool:
    """Whether one of the earlier steps, none of them settled, must end before this one may start.

    A barrier waits for all of them, and all that come later wait for a barrier. `in_order` makes
    one of every step that does more than asking questions.
    """

    def is_alone(one: PlannedStep) -> bool:
        return one.barrier or (in_order and not one.only_asks)

    return any(
        is_alone(step)
        or is_alone(other)
        or other.step_id in step.needs
        or other.step_id in step.after
        for other in earlier
    )
