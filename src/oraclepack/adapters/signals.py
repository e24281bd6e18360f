"""Ctrl-C and termination, turned into a polite stop instead of an exception."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from oraclepack.adapters.stop import Stop
from oraclepack.core.attempt import StopLevel


class Caught:
    """Which signal asked us to stop, if one did."""

    def __init__(self) -> None:
        self.number: int | None = None


@contextmanager
def stopping_on_signals(stop: Stop) -> Iterator[Caught]:
    """The first signal stops politely, the second one at once. Only the main thread can listen."""
    caught = Caught()
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
