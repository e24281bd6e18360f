"""Slots of providers, shared by all processes of the user on this machine.

A slot is a file that its holder has locked: the kernel frees it when the holder dies.
Nothing waits inside the kernel, so everyone who waits can be told to stop.
"""

import os
import threading
from array import array
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Self

from oraclepack.core.limit import Limit, recent, until_next
from oraclepack.system import files
from oraclepack.system.clock import Clock
from oraclepack.system.environment import state_directory
from oraclepack.system.locks import hold, turn

_LOOK_AGAIN = 0.05
"""Seconds; only one waiter per provider and process looks at the disk."""
_PATIENCE = 1.0


class Slot:
    """The right to make one call. Given back by `release`, or by dying."""

    def __init__(self, descriptor: int = -1) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Limits:
    """Hands out slots, in the order they were asked for within this process."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._lock = threading.Lock()
        self._queues: dict[str, deque[object]] = {}

    def acquire(self, name: str, limit: Limit, pause: Callable[[float], bool]) -> Slot | None:
        """A slot of a provider, after waiting for it; None when `pause` says to give up.

        `name` is a word of ours: it becomes a file name.
        """
        if limit.is_none:
            return Slot()
        ticket = object()
        with self._lock:
            queue = self._queues.setdefault(name, deque())
            queue.append(ticket)
        try:
            return self._wait(name, limit, ticket, pause)
        finally:
            with self._lock:
                queue.remove(ticket)

    def _wait(
        self, name: str, limit: Limit, ticket: object, pause: Callable[[float], bool]
    ) -> Slot | None:
        while True:
            with self._lock:
                is_first = self._queues[name][0] is ticket
            found: Slot | float = self._try(name, limit) if is_first else _LOOK_AGAIN
            if isinstance(found, Slot):
                return found
            if not pause(min(found, _PATIENCE)):
                return None

    def _try(self, name: str, limit: Limit) -> Slot | float:
        """A slot, or how long it takes until looking again makes sense."""
        files.make_private(self._directory)
        with turn(self._directory / f"{name}.gate"):
            now = self._clock.now().timestamp()
            starts = self._directory / f"{name}.starts"
            begun = recent(_read_starts(starts), now)
            per_minute = limit.requests_per_minute
            if per_minute is not None and (wait := until_next(begun, now, per_minute)) > 0:
                return wait
            slot = self._free_slot(name, limit.max_concurrent)
            if slot is None:
                return _LOOK_AGAIN
            if per_minute is not None:
                data = array("d", (*begun, now)).tobytes()
                files.write_atomic(starts, data, mode=files.PRIVATE_FILE, durable=False)
            return slot

    def _free_slot(self, name: str, most: int | None) -> Slot | None:
        """Another process may allow more than we do, so all that are held count."""
        if most is None:
            return Slot()
        free: list[int] = []
        held, number = 0, 0
        while held < most and not free:
            path = self._directory / f"{name}.{number}.slot"
            descriptor = hold(path)
            held += descriptor is None
            free += [] if descriptor is None else [descriptor]
            number += 1
        # Those beyond the first free one may be held by a process with a higher limit.
        while (path := self._directory / f"{name}.{number}.slot").exists():
            descriptor = hold(path)
            held += descriptor is None
            if descriptor is not None:
                os.close(descriptor)
            number += 1
        if free and held >= most:
            os.close(free.pop())
        return Slot(free[0]) if free else None


def _read_starts(path: Path) -> "array[float]":
    data = files.read(path) or b""
    starts = array("d")
    starts.frombytes(data[: len(data) // starts.itemsize * starts.itemsize])
    return starts


def limits_directory() -> Path:
    """Where the slots of this user are."""
    return state_directory() / "limits"
