"""The switch that stops attempts: thrown once, seen at once by every thread that waits."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from oraclepack.shell.attempt import StopLevel


class Stop:
    """A `StopSwitch` to wait on: each level is a pipe that becomes readable and stays so.

    Asking is safe in a signal handler (no lock is taken).
    """

    def __init__(self) -> None:
        self._level = StopLevel.NONE
        self._polite = os.pipe()
        self._urgent = os.pipe()

    @property
    def level(self) -> StopLevel:
        return self._level

    @property
    def polite_fd(self) -> int:
        """Readable from the first request on."""
        return self._polite[0]

    @property
    def urgent_fd(self) -> int:
        """Readable once someone asked for an end at once."""
        return self._urgent[0]

    def ask(self, level: StopLevel) -> None:
        """Raise the level; it never falls."""
        if level <= self._level:
            return
        before, self._level = self._level, level
        if before is StopLevel.NONE:
            os.write(self._polite[1], b"!")
        if level is StopLevel.AT_ONCE:
            os.write(self._urgent[1], b"!")

    def close(self) -> None:
        for descriptor in (*self._polite, *self._urgent):
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class CaughtSignal:
    """Which signal asked us to stop, if one did."""

    def __init__(self) -> None:
        self.number: int | None = None


@contextmanager
def stopping_on_signals(stop: Stop) -> Iterator[CaughtSignal]:
    """The first signal stops politely, the second one at once. Only the main thread can listen."""
    caught = CaughtSignal()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return

    def ask(number: int, _frame: FrameType | None) -> None:
        again = caught.number is not None
        # A terminal that was closed is a request to end, and there is one exit code for that.
        caught.number = signal.SIGTERM if number == signal.SIGHUP else number
        stop.ask(StopLevel.AT_ONCE if again else StopLevel.POLITE)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
