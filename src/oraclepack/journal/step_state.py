"""The state of one step, folded from its events."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import (
    AWAITED,
    BATCH_PENDING,
    BUDGET,
    DETACHED,
    INTERRUPTED,
    UNDECIDED,
    UNMET,
    Status,
    Verification,
)
from oraclepack.shell.attempt import ProcessIdentity

CallEvent: TypeAlias = (
    j.InvocationIntent | j.InvocationOutcome | j.CallIdentified | j.BudgetReserved | j.BudgetSettled
)
"""What becomes of one call of a step."""
StepEvent: TypeAlias = (
    j.StepStarted
    | j.StepSpawned
    | j.StepFinished
    | j.OutputBackedUp
    | j.OutputRecorded
    | j.OutputRevised
    | j.OutputEdited
    | j.Quarantined
    | j.TreeRecorded
    | j.TreeChanged
    | j.ChangeUndone
)


class Invocation(msgspec.Struct, frozen=True):
    """One call of a tool: its intent, and its outcome once there is one."""

    attempt: int
    call: int
    intent: j.InvocationIntent | None = None
    outcome: j.InvocationOutcome | None = None
    reserved: tuple[j.BudgetReserved, ...] = ()
    """What its tries may come to, as long as that is not settled."""
    settled: tuple[j.BudgetSettled, ...] = ()

    @property
    def record(self) -> j.InvocationOutcome | j.InvocationIntent | None:
        """The latest that is known of it."""
        return self.outcome or self.intent

    @property
    def tool(self) -> str:
        return self.record.tool if self.record else ""

    @property
    def is_open(self) -> bool:
        """It was meant to be made and nothing is known of its end: it may have been paid for."""
        if self.outcome is None or self.outcome.cancelled:
            return True
        return self.outcome.error is not None and self.outcome.error.code == DETACHED


class StepState(msgspec.Struct, frozen=True):
    """A step as the journal knows it: its last attempt, and what its earlier ones left."""

    status: Status = Status.PENDING
    attempts: int = 0
    command_hash: str | None = None
    reason: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    duration_ms: int | None = None
    exit_code: int | None = None
    error: StepError | None = None
    skip_reason: str | None = None
    verification: Verification | None = None
    stdout_log: str | None = None
    stderr_log: str | None = None
    token: str | None = None
    """The mark in the environment of everything the attempt started."""
    process: ProcessIdentity | None = None
    """The shell of the running attempt; the next command ends it if it outlived its runner."""
    outputs: tuple[j.RecordedOutput, ...] = ()
    """Outputs of the last attempt, in the order they were recorded."""
    invocations: tuple[Invocation, ...] = ()
    """The calls of all attempts: what was paid for stays known."""
    accepted: tuple[j.OutputRevised, ...] = ()
    """Outputs that a person took as they are; kept until an attempt writes something else."""
    edited: tuple[j.OutputEdited, ...] = ()
    """Outputs that a person changed after they were recorded."""
    backed_up: tuple[j.OutputBackedUp, ...] = ()
    """Files that the last attempt found; also those of an attempt that is about to start."""
    attached: Mapping[str, str] = msgspec.field(default_factory=dict)
    quarantined: tuple[j.Quarantined, ...] = ()
    imported: bool = False
    tree_before: str | None = None
    """The work tree before the last attempt, while nothing is known of the tree after it."""
    changes: tuple[j.TreeChanged, ...] = ()
    """What its attempts changed in the work tree and was not undone, in order."""
    rolled_back: bool = False
    """It ran, and its outputs were taken back."""

    def _is_pending_for(self, *codes: str) -> bool:
        is_pending = self.status is Status.PENDING and not self.rolled_back
        return is_pending and self.error is not None and self.error.code in codes

    @property
    def is_interrupted(self) -> bool:
        """A signal stopped its last attempt: it is pending, and nothing is wrong with it."""
        return self._is_pending_for(INTERRUPTED)

    @property
    def is_over_budget(self) -> bool:
        """A call of its last attempt did not fit the budget: it is pending, nothing is wrong."""
        return self._is_pending_for(BUDGET)

    @property
    def is_awaited(self) -> bool:
        """A provider still computes an answer that was paid for: it is pending, not failed."""
        return self._is_pending_for(AWAITED, BATCH_PENDING)

    @property
    def is_undecided(self) -> bool:
        """It failed for nothing but that it is unknown whether a call was paid for."""
        return (
            self.status is Status.FAILED and self.error is not None and self.error.code == UNDECIDED
        )

    @property
    def has_bad_attempt(self) -> bool:
        """Its last attempt failed or was interrupted: what it left is no result."""
        stopped = self.is_interrupted or self.is_over_budget or self.is_awaited
        return stopped or self.status in {Status.FAILED, Status.RUNNING}

    @property
    def misses_contract(self) -> bool:
        """It failed for nothing but that a whole answer misses its contract."""
        return self.status is Status.FAILED and self.error is not None and self.error.code in UNMET

    @property
    def is_accepted(self) -> bool:
        """It is ok because a person took an output as it is."""
        return self.status is Status.OK and bool(self.accepted)

    @property
    def is_adopted(self) -> bool:
        """It is ok with an answer that was there before the run."""
        return self.is_accepted and any(one.adopted for one in self.accepted)

    @property
    def word(self) -> str:
        """Its status as people read it."""
        if self.is_interrupted:
            return "interrupted"
        if self.is_over_budget:
            return "budget"
        if self.is_adopted:
            return "adopted"
        if self.is_awaited:
            return "awaited"
        return "accepted" if self.is_accepted else self.status.value

    @property
    def change(self) -> j.TreeChanged | None:
        """What can be taken back next."""
        return self.changes[-1] if self.changes else None

    @property
    def declared(self) -> dict[str, j.RecordedOutput]:
        """Its outputs by the paths where the pack asked for them."""
        return {one.declared_path: one for one in self.outputs if one.declared_path}

    @property
    def accepted_at(self) -> dict[str, j.OutputRevised]:
        """What a person accepted in place of an output, by path."""
        return {one.declared_path: one for one in self.accepted}

    def outcomes(self, attempt: int) -> tuple[j.InvocationOutcome, ...]:
        """What became of the calls of an attempt, the last one first."""
        ends = (call.outcome for call in self.invocations if call.attempt == attempt)
        return tuple(sorted((one for one in ends if one is not None), key=lambda one: -one.seq))

    def last_invocations(self) -> tuple[Invocation, ...]:
        """The calls of the last attempt."""
        return tuple(call for call in self.invocations if call.attempt == self.attempts)


PRISTINE = StepState()
"""A step that nothing happened to yet."""


def apply_step(step: StepState, event: StepEvent) -> StepState:  # noqa: PLR0911 - one per kind
    """The step after one more event about it."""
    match event:
        case j.StepStarted():
            return _started(step, event)
        case j.StepSpawned():
            return replace(step, process=event.process)
        case j.StepFinished():
            return _finished(step, event)
        case j.OutputRecorded():
            return _recorded(step, event)
        case j.OutputBackedUp():
            rest = (one for one in step.backed_up if one.attempt == event.attempt)
            return replace(step, backed_up=(*rest, event))
        case j.OutputRevised():
            return _revised(step, event)
        case j.OutputEdited():
            recorded = any(
                (one.declared_path, one.sha256) == (event.declared_path, event.sha256)
                for one in step.outputs
            )
            others = _not_at(step.edited, event.declared_path)
            return replace(step, edited=others if recorded else (*others, event))
        case j.Quarantined():
            return replace(step, quarantined=(*step.quarantined, event))
        case _:
            return _apply_tree(step, event)


def _apply_tree(
    step: StepState, event: j.TreeRecorded | j.TreeChanged | j.ChangeUndone
) -> StepState:
    match event:
        case j.TreeRecorded():
            return replace(step, tree_before=event.tree)
        case j.TreeChanged():
            mine = (event,) if event.files else ()
            return replace(step, tree_before=None, changes=(*step.changes, *mine))
        case _:
            left = tuple(one for one in step.changes if one.attempt != event.attempt)
            return replace(step, changes=left)


def rolled_back_state(step: StepState) -> StepState:
    """The step after a rollback: pending, with what is known of its last attempt."""
    return replace(
        step, status=Status.PENDING, outputs=(), process=None, verification=None, rolled_back=True
    )


def _started(step: StepState, event: j.StepStarted) -> StepState:
    return StepState(
        status=Status.RUNNING,
        attempts=max(step.attempts + 1, event.attempt),
        command_hash=event.command_hash,
        reason=event.reason,
        started_at=event.at,
        stdout_log=event.stdout_log,
        stderr_log=event.stderr_log,
        token=event.token,
        invocations=step.invocations,
        accepted=step.accepted,
        quarantined=step.quarantined,
        changes=step.changes,
        backed_up=tuple(one for one in step.backed_up if one.attempt == event.attempt),
    )


def _recorded(step: StepState, event: j.OutputRecorded) -> StepState:
    others = (output for output in step.outputs if output.path != event.path)
    accepted = (
        one
        for one in step.accepted
        if one.declared_path != event.declared_path or one.sha256 == event.sha256
    )
    return replace(
        step,
        outputs=(*others, event),
        accepted=tuple(accepted),
        edited=_not_at(step.edited, event.declared_path),
    )


def _revised(step: StepState, event: j.OutputRevised) -> StepState:
    """The recorded output is another one; it stays in its place among the outputs."""
    known = any(output.path == event.path for output in step.outputs)
    outputs = tuple(event if output.path == event.path else output for output in step.outputs)
    others = tuple(one for one in step.accepted if one.declared_path != event.declared_path)
    return replace(
        step,
        outputs=outputs if known else (*outputs, event),
        accepted=(*others, event) if event.accepted else others,
        edited=_not_at(step.edited, event.declared_path),
    )


def _not_at(edited: tuple[j.OutputEdited, ...], path: str | None) -> tuple[j.OutputEdited, ...]:
    return tuple(one for one in edited if one.declared_path != path)


def _finished(step: StepState, event: j.StepFinished) -> StepState:
    return replace(
        step,
        status=event.status,
        attempts=max(step.attempts, event.attempt),
        command_hash=event.command_hash or step.command_hash,
        finished_at=event.at,
        duration_ms=event.duration_ms,
        exit_code=event.exit_code,
        error=event.error,
        skip_reason=event.skip_reason,
        verification=event.verification,
        attached=event.attached,
        process=None,
        imported=event.imported,
        rolled_back=False,
    )


def apply_call(call: Invocation | None, event: CallEvent) -> Invocation:
    """A call after one more event about it; None where it is the first."""
    now = call or Invocation(event.attempt, event.call)
    match event:
        case j.InvocationIntent():
            return replace(now, intent=event)
        case j.InvocationOutcome():
            return replace(now, outcome=event)
        case j.CallIdentified():
            return replace(now, intent=now.intent and replace(now.intent, identity=event.identity))
        case j.BudgetReserved():
            return replace(now, reserved=(*now.reserved, event))
        case _:
            rest = tuple(one for one in now.reserved if one.reservation != event.reservation)
            return replace(now, reserved=rest, settled=(*now.settled, event))
