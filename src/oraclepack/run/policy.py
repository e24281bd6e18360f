"""The result of a run: the figures of the CI policy, and the reply of the command."""

from collections.abc import Iterator

import msgspec

from oraclepack.answers.verification import FailedOutput
from oraclepack.errors import SIGNALLED, ExitCode
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import INTERRUPTED, RollbackStatus, Status
from oraclepack.pack.model import PRELUDE, StepId
from oraclepack.run.planning.plan import Decision, Plan
from oraclepack.view.step import shaped

_ROUNDING = 1e-9


def falls_short(count: int, whole: int, required: float) -> bool:
    """Less than the required share; of nothing, nothing can be missing."""
    return count < required * whole - _ROUNDING


class YieldReport(msgspec.Struct, frozen=True, kw_only=True):
    """How much work came out of the answers."""

    actionable: int
    answered: int
    ratio: float
    """Actionable tasks per answered step; 0 when nothing was answered."""
    required: float

    @property
    def shortfall(self) -> str | None:
        """Why that is not enough, if it is not."""
        if not falls_short(self.actionable, max(self.answered, 1), self.required):
            return None
        share = (
            f"yield {self.ratio:.2f} ({self.actionable} actionable from {self.answered} answered)"
        )
        return f"{share} is below --min-yield {self.required:g}"


class YieldPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The CI policy of `actionize`: the yield alone, also where it does not decide."""

    applies: bool
    """`--ci` was given, so the policy decides about the exit code; not about a rehearsal."""
    met: bool
    action_yield: YieldReport


def yield_of(actionable: int, answered: int, required: float) -> YieldReport:
    """The figures of the yield."""
    return YieldReport(
        actionable=actionable,
        answered=answered,
        ratio=round(actionable / answered, 4) if answered else 0.0,
        required=required,
    )


def weigh(
    *,
    failed: bool,
    met: bool | None,
    unweighable: bool,
    over_budget: bool = False,
    undecided: bool = False,
) -> ExitCode:
    """The exit code of the steps. In CI the policy decides, except where nothing can be judged.

    That is so after a rollback, a failed prelude, or a backlog that could not be written.
    `met` is None where no policy applies. A reached budget takes precedence over a failed step:
    the same command goes on with more money. `undecided`: what failed did so for nothing but
    calls of which it is unknown whether they were paid for.
    """
    if unweighable:
        return ExitCode.STEP_FAILED
    if over_budget and not met:
        return ExitCode.BUDGET
    if undecided and not met:
        return ExitCode.DECISION
    if met is not None:
        return ExitCode.DONE if met else ExitCode.POLICY
    return ExitCode.STEP_FAILED if failed else ExitCode.DONE


class CompletionReport(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what was to run went well: the figures of the CI policy."""

    ok: int
    to_run: int
    """Every selected step, those done before among them; self-skipped ones are left out."""
    ratio: float
    """Between 0 and 1; where nothing was to run, nothing is missing."""
    required: float
    self_skipped: tuple[str, ...]

    @classmethod
    def of(
        cls, ok: int, to_run: int, required: float, own: tuple[str, ...] = ()
    ) -> "CompletionReport":
        ratio = round(ok / to_run, 4) if to_run else 1.0
        return cls(ok=ok, to_run=to_run, ratio=ratio, required=required, self_skipped=own)

    @property
    def is_met(self) -> bool:
        return not falls_short(self.ok, self.to_run, self.required)

    @property
    def shortfall(self) -> str | None:
        """Why that is not enough, if it is not."""
        if self.is_met:
            return None
        share = f"completion {self.ok / self.to_run:.2f} ({self.ok} of {self.to_run})"
        return f"{share} is below --min-completion {self.required:g}"


