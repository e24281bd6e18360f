"""Signals of the terminal and of the machine, as requests to stop a run."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopOnSignals:
    """The first signal stops the run politely; another one, while it stops, stops it at once.

    A terminal that closes sends HUP, sometimes twice (the shell and the kernel): it never stops at
    once. Before `listen` a signal ends the command as usual: nothing has begun. Only the main
    thread can listen.
    """

    def __init__(self) -> None:
        self.stop = Stop()
        self._before: dict[int, Any] = {}

    def listen(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in _NUMBERS}

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        # Also after `runs stop`: the screen says then that Ctrl-C cancels.
        is_stopping = self.stop.level is not StopLevel.NONE
        is_urgent = is_stopping and number != signal.SIGHUP
        level = StopLevel.AT_ONCE if is_urgent else StopLevel.POLITE
        # A terminal that was closed is a request to end, and there is one exit code for that.
        self.stop.ask(level, signal.SIGTERM if number == signal.SIGHUP else number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self.stop.close()
