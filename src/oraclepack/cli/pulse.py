"""A sign of life: what runs now, said at least once a minute while something does."""

import threading
from collections.abc import Callable, Mapping

from oraclepack.cli.amounts import clock as clock_of
from oraclepack.core import journal as j
from oraclepack.core.journal import KnownEvent
from oraclepack.core.ports import Clock
from oraclepack.core.result import WAITS
from oraclepack.core.runstate import RunState
from oraclepack.core.step import PRELUDE

HEARTBEAT = 60.0
"""Seconds between two signs of life."""


class Running:
    """The steps at work and since when, gathered from events. Safe to use from several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since: dict[str, int] = {}
        self._waiting: set[str] = set()

    def feel(self, event: KnownEvent) -> None:
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
                case j.SessionFinished():
                    self._since.clear()
            match event:
                case j.Warned(step=str(step), code=str(code)) if code in WAITS:
                    self._waiting.add(step)
                case (
                    j.StepStarted()
                    | j.StepFinished()
                    | j.InvocationIntent()
                    | j.InvocationOutcome()
                ):
                    self._waiting.discard(event.step)

    def now(self) -> tuple[Mapping[str, int], frozenset[str]]:
        """Milliseconds each step has been at work, and those of them that wait."""
        with self._lock:
            now = self._clock.monotonic_ns()
            elapsed = {step: (now - at) // 1_000_000 for step, at in sorted(self._since.items())}
            return elapsed, frozenset(self._waiting & self._since.keys())


def beat(elapsed: Mapping[str, int], waiting: frozenset[str], settled: int, total: int) -> str:
    """`--  07 running 7:12, 03 waiting 0:41 [4/20]`."""
    told = (
        f"{step} {'waiting' if step in waiting else 'running'} {clock_of(milliseconds)}"
        for step, milliseconds in elapsed.items()
    )
    return f"--  {', '.join(told)} [{settled}/{total}]"


class Pulse:
    """Says what runs, again and again, from a thread of its own."""

    def __init__(self, say: Callable[[str], None], clock: Clock, every: float = HEARTBEAT) -> None:
        self._say = say
        self._every = every
        self._running = Running(clock)
        self._state: RunState | None = None
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def feel(self, event: KnownEvent, state: RunState) -> None:
        self._state = state
        self._running.feel(event)
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
                self._thread = threading.Thread(target=self._go, name="pulse", daemon=True)
                self._thread.start()

    def _go(self) -> None:
        while not self._over.wait(self._every):
            elapsed, waiting = self._running.now()
            state = self._state
            if elapsed and state is not None:
                settled = sum(state.step(one).status.is_settled for one in state.step_ids)
                self._say(beat(elapsed, waiting, settled, len(state.step_ids)))
