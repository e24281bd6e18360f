"""What pure code may ask of the world, without knowing who answers."""

from collections.abc import Callable
from typing import Protocol

from oraclepack.core.journal import KnownEvent
from oraclepack.core.runstate import RunState


class Journal(Protocol):
    """The truth of a run: an event that was appended has happened, whatever dies next."""

    @property
    def state(self) -> RunState:
        """The fold of everything appended so far."""

    def append(self, event: KnownEvent) -> KnownEvent:
        """Number, date and keep an event; returns it as it was kept."""


Ask = Callable[[str, Callable[[float], bool]], bool]
"""Asks the person at the terminal; the second argument pauses, and tells when to give up."""
