"""A plan: for every step of a pack, what a command does with it and why."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from oraclepack.errors import Refusal
from oraclepack.pack.model import StepId


class Decision(StrEnum):
    """What a command does with a step."""

    RUN = "run"
    DONE = "done"
    """It is already done, and nothing that it depends on has changed."""
    SKIPPED = "skipped"
    """It was to run and cannot here: a tool is missing."""
    NOT_SELECTED = "not_selected"
    RESTORE = "restore"
    """It went well; outputs that are gone are put back from the run's own copies."""
    RECHECK = "recheck"
    """Its answer missed its contract and meets it now: it is recorded as ok, and nothing runs."""
    ADOPT = "adopt"
    """Its answers were there before the run; the user takes them, and nothing runs."""
    HELD = "held"
    """Its answer misses its contract. It was paid for, so it is asked for again only on request."""


_SENTENCES = {
    Decision.RUN: "runs",
    Decision.DONE: "is done",
    Decision.SKIPPED: "is skipped",
    Decision.NOT_SELECTED: "is not selected",
    Decision.RESTORE: "is done",
    Decision.RECHECK: "is done",
    Decision.ADOPT: "is done",
    Decision.HELD: "is held",
}


class PlannedStep(msgspec.Struct, frozen=True):
    """One step of a plan."""

    step_id: StepId
    decision: Decision
    reason: str
    """A clause a user understands: `its output out/03.md is gone`."""
    command_hash: str
    needs: tuple[StepId, ...] = ()
    """Earlier steps that write what it reads: without them it does not run."""
    after: tuple[StepId, ...] = ()
    """Earlier steps that must end before it begins, whatever their outcome."""
    barrier: bool = False
    """No other step runs at the same time."""
    only_asks: bool = False
    """It does nothing but ask questions over an API, as far as its text shows."""
    skip_reason: str | None = None
    """For the journal, when it is skipped: `tool_missing: codex`."""
    warnings: tuple[str, ...] = ()
    title: str = ""
    is_edited: bool = False
    """A person changed an output after it was recorded, or changed it back."""
    adopts: tuple[str, ...] = ()
    """Answers that were there before the run and that the user takes."""

    @property
    def runs(self) -> bool:
        return self.decision is Decision.RUN

    @property
    def sentence(self) -> str:
        return f"step {self.step_id} {_SENTENCES[self.decision]}: {self.reason}"


class ExistingAnswer(msgspec.Struct, frozen=True):
    """A file at the path of an answer that is to be asked for, and that this run did not record."""

    step_id: StepId
    path: str
    lacks: str = ""
    """Why it does not meet its contract; empty when it does."""
    completes: bool = False
    """With the other existing answers of its step nothing of the step is left to do."""


class Plan(msgspec.Struct, frozen=True):
    """What a command does with the steps of a pack, ordered by their ids."""

    steps: tuple[PlannedStep, ...]
    warnings: tuple[str, ...] = ()
    """What concerns no single step."""
    existing: tuple[ExistingAnswer, ...] = ()
    """Answers that are there, while the user has not said what becomes of them."""
    refusal: Refusal | None = None
    """Why the plan can be shown but not carried out: oracle is missing, an output is taken."""

    @property
    def to_run(self) -> tuple[PlannedStep, ...]:
        return self.of(Decision.RUN)

    def of(self, decision: Decision) -> tuple[PlannedStep, ...]:
        return tuple(step for step in self.steps if step.decision is decision)

    def step(self, step_id: str) -> PlannedStep | None:
        return next((step for step in self.steps if step.step_id == step_id), None)

    def why(self, step_id: str) -> str | None:
        """Why a step runs or does not; None when the pack has no such step."""
        step = self.step(step_id)
        return step.sentence if step else None


def listed(ids: Iterable[str]) -> str:
    """Step ids as people write them: `01, 03, 07`."""
    return ", ".join(ids)
