"""Locks, mainly that of a run directory: the kernel frees them when a process dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from oraclepack.errors import MachineError
from oraclepack.system import disk, environment, files
from oraclepack.system.clock import Clock, rfc3339
from oraclepack.system.digests import canonical_line

NAME = "lock"
_LOOKS, _PAUSE = 20, 0.01
"""How often, and with how many seconds in between, the holder of a lock is read."""
_LOOKS_AT_DEAD = 200
"""How often a lock is tried whose holder is dead."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The process that works on a run."""

    pid: int | None = None
    host: str = ""
    started_at: str = ""
    command: str = ""

    def __str__(self) -> str:
        if self.pid is None:
            return "another process"
        parts = [f"process {self.pid}"]
        parts += [f"on {self.host}"] if self.host else []
        parts += [f"since {self.started_at}"] if self.started_at else []
        parts += [f"({self.command})"] if self.command else []
        return " ".join(parts)


def this_process(command: str, clock: Clock) -> Holder:
    """The running command as a holder, from now on."""
    return Holder(
        pid=environment.process_id(),
        host=environment.host(),
        started_at=rfc3339(clock.now()),
        command=command,
    )


class RunLock:
    """The right to write to a run directory. Freed by `release`, or when the process dies."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path

    def release(self) -> None:
        """Free the lock. The file stays: without it two processes could hold the lock."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            disk.truncate(descriptor, 0, self._path)
        except OSError:
            pass  # only the name of the holder stays in the file
        finally:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def hold(path: Path) -> int | None:
    """A descriptor that holds the lock of a file; None when another process does.

    Raises MachineError where no lock can be had.
    """
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as trouble:  # some network file systems have no locks
        os.close(descriptor)
        raise files.cannot("lock", path, trouble) from trouble
    return descriptor


def is_free(path: Path) -> bool:
    """Whether no process holds the lock of a file. Changes nothing."""
    try:
        descriptor = files.open_regular(path)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextmanager
def turn(path: Path, patience: float | None = None) -> Iterator[None]:
    """One process at a time; waits for the others, so it is held for a few small writes only.

    With `patience` it waits so many seconds at most: a process that was frozen holds its locks.
    """
    descriptor = _opened(path)
    try:
        if patience is None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        else:
            _wait_for(descriptor, path, patience)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path, patience: float) -> None:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise MachineError(
                    f"another process has held {path} for {patience:g} s",
                    hint=f"`fuser -v {path}` shows which one; let it finish, or end it",
                    retryable=True,
                ) from None
            time.sleep(_PAUSE)
        else:
            return


def acquire(directory: Path, holder: Holder) -> RunLock | Holder:
    """Lock a run directory, or say who has it.

    Waits only while the noted holder is dead: a process that it was starting when it was killed
    has its descriptors until it becomes another program.
    """
    path = directory / NAME
    descriptor = _opened(path)
    other = Holder()
    try:
        for look in range(_LOOKS_AT_DEAD):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                other = _read(descriptor)
            else:
                return _sign(RunLock(descriptor, path), descriptor, path, holder)
            if look >= _LOOKS if other.pid is None else _may_live(other.pid, other.host):
                break
            time.sleep(_PAUSE)
    except OSError as trouble:
        os.close(descriptor)
        raise files.cannot("lock", path, trouble) from trouble
    os.close(descriptor)
    return other


def holder_of(directory: Path) -> Holder | None:
    """The process that works on a run now, if any. Changes nothing."""
    try:
        descriptor = files.open_regular(directory / NAME)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_and_close(descriptor)
    except OSError:
        pass
    os.close(descriptor)
    return None


def _opened(path: Path) -> int:
    try:
        # Not inherited (PEP 446): a process that outlives us must keep nothing from others.
        return disk.open_append(path, files.PRIVATE_FILE)
    except OSError as trouble:
        raise files.cannot("open the lock", path, trouble) from trouble


def _sign(lock: RunLock, descriptor: int, path: Path, holder: Holder) -> RunLock:
    try:
        disk.truncate(descriptor, 0, path)
        disk.write(descriptor, canonical_line(holder) + b"\n", path)
    except OSError as trouble:
        lock.release()
        raise files.cannot("write to the lock", path, trouble) from trouble
    return lock


def _read_and_close(descriptor: int) -> Holder:
    """The holder; a process that has just got the lock needs a moment to write its name."""
    try:
        for _ in range(_LOOKS):
            holder = _read(descriptor)
            if holder.pid is not None and _may_live(holder.pid, holder.host):
                break
            time.sleep(_PAUSE)
        return holder
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Holder:
    try:
        return msgspec.json.decode(os.pread(descriptor, 65536, 0), type=Holder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Holder()


def _may_live(pid: int, host: str) -> bool:
    """False for the name of an earlier holder that died on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return host != os.uname().nodename
    except (OSError, OverflowError):
        return True
    return True
