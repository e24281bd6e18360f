"""Progress of a run: one line per event, what runs once a minute, or the events as JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import starmap

import msgspec

from oraclepack.cli.render import to_stderr
from oraclepack.cli.text import clock as clock_of
from oraclepack.cli.text import seconds, some_of
from oraclepack.journal import events as j
from oraclepack.journal.costs import forecast_text
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import WAITS, Cache, CallWait, Status
from oraclepack.pack.model import PRELUDE
from oraclepack.run.run_display import RunPreview
from oraclepack.run.watch_run import LogProgress
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.digests import canonical_line
from oraclepack.system.printable import screen_json, visible

HEARTBEAT = 60.0
"""Seconds between two heartbeats."""
_ANY = 0
"""The number of a call that is not known; calls are counted from 1."""


class Activity(msgspec.Struct, frozen=True):
    """A step at work."""

    elapsed_ms: int
    waits: tuple[str, ...] = ()
    """What its calls wait for, the longest wait first: `429, retry in 0:45`."""
    is_waiting: bool = False
    """Calls of it wait, and none is being answered."""
    retries: int = 0
    """Tries of its calls beyond the first of each, those to come included."""


class _Calls(msgspec.Struct):
    """The calls of one running step, by their number."""

    waits: dict[int, tuple[int, CallWait]] = msgspec.field(default_factory=dict)
    """Since when, in nanoseconds, and what for."""
    open_calls: set[int] = msgspec.field(default_factory=set)
    """Those whose tool is at work."""
    retries: dict[int, int] = msgspec.field(default_factory=dict)


class RunningSteps:
    """The steps at work and since when, gathered from events. Safe to use from several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since: dict[str, int] = {}
        self._calls: dict[str, _Calls] = {}
        self._is_stopping = False

    @property
    def awaited_calls(self) -> int:
        """How many calls a polite stop of the command still waits for."""
        with self._lock:
            return self._is_stopping * sum(len(one.open_calls) for one in self._calls.values())

    def observe(self, event: KnownEvent) -> None:
        """Take note of an event."""
        with self._lock:
            match event:
                case j.StepStarted(step=step):
                    self._since[step] = self._clock.monotonic_ns()
                case j.StepFinished(step=step):
                    self._since.pop(step, None)
                case j.PreludeStarted():
                    self._since[PRELUDE] = self._clock.monotonic_ns()
                case j.PreludeFinished():
                    self._since.pop(PRELUDE, None)
                case j.CallsAwaited(step=""):
                    self._is_stopping = True
                case j.SessionStarted():
                    self._is_stopping = False
                case j.SessionFinished():
                    self._since.clear()
                    self._is_stopping = False
            self._observe_call(event)

    def _observe_call(self, event: KnownEvent) -> None:
        match event:
            case j.StepStarted(step=step) | j.StepFinished(step=step):
                self._calls.pop(step, None)
            case j.WarningRecorded(step=str(step), code=str(code)) if code in WAITS:
                calls = self._calls.setdefault(step, _Calls())
                # Runs of earlier versions do not say which call it is.
                wait = event.wait or CallWait(call=_ANY, reason=event.message)
                calls.waits[wait.call] = (self._clock.monotonic_ns(), wait)
                calls.open_calls.discard(wait.call)
                if wait.tries:
                    calls.retries[wait.call] = wait.tries
            case j.WaitFinished(step=step, call=number):
                self._calls.setdefault(step, _Calls()).waits.pop(number, None)
            case j.InvocationIntent() | j.InvocationOutcome():
                calls = self._calls.setdefault(event.step, _Calls())
                for number in (event.call, _ANY):
                    calls.waits.pop(number, None)
                if isinstance(event, j.InvocationOutcome):
                    calls.open_calls.discard(event.call)
                    calls.retries[event.call] = max(event.attempts - 1, 0)
                elif event.process is not None:
                    calls.open_calls.add(event.call)

    def now(self) -> Mapping[str, Activity]:
        """The steps at work, by their id."""
        with self._lock:
            now = self._clock.monotonic_ns()
            return {step: self._activity(step, now) for step in sorted(self._since)}

    def _activity(self, step: str, now: int) -> Activity:
        calls = self._calls.get(step, _Calls())
        waits = sorted(calls.waits.values(), key=lambda one: one[0])
        return Activity(
            elapsed_ms=(now - self._since[step]) // 1_000_000,
            waits=tuple(wait_text(wait, (now - since) // 1_000_000) for since, wait in waits),
            is_waiting=bool(waits) and not calls.open_calls,
            retries=sum(calls.retries.values()),
        )


def wait_text(wait: CallWait, passed_ms: int) -> str:
    """What a call waits for, and how long still, where that is known."""
    if wait.seconds is None:
        return wait.reason
    rest = max(round(wait.seconds * 1000) - passed_ms, 0)
    return f"{wait.reason}, retry in {clock_of(rest)}"


CTRL_C = "press Ctrl-C again to cancel"
"""How the stop of a command in the foreground is made urgent."""
STOP_NOW = "`oraclepack runs stop RUN --now` cancels"
"""The same from elsewhere."""


def stopping_text(calls: int, way: str) -> str:
    """`stopping: waiting for 2 calls; press Ctrl-C again to cancel them`."""
    some, them = ("1 call", "it") if calls == 1 else (f"{calls} calls", "them")
    return f"stopping: waiting for {some}; {way} {them}"


def beat(active: Mapping[str, Activity], settled: int, total: int) -> str:
    """`--  03 waiting 0:41 (slot of browser, 1 at a time), 07 running 7:12 [4/20]`."""
    return f"--  {', '.join(starmap(_activity_line, active.items()))} [{settled}/{total}]"


def _activity_line(step: str, activity: Activity) -> str:
    retries = activity.retries
    more = list(activity.waits)
    more += [f"{retries} {'retry' if retries == 1 else 'retries'}"] if retries else []
    state = "waiting" if activity.is_waiting else "running"
    why = f" ({'; '.join(more)})" if more else ""
    return f"{step} {state} {clock_of(activity.elapsed_ms)}{why}"


class Heartbeat:
    """Says what runs, again and again, from a thread of its own."""

    def __init__(self, say: Callable[[str], None], clock: Clock, every: float = HEARTBEAT) -> None:
        self._say = say
        self._every = every
        self._running = RunningSteps(clock)
        self._state: RunState | None = None
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def observe(self, event: KnownEvent, state: RunState) -> None:
        self._state = state
        self._running.observe(event)
        match event:
            case j.StepStarted() | j.PreludeStarted():
                self._start()
            case j.SessionFinished():
                self._over.set()

    def end(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="pulse", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(self._every):
            active = self._running.now()
            state = self._state
            if active and state is not None:
                settled = sum(state.step(one).status.is_settled for one in state.step_ids)
                self._say(beat(active, settled, len(state.step_ids)))


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
