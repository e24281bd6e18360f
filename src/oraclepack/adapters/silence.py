"""Notices when a step has not written anything for a while."""

from collections.abc import Iterable
from pathlib import Path

from oraclepack.system.clock import Clock


class Silence:
    """Watches the sizes of log files, without ever reading them."""

    def __init__(self, logs: Iterable[str], limit: float | None, clock: Clock) -> None:
        self._logs = tuple(logs)
        self._limit = limit
        self._clock = clock
        self._sizes = self._look() if limit else ()
        self._since = clock.monotonic_ns()
        self._told = False

    def rest(self) -> float | None:
        """Seconds until it is worth looking again, None for never."""
        if not self._limit:
            return None
        if self._told:
            return self._limit
        return max(0.0, self._limit - self._lasted())

    def notice(self) -> float | None:
        """How long the silence has lasted, once, when it becomes too long."""
        if not self._limit:
            return None
        sizes = self._look()
        if sizes != self._sizes:
            self._sizes, self._since, self._told = sizes, self._clock.monotonic_ns(), False
        if self._told or self._lasted() < self._limit:
            return None
        self._told = True
        return self._lasted()

    def _lasted(self) -> float:
        return (self._clock.monotonic_ns() - self._since) / 1e9

    def _look(self) -> tuple[int, ...]:
        return tuple(_size(log) for log in self._logs)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return -1
