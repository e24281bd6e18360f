"""Faults of the disk, given through its one hook."""

import errno
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from oraclepack.system import disk


@contextmanager
def watched() -> Iterator[list[str]]:
    """Collects the operations that pass."""
    seen: list[str] = []

    def note(operation: str, _path: str) -> None:
        seen.append(operation)

    with _hooked(note):
        yield seen


@contextmanager
def failing(
    at: int, code: int = errno.ENOSPC, *, only: str = "", below: str = ""
) -> Iterator[None]:
    """The n-th operation, counted from 1, and all after it, fail; of a kind, or below a folder."""
    count = 0

    def fail(operation: str, path: str) -> None:
        nonlocal count
        if (only and operation != only) or not path.startswith(below):
            return
        count += 1
        if count >= at:
            raise OSError(code, os.strerror(code), path)

    with _hooked(fail):
        yield


@contextmanager
def failing_once(operation: str, at: str = "") -> Iterator[None]:
    """The first operation of a kind on a path fails, and no other."""
    troubles = iter([OSError(errno.EIO, "I/O error")])

    def fail(done: str, path: str) -> None:
        if done == operation and at in path:
            for trouble in troubles:
                raise trouble

    with _hooked(fail):
        yield


@contextmanager
def short_write(taken: int) -> Iterator[None]:
    """The disk takes a few bytes of one write, then is full."""
    writes = 0

    def limit(operation: str, path: str) -> int | None:
        nonlocal writes
        if operation != "write":
            return None
        writes += 1
        if writes > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return taken

    with _hooked(limit):
        yield


def die_at(number: int, *, torn: int | None = None) -> None:
    """Kill this very process at the n-th operation; for child processes of tests.

    It dies right before the operation or, when that is a write and `torn` is given,
    after so many of its bytes.
    """
    count = 0

    def kill(operation: str, _path: str) -> int | None:
        nonlocal count
        count += 1
        if count == number and operation == "write" and torn is not None:
            return torn
        if count >= number:
            os.kill(os.getpid(), signal.SIGKILL)
        return None

    disk.set_hook(kill)


def killed_at(number: int, act: Callable[[], object], *, torn: int | None = None) -> int:
    """Do something in a child that dies at its n-th operation; the child's exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child never returns to threads
        child = os.fork()
    if child == 0:
        die_at(number, torn=torn)
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def _hooked(hook: disk.Hook) -> Iterator[None]:
    disk.set_hook(hook)
    try:
        yield
    finally:
        disk.set_hook(None)
