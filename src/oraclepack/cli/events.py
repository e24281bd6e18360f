"""What a run says while it runs: one line per event, or the events themselves as JSON."""

import sys
import threading
from collections.abc import Callable

from oraclepack.cli.render import visible
from oraclepack.core import journal as j
from oraclepack.core.digest import canonical_line
from oraclepack.core.journal import KnownEvent
from oraclepack.core.result import Status
from oraclepack.core.runstate import RunState

Write = Callable[[str], None]


def to_stderr(text: str) -> None:
    """Talk goes to stderr; when nobody listens any more, the run goes on all the same."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


class JsonLog:
    """Every event as one line of JSON, as the journal keeps it."""

    def __init__(self, write: Write = to_stderr) -> None:
        self._write = write
        self._lock = threading.Lock()

    def __call__(self, event: KnownEvent, _state: RunState) -> None:
        with self._lock:
            self._write(canonical_line(event).decode() + "\n")


class Lines:
    """One line per event that a person wants to know of."""

    def __init__(self, write: Write = to_stderr) -> None:
        self._write = write
        self._lock = threading.Lock()

    def __call__(self, event: KnownEvent, state: RunState) -> None:
        line = self._line(event, state)
        if line is not None:
            with self._lock:
                self._write(visible(line) + "\n")

    def _line(self, event: KnownEvent, state: RunState) -> str | None:  # noqa: PLR0911 - one per kind
        match event:
            case j.StepStarted():
                again = f", attempt {event.attempt}" if event.attempt > 1 else ""
                return f"{event.step}  started{again}: {event.reason}"
            case j.StepFinished():
                return self._finished(event, state)
            case j.PreludeFinished(error=error) if error is not None:
                return f"--  prelude failed: {error.message}"
            case j.Warned():
                return f"{event.step or '--'}  warning: {event.message}"
            case j.Quarantined():
                where = event.moves[0].target if event.moves else ""
                return f"{event.step}  set aside {len(event.moves)} earlier output(s): {where}"
            case j.RollbackStarted():
                return "--  rolling back"
            case j.RollbackFinished():
                told = f": {event.error}" if event.error else ""
                return f"--  rollback {event.status}{told}"
            case _:
                return None

    def _finished(self, event: j.StepFinished, state: RunState) -> str:
        settled = sum(state.step(one).status.is_settled for one in state.step_ids)
        took = f" in {seconds(event.duration_ms)}" if event.duration_ms is not None else ""
        tally = f"[{settled}/{len(state.step_ids)}]"
        match event.status:
            case Status.OK:
                return f"{event.step}  ok{took} {tally}"
            case Status.SKIPPED:
                return f"{event.step}  skipped: {event.skip_reason} {tally}"
            case _:
                told = f" {event.error.code}: {event.error.message}" if event.error else ""
                return f"{event.step}  {event.status}{took}{told}"


def seconds(milliseconds: int) -> str:
    """A duration as people say it: `0.4s`, `41s`, `7:12`, `1:02:03`."""
    total = milliseconds / 1000
    if total < 10:  # noqa: PLR2004
        return f"{total:.1f}s"
    if total < 60:  # noqa: PLR2004
        return f"{total:.0f}s"
    minutes, rest = divmod(round(total), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
