"""What a front end learns of a run: first what is going to be done, then every event."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import Ask, RunState
from oraclepack.run.planning.plan import Decision
from oraclepack.shell.stop import Stop


class StepPreview(msgspec.Struct, frozen=True):
    """A step as it is before the command begins."""

    step_id: str
    title: str
    decision: Decision


class RunPreview(msgspec.Struct, frozen=True):
    """What a command is about to do."""

    run_id: str
    run_dir: Path
    """Where its logs will be."""
    steps: tuple[StepPreview, ...]
    lanes: Callable[[Sequence[str]], int | None]
    """How many steps make progress at once while these providers are asked, if that is known."""
    forecast: str = ""
    """What it is expected to ask and to cost, in one line; empty where it asks nothing."""


class Display(Protocol):
    """Observes one run: a screen, a log, a progress report.

    Events come from several threads. A display must not raise, and must not keep a step waiting.
    """

    def begin(self, preview: RunPreview) -> None:
        """The plan is made and not refused; nothing has been written yet."""

    def event(self, event: KnownEvent, state: RunState) -> None:
        """An event was added to the journal, also those of calls and their waits."""


class RunFrontEnd(Display, Protocol):
    """A display with what else a front end gives a run: when to stop, and whom to ask."""

    @property
    def stop(self) -> Stop:
        """Asked by signals, or by another thread."""

    @property
    def ask(self) -> Ask | None:
        """Asks the person at the terminal; None where nothing may be asked."""
