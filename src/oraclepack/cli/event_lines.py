"""Progress of a run: one line per event, or the events themselves as JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from oraclepack.cli.heartbeat import (
    CTRL_C,
    HEARTBEAT,
    STOP_NOW,
    Heartbeat,
    stopping_text,
    wait_text,
)
from oraclepack.cli.render import to_stderr
from oraclepack.cli.text import seconds, some_of
from oraclepack.journal import events as j
from oraclepack.journal.costs import forecast_text
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Cache, Status
from oraclepack.run.run_display import RunPreview
from oraclepack.run.watch_run import LogProgress
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.digests import canonical_line
from oraclepack.system.printable import screen_json, visible

Write = Callable[[str], None]


class NullDisplay:
    """A display that shows nothing; the base of the others."""

    shows_warnings = False

    def begin(self, preview: RunPreview) -> None:
        """Learn what is going to be done."""

    def event(self, event: KnownEvent, state: RunState) -> None:
        """Learn of an event."""

    def progress(self, progress: LogProgress) -> None:
        """Learn what a step of a watched run has printed."""

    def suspended(self) -> AbstractContextManager[None]:
        """Suspend the display while a question is asked."""
        return nullcontext()

    def close(self) -> None:
        """The command is over."""


class JsonLog(NullDisplay):
    """Every event as one line of JSON, as the journal keeps it, and nothing else."""

    shows_warnings = True

    def __init__(self, write: Write = to_stderr) -> None:
        self._write = write
        self._lock = threading.Lock()

    def event(self, event: KnownEvent, state: RunState) -> None:  # of a Display
        with self._lock:
            self._write(screen_json(canonical_line(event)).decode() + "\n")

    def progress(self, progress: LogProgress) -> None:
        with self._lock:
            self._write(screen_json(canonical_line(progress)).decode() + "\n")


class Lines(NullDisplay):
    """One line per event that matters to a person, and a heartbeat in between."""

    shows_warnings = True

    def __init__(
        self,
        write: Write = to_stderr,
        clock: Clock | None = None,
        every: float = HEARTBEAT,
        cancel: str = CTRL_C,
    ) -> None:
        """`cancel` says how a stop that waits for calls is made urgent."""
        self._write = write
        self._cancel = cancel
        self._run = ""
        self._lock = threading.Lock()
        self._pulse = Heartbeat(self._say, clock or SystemClock(), every)

    def begin(self, preview: RunPreview) -> None:
        self._run = preview.run_id

    def event(self, event: KnownEvent, state: RunState) -> None:
        line = line_of(event, state, self._cancel, self._run)
        if line is not None:
            self._say(line)
        self._pulse.observe(event, state)

    def close(self) -> None:
        """Stop the heartbeat."""
        self._pulse.end()

    def _say(self, line: str) -> None:
        with self._lock:
            # A message may hold line ends; each event is still one line.
            self._write(" ".join(visible(line).split("\n")) + "\n")


def line_of(  # noqa: PLR0911 - one per kind
    event: KnownEvent, state: RunState, cancel: str = CTRL_C, run: str = ""
) -> str | None:
    """The line of an event; None for those that only the journal needs.

    `run` is the name of its directory, which the events do not have.
    """
    match event:
        case (
            j.SessionStarted()
            | j.ForecastRecorded()
            | j.Imported()
            | j.PreludeStarted()
            | j.PreludeFinished()
        ):
            return _about_run(event, state, run)
        case j.StepStarted():
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"{event.step}  started{again}: {event.reason}"
        case j.StepFinished():
            return _finished(event, state)
        case j.InvocationOutcome():
            return _answered(event)
        case j.WarningRecorded():
            return _warned(event)
        case j.Quarantined():
            where = event.moves[0].target if event.moves else ""
            what = "changed" if event.reason else "earlier"
            return f"{event.step}  quarantined {len(event.moves)} {what} output(s): {where}"
        case j.OutputRestored():
            what = event.path if event.to_run else event.declared_path
            return f"{event.step}  put back {what}"
        case j.TreeChanged(files=files) if files:
            return f"{event.step}  changed {some_of(files)}"
        case j.RollbackStarted() | j.RollbackFinished():
            return _rollback(event)
        case _:
            return _steered(event, cancel)


def _steered(event: KnownEvent, cancel: str) -> str | None:
    """What others asked a command for, and what it waits for as a whole."""
    match event:
        case j.CallsAwaited():
            way = cancel if not event.step else STOP_NOW.replace("RUN", f"RUN {event.step}")
            return f"{event.step or '--'}  {stopping_text(event.calls, way)}"
        case j.ControlRequested():
            value = f" {event.value}" if event.value else ""
            return f"--  {event.action}{value}, asked for by {event.by}"
        case j.DecisionMade():
            return f"{event.step}  decided: {event.answer}, by {event.by}"
        case j.WaitStarted(step=""):
            return f"--  waiting for run {event.detail} to end"
        case _:
            return None


def _about_run(
    event: j.SessionStarted
    | j.ForecastRecorded
    | j.Imported
    | j.PreludeStarted
    | j.PreludeFinished,
    state: RunState,
    run: str,
) -> str | None:
    match event:
        case j.SessionStarted():
            settled, total = tally(state)
            name = run or (state.created.pack_id if state.created else "without a name")
            return f"--  run {name}: {settled} of {total} steps already done"
        case j.ForecastRecorded():
            return f"--  forecast: {forecast_text(event)}"
        case j.Imported():
            return f"--  took over {len(event.steps)} step(s) from {event.source}"
        case j.PreludeFinished(error=error):
            return None if error is None else "--  prelude failed"
        case _:
            return "--  prelude started"


def _warned(event: j.WarningRecorded) -> str:
    wait = event.wait
    if wait is None:
        return f"{event.step or '--'}  warning: {event.message}"
    again = f" (try {wait.tries + 1})" if wait.tries else ""
    return f"{event.step}  waiting: {wait_text(wait, 0)}{again}"


def _finished(event: j.StepFinished, state: RunState) -> str:
    took = f" in {seconds(event.duration_ms)}" if event.duration_ms is not None else ""
    settled, total = tally(state)
    match event.status:
        case Status.OK:
            how = " (taken over)" if event.imported else took
            return f"{event.step}  ok{how} [{settled}/{total}]"
        case Status.SKIPPED:
            return f"{event.step}  skipped: {event.skip_reason} [{settled}/{total}]"
        case Status.PENDING if state.step(event.step).is_over_budget:
            return f"{event.step}  over budget{took}"
        case Status.PENDING if state.step(event.step).is_awaited:
            return f"{event.step}  its answer is not ready{took}; the next command waits for it"
        case Status.PENDING:
            return f"{event.step}  interrupted{took}"
        case _:
            # The cause follows once, with the log and the next command, in the reply.
            reason = f" ({event.error.code})" if event.error else ""
            return f"{event.step}  {event.status}{took}{reason}"


def _answered(event: j.InvocationOutcome) -> str:
    call = f"{event.step}  {event.tool} call {event.call}"
    tries = f" after {event.attempts} tries" if event.attempts > 1 else ""
    if event.ok:
        source = " from the cache" if event.cache is Cache.HIT else ""
        source = " by an earlier call" if event.adopted else source
        return f"{call} answered{source}{tries}"
    reason = f" ({event.error.code})" if event.error else ""
    return f"{call} failed{tries}{reason}"


def _rollback(event: j.RollbackStarted | j.RollbackFinished) -> str:
    if isinstance(event, j.RollbackStarted):
        return "--  rolling back"
    reason = f": {event.error}" if event.error else ""
    return f"--  rollback {event.status}{reason}"


def tally(state: RunState) -> tuple[int, int]:
    """How many steps are settled, and how many there are."""
    return sum(state.step(one).status.is_settled for one in state.step_ids), len(state.step_ids)
