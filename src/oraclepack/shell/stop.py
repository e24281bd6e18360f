"""Stopping: the switch that all threads share, and the signals that end a process group."""

import os
import signal
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from oraclepack.shell.attempt import Grace, StopLevel


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
    def polite_fds(self) -> tuple[int, ...]:
        """What to poll for the first request to stop: readable from then on."""
        return (self._polite[0],)

    @property
    def urgent_fds(self) -> tuple[int, ...]:
        """The same for the request of an immediate end."""
        return (self._urgent[0],)

    @property
    def lasting_fds(self) -> tuple[int, int]:
        """Those of the first request and of an immediate end that are open to the very end."""
        return self._polite[0], self._urgent[0]

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


class StepStop(Stop):
    """Stops one step: asked for by itself, or by the stop of the whole run.

    Its level can be read after it was closed: a call may outlive its step.
    """

    def __init__(self, run: Stop) -> None:
        super().__init__()
        self._run = run

    @property
    def level(self) -> StopLevel:
        return max(super().level, self._run.level)

    @property
    def polite_fds(self) -> tuple[int, ...]:
        return (self._polite[0], *self._run.polite_fds)

    @property
    def urgent_fds(self) -> tuple[int, ...]:
        return (self._urgent[0], *self._run.urgent_fds)

    @property
    def lasting_fds(self) -> tuple[int, int]:
        return self._run.lasting_fds


KILL_PATIENCE = 10.0
"""Seconds: a killed process is gone at once, unless the kernel is stuck in a dead file system."""


def signal_group(group: int, number: int) -> None:
    """Signal a group whose leader is not reaped yet, so that the number is still its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        if number == signal.SIGTERM:
            os.killpg(group, signal.SIGCONT)  # a stopped one cannot obey


class Termination:
    """INT, grace, TERM, grace, KILL to a group of processes: which signal is due when."""

    def __init__(self, group: int, grace: Grace) -> None:
        self._group = group
        self._rest = [
            (signal.SIGINT, grace.interrupt),
            (signal.SIGTERM, grace.terminate),
            (signal.SIGKILL, KILL_PATIENCE),
        ]
        self.due: float | None = None
        """When the next signal follows, or the deadline passes; None until a stop is requested."""
        self.sent: signal.Signals | None = None
        """The last signal."""

    @property
    def is_last(self) -> bool:
        """Nothing follows."""
        return not self._rest

    def begin(self) -> None:
        """From now on signals are due, the first one at once."""
        if self.due is None:
            self.due = time.monotonic()

    def go_on(self, *, hurry: bool) -> None:
        """Send the signal that is due, if one is; in a hurry only the last one."""
        if self.due is None or not self._rest or (time.monotonic() < self.due and not hurry):
            return
        if hurry:
            del self._rest[:-1]
        self.sent, patience = self._rest.pop(0)
        signal_group(self._group, self.sent)
        self.due = time.monotonic() + patience
