"""What `run` tells when it ends: the shape of its data."""

from collections.abc import Sequence

import msgspec

from oraclepack.answers.verification import Failed
from oraclepack.core.policy import completion_shortfall
from oraclepack.journal.statuses import UNMET
from oraclepack.pack.model import PRELUDE


class StepTold(msgspec.Struct, frozen=True, kw_only=True):
    """One step in the reply of a command."""

    step_id: str
    decision: str
    reason: str
    status: str
    attempts: int
    duration_ms: int | None = None
    error: str | None = None
    message: str | None = None
    transient: bool | None = None
    """Whether the error may pass by itself; null without an error."""
    retry_after: float | None = None
    """Seconds after which the provider asks to be tried again."""
    stdout_log: str | None = None
    stderr_log: str | None = None
    changed_files: tuple[str, ...] = ()
    """What its last attempt changed in the work tree and nobody took back."""
    patch: str | None = None
    """That change, relative to the run directory."""


class CompletionTold(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the CI policy."""

    ok: int
    to_run: int
    figure: float
    required: float
    self_skipped: tuple[str, ...]

    @property
    def shortfall(self) -> str | None:
        """Why that is not enough, if it is not."""
        return completion_shortfall(self.ok, self.to_run, self.required)


def ways_on(steps: Sequence[str]) -> str:
    """The three ways on from answers that miss their contracts: they were paid for."""
    return (
        f"`oraclepack accept PACK {steps[0]} --reason …` takes the answer as it is; "
        "or correct the file and run again; "
        f"or `oraclepack run PACK --rerun {','.join(steps)} --refresh` asks again"
    )


class RunTold(msgspec.Struct, frozen=True, kw_only=True):
    """The data of `run`."""

    run_id: str
    run_dir: str
    continued: bool
    reason: str
    """Why this run and no other."""
    status: str
    completed_steps: tuple[str, ...]
    """Those that this command completed, also when a rollback took them back afterwards."""
    done_steps: tuple[str, ...]
    failed_step: str | None
    failed_steps: tuple[str, ...]
    prelude_error: str | None = None
    """Why the prelude failed, if it did."""
    prelude_stdout_log: str | None = None
    prelude_stderr_log: str | None = None
    """Of the prelude that failed."""
    skipped_steps: tuple[str, ...]
    resume_from: str | None
    rollback_status: str
    rollback_error: str | None
    completion: CompletionTold
    steps: tuple[StepTold, ...]
    dry_run: bool = False
    interrupted_steps: tuple[str, ...] = ()
    """Those that a signal stopped before their end."""
    held_steps: tuple[str, ...] = ()
    """Failed ones that did not run: their answers miss their contracts and were paid for."""
    output_failures: tuple[Failed, ...] = ()
    """Outputs of failed steps that do not meet their contract, as `verify-outputs` tells them."""
    rolled_back_steps: tuple[str, ...] = ()
    """Those of the completed steps of which a rollback took back files; they are pending again."""
    not_taken_back: tuple[str, ...] = ()
    """The files that a failed rollback left as they were, relative to the project root."""

    @property
    def cause(self) -> str | None:
        """The first failure and why: `step 01 failed: RATE_LIMITED: Rate limit reached …`."""
        if self.failed_step is None:
            return None
        if self.failed_step == PRELUDE:
            return f"the prelude failed: {self.prelude_error or 'no reason is known'}"
        first = next((one for one in self._failed if one.step_id == self.failed_step), None)
        why = f": {first.error}: {first.message}" if first and first.error else ""
        others = [step for step in self.failed_steps if step != self.failed_step]
        more = f" (also failed: {', '.join(others)})" if others else ""
        return f"step {self.failed_step} failed{why}{more}"

    @property
    def is_retryable(self) -> bool:
        """Everything that failed may pass by itself, so the same command may succeed later."""
        return bool(self._failed) and all(step.transient for step in self._failed)

    @property
    def retry_after(self) -> float | None:
        """When the last of the providers that failed us wants to be tried again, in seconds."""
        if not self.is_retryable:
            return None
        return max((s.retry_after for s in self._failed if s.retry_after is not None), default=None)

    @property
    def unmet_steps(self) -> tuple[str, ...]:
        """The failed steps with a whole answer that misses its contract."""
        return tuple(step.step_id for step in self._failed if step.error in UNMET)

    @property
    def ways_on(self) -> str | None:
        """What a person can do where nothing but such answers stands in the way."""
        if not self.unmet_steps or set(self.unmet_steps) != set(self.failed_steps):
            return None
        return ways_on(self.unmet_steps)

    @property
    def _failed(self) -> list[StepTold]:
        return [step for step in self.steps if step.step_id in self.failed_steps]

    @property
    def counted(self) -> str:
        """How many steps came to what, in words."""
        counts = [
            (len(self.completed_steps), "ok"),
            (len(self.done_steps), "done before"),
            (len(self.skipped_steps), "skipped"),
            (len(self.failed_steps), "failed"),
            (len(self.interrupted_steps), "interrupted"),
        ]
        nothing = "no step ran" if self.failed_step else "nothing to do"
        return ", ".join(f"{count} {word}" for count, word in counts if count) or nothing
