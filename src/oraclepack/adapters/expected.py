"""The attempts that may make calls, and whether their questions have been answered."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from oraclepack.shell.attempt import Attempt, StopLevel
from oraclepack.shell.stop import Stop
from oraclepack.system.environment import MARKER_VARIABLE


class Expected(msgspec.Struct):
    """An attempt that may make calls, and how many it has made."""

    step: str
    attempt: int
    calls: int = 0
    asking: int = 0
    """How many of them have asked what may be paid for, and are not at their end."""
    cut_short: bool = False
    """One of those came to its end only when the run was already being stopped."""


class Attempts:
    """All attempts that may make calls now. Steps and calls are at work in threads of their own."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._answered = threading.Condition(self._lock)
        self._expected: dict[str, Expected] = {}

    def expect(self, attempt: Attempt) -> None:
        """From now on calls with this attempt's token are its own. To be said before it starts."""
        with self._lock:
            self._expected[attempt.token] = Expected(attempt.step, attempt.number)

    def await_answers(self, attempt: Attempt, seconds: float) -> bool:
        """Wait a while for the questions an attempt has asked, since they may be paid for.

        False while one is not answered; for ever, if it was under way when the run was stopped.
        """
        with self._answered:
            expected = self._expected.get(attempt.token)
            if expected is None:
                return True
            if expected.asking and not expected.cut_short:
                self._answered.wait(seconds)
            return not expected.asking and not expected.cut_short

    def forget(self, attempt: Attempt) -> None:
        """The attempt is over: what still calls in its name is refused."""
        with self._lock:
            self._expected.pop(attempt.token, None)

    def caller_in(self, env: Mapping[str, str]) -> Expected | None:
        """Whose call it is that comes from this environment."""
        with self._lock:
            if MARKER_VARIABLE in env:
                return self._expected.get(env[MARKER_VARIABLE])
            # `env -i PATH="$PATH" oracle …`: with one step at work, it must be that one's.
            return next(iter(self._expected.values())) if len(self._expected) == 1 else None

    def next_number(self, expected: Expected) -> int:
        with self._lock:
            expected.calls += 1
            return expected.calls

    @contextmanager
    def counted(self, expected: Expected) -> Iterator[Callable[[], None]]:
        """Gives what a call says when it asks: from then on to its end the attempt is asking."""
        asks = False

        def ask() -> None:
            nonlocal asks
            with self._lock:
                expected.asking += not asks
                asks = True

        try:
            yield ask
        finally:
            with self._answered:
                expected.asking -= asks
                expected.cut_short |= asks and self._stop.level is not StopLevel.NONE
                self._answered.notify_all()
