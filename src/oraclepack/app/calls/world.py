"""What all calls of a run share: the ports, the options, and what they must not do twice."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from oraclepack.adapters.cache import AnswerCache
from oraclepack.adapters.limits import Limits
from oraclepack.app.calls.options import CallOptions
from oraclepack.core.pack import Pack
from oraclepack.core.ports import Clock, Journal
from oraclepack.core.secrets import NOTHING_SECRET, Redactor
from oraclepack.intercept.classify import Failure
from oraclepack.intercept.retry import GiveUp, RetryAfter, Spent, next_try

_LOOK_AGAIN = 0.05
Place = tuple[str, int, int]
"""A call: its step, its attempt, its number."""


class Shared:
    """What the calls of one command know of each other. Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking: set[str] = set()
        self._spent = Spent()
        self.live: set[Place] = set()
        """Calls this command is answering, so that nobody takes them for a crash's leftovers."""
        self.answered: set[str] = set()
        """Keys that were answered by this command."""
        self.attached: dict[tuple[str, int], dict[str, str]] = {}
        """Attached files and their SHA-256, by step and attempt."""

    @contextmanager
    def alone(self, key: str | None, pause: Callable[[float], bool]) -> Iterator[bool]:
        """Nobody else of this command asks the same meanwhile; False when given up."""
        while key is not None and not self._claim(key):
            if not pause(_LOOK_AGAIN):
                yield False
                return
        try:
            yield True
        finally:
            if key is not None:
                with self._lock:
                    self._asking.discard(key)

    def _claim(self, key: str) -> bool:
        with self._lock:
            free = key not in self._asking
            self._asking.add(key)
            return free

    def attach(self, step: str, attempt: int, files: dict[str, str]) -> None:
        with self._lock:
            self.attached.setdefault((step, attempt), {}).update(files)

    def next_try(
        self, failure: Failure, tries: int, options: CallOptions, chance: float
    ) -> RetryAfter | GiveUp:
        """Decide about one more try, and take it from the run's budget."""
        with self._lock:
            decided = next_try(failure, tries, self._spent, options.retry, chance)
            if isinstance(decided, RetryAfter):
                self._spent = self._spent.plus(decided.seconds)
            return decided


class CallWorld(msgspec.Struct, frozen=True):
    """Everything answering a call needs beside the call itself."""

    root: Path
    run_dir: Path
    run_id: str
    pack: Pack
    journal: Journal
    cache: AnswerCache
    limits: Limits
    clock: Clock
    chance: Callable[[], float]
    """Draws from [0, 1)."""
    options: CallOptions
    redactor: Redactor = NOTHING_SECRET
    ask: Callable[[str], bool] | None = None
    """Asks the person at the terminal; None where there is none."""
    shared: Shared = msgspec.field(default_factory=Shared)
