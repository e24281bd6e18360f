"""The heartbeat: what runs now, printed at least once a minute while something does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import starmap

import msgspec

from oraclepack.cli.text import clock as clock_of
from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import WAITS, CallWait
from oraclepack.pack.model import PRELUDE
from oraclepack.system.clock import Clock

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
    return f"--  {', '.join(starmap(_line, active.items()))} [{settled}/{total}]"


def _line(step: str, activity: Activity) -> str:
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
