"""What pure code may ask of the world, without knowing who answers."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from oraclepack.core.journal import KnownEvent
from oraclepack.core.plan import PlannedStep
from oraclepack.core.result import Status
from oraclepack.core.runstate import RunState
from oraclepack.core.step import StepId


class Clock(Protocol):
    """Time: a steady clock for durations, UTC for records."""

    def monotonic_ns(self) -> int: ...

    def now(self) -> datetime: ...


class Journal(Protocol):
    """The truth of a run: an event that was appended has happened, whatever dies next."""

    @property
    def state(self) -> RunState:
        """The fold of everything appended so far."""

    def append(self, event: KnownEvent) -> KnownEvent:
        """Number, date and keep an event; returns it as it was kept."""


Ask = Callable[[str, Callable[[float], bool]], bool]
"""Asks the person at the terminal; the second argument pauses, and tells when to give up."""


class Ended(msgspec.Struct, frozen=True):
    """A step that a thread has run to its end, or the trouble that ended it."""

    step_id: StepId
    status: Status
    trouble: BaseException | None = None


class Crew(Protocol):
    """Those who run steps side by side."""

    def begin(self, step: PlannedStep) -> None:
        """Begin a step; does not wait for it."""

    def await_ended(self) -> Sequence[Ended]:
        """Wait until one has ended at least, and tell which have."""
