"""Whole files: written so that nobody ever sees half of one."""

import errno
import itertools
import os
import stat
from pathlib import Path

from oraclepack.adapters import disk
from oraclepack.core.errors import InputError, WorldError
from oraclepack.core.regex import regex

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700

_TEMPORARY = regex(r"\.oraclepack-(\d+)-\d+\.tmp")
_numbers = itertools.count(1)

HINTS = {
    errno.ENOSPC: "free some space on the disk; nothing was lost, the same command continues",
    errno.EDQUOT: "your disk quota is used up; nothing was lost, the same command continues",
    errno.EROFS: "the file system is read-only; mount it writable or choose another directory",
    errno.EACCES: "check the owner and the permissions of the directory",
    errno.EPERM: "check the owner and the permissions of the directory",
    errno.ENOENT: "the directory is gone; was it removed while the command ran?",
    errno.ENOTDIR: "a file stands where a directory is needed",
    errno.EISDIR: "a directory stands where the file should be",
    errno.ENAMETOOLONG: "the name is too long for the file system",
}
"""What to do where the machine refuses a change."""


def cannot(doing: str, path: Path | str, trouble: OSError) -> WorldError:
    """The error for an operation that the machine refused."""
    reason = trouble.strerror or str(trouble)
    return WorldError(
        f"cannot {doing} {path}: {reason}",
        hint=HINTS.get(trouble.errno or 0, ""),
        detail=errno.errorcode.get(trouble.errno or 0, ""),
    )


def read(path: Path) -> bytes | None:
    """The content of a file, or None when there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        raise InputError(f"cannot read {path}: {trouble.strerror or trouble}") from trouble


def write_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    follow: bool = False,
    durable: bool = True,
) -> None:
    """Put a file in place at once: readers see the old one or the new one.

    Without a mode the one of the file it replaces is kept, else the umask decides.
    A symbolic link is replaced, never written through, unless `follow` is set. What
    can be computed again may go without `durable`: still whole, but after a power
    cut perhaps the older version.
    """
    target = Path(os.path.realpath(path)) if follow else path
    temporary = temporary_beside(target)
    try:
        _fill(temporary, data, _mode_for(target) if mode is None else mode, durable=durable)
        disk.rename(temporary, target)
        if durable:
            disk.sync_directory(target.parent)
    except OSError as trouble:
        forget(temporary)
        raise cannot("write", path, trouble) from trouble
    except BaseException:
        forget(temporary)
        raise


def _fill(path: Path, data: bytes, mode: int | None, *, durable: bool) -> None:
    descriptor = disk.create(path, 0o666 if mode is None else PRIVATE_FILE)
    try:
        if mode is not None:
            disk.set_mode(descriptor, mode, path)
        disk.write(descriptor, data, path)
        if durable:
            disk.sync(descriptor, path)
    finally:
        os.close(descriptor)


def _mode_for(path: Path) -> int | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else None


def temporary_beside(target: Path) -> Path:
    """A free name in the same directory, which `sweep` recognises if its maker is killed."""
    while True:
        path = target.parent / f".oraclepack-{os.getpid()}-{next(_numbers)}.tmp"
        # In containers the same process number comes back with every start.
        if not os.path.lexists(path):
            return path


def forget(temporary: Path) -> None:
    """Remove a temporary file, if it is there and the disk lets us."""
    try:
        disk.remove(temporary)
    except OSError:
        return  # never created, or the disk refuses everything: the next sweep finds it


def make_private(directory: Path) -> None:
    """A directory of ours and its parents; the new ones are for their owner alone."""
    make_directories(directory, PRIVATE_DIRECTORY)


def make_directories(directory: Path, mode: int = 0o777) -> None:
    """A directory with the parents it lacks."""
    missing = list(itertools.takewhile(lambda p: not p.is_dir(), (directory, *directory.parents)))
    try:
        for path in reversed(missing):
            _make(path, mode)
    except OSError as trouble:
        raise cannot("make the directory", directory, trouble) from trouble


def _make(path: Path, mode: int) -> None:
    try:
        disk.make_directory(path, mode)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        disk.sync_directory(path.parent)


def sweep(directory: Path) -> tuple[Path, ...]:
    """Remove what killed processes left half written; tells what it removed."""
    stale = [path for path in _entries(directory) if _is_stale(path.name)]
    for path in stale:
        forget(path)
    return tuple(stale)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _is_stale(name: str) -> bool:
    found = _TEMPORARY.fullmatch(name)
    return found is not None and not _lives(int(found[1]))


def _lives(pid: int) -> bool:
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