class RunReply(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the steps, in the `data` of a reply."""

    completed_steps: tuple[str, ...]
    """Those that this command completed, also when a rollback took them back afterwards."""
    done_steps: tuple[str, ...]
    """Those that were done before it."""
    failed_step: str | None
    """The first that failed: a step, or `prelude`."""
    failed_steps: tuple[str, ...]
    skipped_steps: tuple[str, ...]
    resume_from: str | None
    """The first step that the next command has to run."""
    rollback_status: str
    rollback_error: str | None
    interrupted_steps: tuple[str, ...] = ()
    """Those that a signal stopped before their end; the next command runs them again."""
    budget_steps: tuple[str, ...] = ()
    """Those with a call that did not fit the budget: pending, and nothing is wrong with them."""
    awaited_steps: tuple[str, ...] = ()
    """Those of which a provider still computes an answer; the next command waits for it."""
    held_steps: tuple[str, ...] = ()
    """Failed ones that did not run: their answers miss their contracts and were paid for."""
    undecided_steps: tuple[str, ...] = ()
    """Failed ones of which it is unknown whether a call was paid for."""
    output_failures: tuple[FailedOutput, ...] = ()
    """Outputs of failed steps that do not meet their contract, as `verify-outputs` reports them."""
    rolled_back_steps: tuple[str, ...] = ()
    """Those of the completed steps of which a rollback took back files; they are pending again."""
    not_rolled_back: tuple[str, ...] = ()
    """The files that a failed rollback left as they were, relative to the project root."""

    @property
    def needs_decision(self) -> bool:
        """Nothing failed and nothing was stopped except steps with undecided or awaited calls."""
        others = set(self.failed_steps) - set(self.undecided_steps)
        is_open = bool(self.undecided_steps or self.awaited_steps)
        return is_open and not others and not self.interrupted_steps

    @property
    def is_unfinished(self) -> bool:
        """Some step failed or was stopped in this command; steps on hold were not begun."""
        return bool(self.unfinished_steps) or self.failed_step == PRELUDE

    @property
    def unfinished_steps(self) -> tuple[str, ...]:
        """The steps that failed or were stopped in this command."""
        failed = (one for one in self.failed_steps if one not in self.held_steps)
        return (*failed, *self.interrupted_steps, *self.budget_steps, *self.awaited_steps)


def completion(plan: Plan, state: RunState, required: float = 1.0) -> CompletionReport:
    """The share of selected steps that are ok; `state` is from before any rollback.

    A step that could not run because a tool is missing counts as one that did not go
    well; one that skipped itself did so on purpose, and does not count.
    """
    selected = [step for step in plan.steps if step.decision is not Decision.NOT_SELECTED]
    statuses = {step.step_id: state.step(step.step_id).status for step in selected}
    own = tuple(
        step.step_id for step in selected if step.runs and statuses[step.step_id] is Status.SKIPPED
    )
    ok = [step_id for step_id, status in statuses.items() if status is Status.OK]
    return CompletionReport.of(len(ok), len(selected) - len(own), required, own)


def reply(plan: Plan, state: RunState, taken_back: RunState | None = None) -> RunReply:
    """The reply of a command: from the state at its end, and from that after a rollback.

    The state at the end may include the rollback of an earlier command; it does not count.
    """
    ran = {step.step_id: state.step(step.step_id).status for step in plan.to_run}
    now = taken_back or state
    rollback = now.rollback if now is not state else None
    held = tuple(step.step_id for step in plan.of(Decision.HELD))
    rechecked = {
        step.step_id: state.step(step.step_id).status for step in plan.of(Decision.RECHECK)
    }
    failed = tuple(sorted({*_with(ran | rechecked, Status.FAILED), *held}))
    skipped = {step.step_id for step in plan.of(Decision.SKIPPED)}
    error = state.prelude_error
    prelude = PRELUDE if error is not None and error.code != INTERRUPTED else None
    return RunReply(
        completed_steps=_with(ran, Status.OK),
        done_steps=tuple(sorted(_done(plan, rechecked))),
        skipped_steps=tuple(sorted({*skipped, *_with(ran, Status.SKIPPED)})),
        failed_step=prelude or (failed[0] if failed else None),
        failed_steps=failed,
        held_steps=held,
        undecided_steps=tuple(one for one in failed if state.step(one).is_undecided),
        interrupted_steps=tuple(one for one in ran if state.step(one).is_interrupted),
        budget_steps=tuple(one for one in ran if state.step(one).is_over_budget),
        awaited_steps=tuple(one for one in ran if state.step(one).is_awaited),
        resume_from=next(
            (one for one in sorted({*ran, *held}) if not now.step(one).status.is_settled), None
        ),
        rollback_status=rollback.status if rollback else RollbackStatus.NOT_ATTEMPTED,
        rollback_error=rollback.error if rollback else None,
        output_failures=tuple(one for step_id in failed for one in _unmet(step_id, state)),
        rolled_back_steps=tuple(
            one for one in _with(ran, Status.OK) if rollback and now.step(one).rolled_back
        ),
        not_rolled_back=rollback.left if rollback else (),
    )


def _done(plan: Plan, rechecked: dict[StepId, Status]) -> Iterator[StepId]:
    """The steps for which nothing ran, and nothing had to."""
    for step in plan.steps:
        untouched = step.decision in {Decision.DONE, Decision.RESTORE}
        if untouched or rechecked.get(step.step_id) is Status.OK:
            yield step.step_id


def _unmet(step_id: str, state: RunState) -> Iterator[FailedOutput]:
    checked = state.step(step_id).verification
    for one in checked.failures if checked else ():
        yield shaped(FailedOutput, one, step_id=step_id)


def exit_code(
    reply: RunReply, figures: CompletionReport, *, ci: bool, signal: int | None = None
) -> int:
    """The exit code of a command; one that was stopped by a signal says so, as shells do."""
    if signal is not None:
        return SIGNALLED + signal
    rolled_back = reply.rollback_status is not RollbackStatus.NOT_ATTEMPTED
    return weigh(
        failed=bool(reply.failed_steps or reply.interrupted_steps or reply.awaited_steps),
        met=figures.is_met if ci else None,
        unweighable=rolled_back or reply.failed_step == PRELUDE,
        over_budget=bool(reply.budget_steps),
        undecided=reply.needs_decision,
    )


def _with(statuses: dict[StepId, Status], wanted_status: Status) -> tuple[str, ...]:
    return tuple(step_id for step_id, status in statuses.items() if status is wanted_status)
