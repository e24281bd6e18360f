"""Rate limits: how many calls of a provider run at once, and how many start per minute.

All processes of the user on this machine share them. A call needs a slot, a file that its
process locks: the kernel releases the lock when the process dies. No wait blocks in the kernel,
so every wait can be interrupted.
"""

import os
import threading
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from oraclepack.system import files
from oraclepack.system.clock import Clock
from oraclepack.system.environment import state_directory
from oraclepack.system.locks import hold, turn

MINUTE = 60.0


class Limit(msgspec.Struct, frozen=True):
    """`[providers.<name>]`. None: no limit of ours."""

    max_concurrent: int | None = None
    requests_per_minute: int | None = None

    @property
    def is_none(self) -> bool:
        return self.max_concurrent is None and self.requests_per_minute is None


DEFAULTS: Mapping[str, Limit] = {"browser": Limit(max_concurrent=1)}
"""A browser profile can be used by one call at a time."""


def limit_for(name: str, given: Mapping[str, Limit]) -> Limit:
    """The limit of a provider, or of one browser profile (`browser-…`)."""
    family = "browser" if name.startswith("browser") else name
    return given.get(family) or DEFAULTS.get(family) or Limit()


def slot_reason(name: str, limit: Limit) -> str:
    """What a call waits for: `slot of browser, 1 at a time`."""
    words = [f"slot of {'browser' if name.startswith('browser') else name}"]
    words += [f"{limit.max_concurrent} at a time"] if limit.max_concurrent is not None else []
    per_minute = limit.requests_per_minute
    words += [f"{per_minute} per minute"] if per_minute is not None else []
    return ", ".join(words)


def lanes(parallel: int, limits: Sequence[Limit]) -> int | None:
    """How many steps make progress at once; None where a limit per minute decides."""
    if any(limit.requests_per_minute is not None for limit in limits):
        return None
    caps = [limit.max_concurrent for limit in limits if limit.max_concurrent is not None]
    return max(min([parallel, *caps]), 1)


def lanes_for(parallel: int, given: Mapping[str, Limit], providers: Sequence[str]) -> int | None:
    """`lanes` for calls of these providers, each with its own limit."""
    return lanes(parallel, [limit_for(name, given) for name in providers])


def recent(starts: Sequence[float], now: float) -> tuple[float, ...]:
    """The starts within the last minute; one in the future (a clock set back) is dropped."""
    return tuple(start for start in starts if now - MINUTE < start <= now)


def until_next(starts: Sequence[float], now: float, per_minute: int) -> float:
    """Seconds until one more call may start without exceeding `per_minute` in any minute."""
    last = sorted(recent(starts, now))
    if len(last) < per_minute:
        return 0.0
    return last[-per_minute] + MINUTE - now


_POLL_SECONDS = 0.05
"""Seconds between two checks. Only one waiter per provider and process reads the disk."""
_LONGEST_PAUSE = 1.0


class FileSlot:
    """A `Slot`: the right to make one call. Freed by `release`, or when the process dies."""

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


class FileLimits:
    """`Limits` in files. Within this process slots are given in the order of the requests."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._lock = threading.Lock()
        self._queues: dict[str, deque[object]] = {}

    def acquire(self, name: str, limit: Limit, pause: Callable[[float], bool]) -> FileSlot | None:
        """Wait for a slot of a provider; None when `pause` returns False.

        `name` becomes a file name, so it must not come from outside.
        """
        if limit.is_none:
            return FileSlot()
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
    ) -> FileSlot | None:
        while True:
            with self._lock:
                is_first = self._queues[name][0] is ticket
            slot: FileSlot | float = self._try(name, limit) if is_first else _POLL_SECONDS
            if isinstance(slot, FileSlot):
                return slot
            if not pause(min(slot, _LONGEST_PAUSE)):
                return None

    def _try(self, name: str, limit: Limit) -> FileSlot | float:
        """A slot, or the seconds until the next check."""
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
                return _POLL_SECONDS
            if per_minute is not None:
                data = array("d", (*begun, now)).tobytes()
                files.write_atomic(starts, data, mode=files.PRIVATE_FILE, durable=False)
            return slot

    def _free_slot(self, name: str, most: int | None) -> FileSlot | None:
        """Another process may allow more than we do, so all that are held count."""
        if most is None:
            return FileSlot()
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
        return FileSlot(free[0]) if free else None


def _read_starts(path: Path) -> "array[float]":
    data = files.read(path) or b""
    starts = array("d")
    starts.frombytes(data[: len(data) // starts.itemsize * starts.itemsize])
    return starts


def limits_directory() -> Path:
    """Where the slots of this user are."""
    return state_directory() / "limits"
