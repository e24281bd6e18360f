"""The switch that stops attempts: thrown once, seen at once by every thread that waits."""

import os
import signal
from types import TracebackType
from typing import Self

from oraclepack.shell.attempt import StopLevel


class Stop:
    """A `StopSwitch` to wait on: each level is a pipe that becomes readable and stays so.

    Asking is safe in a signal handler (no lock is taken).
    """

    def __init__(self) -> None:
        self._level = StopLevel.NONE
        self._signal: int = signal.SIGINT
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

    @property
    def signal(self) -> int | None:
        """The signal that the exit code names: SIGINT where none was given; None before."""
        return None if self._level is StopLevel.NONE else self._signal

    def ask(self, level: StopLevel, signal: int | None = None) -> None:
        """Raise the level; it never falls. `signal` is the one that asked for it, if one did."""
        if signal is not None:
            self._signal = signal
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
