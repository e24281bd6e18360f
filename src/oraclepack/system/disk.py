"""All writes to the disk: every change that must survive a kill passes through here.

Temporary directories, spools, git's index of ours and crash logs do not.
There is one inert hook. A test may set it to count the operations, to fail the n-th
one, or to kill the process right before it; nothing else in the program knows of it.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Hook = Callable[[str, str], int | None]
"""Called with the operation and its path before it happens.

It may raise `OSError`. For a write it may return how many bytes the disk will take.
"""


class _Hooks:
    hook: Hook | None = None


_PRIVATE = 0o700


def set_hook(hook: Hook | None) -> None:
    """For fault injection only."""
    _Hooks.hook = hook


def _pass(operation: str, path: str | Path) -> int | None:
    return _Hooks.hook(operation, str(path)) if _Hooks.hook else None


def statement(query: str, *, is_done: bool = False) -> None:
    """A statement is about to be sent to the store, or has been executed."""
    if _Hooks.hook:
        _Hooks.hook("sql done" if is_done else "sql", " ".join(query.split()[:3]))


def note_sync(path: Path) -> None:
    """SQLite has synced a file."""
    _pass("sync", path)


def create(path: Path | str, mode: int = 0o666, *, append: bool = False) -> int:
    """Open a new file for writing; it must not exist. The umask applies."""
    _pass("create", path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.open(path, flags | (os.O_APPEND if append else 0), mode)


def open_append(path: Path, mode: int = 0o600) -> int:
    """Open a file of ours for appending, without following a link in its place."""
    _pass("open", path)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, mode)
    if ~os.fstat(descriptor).st_mode & 0o600:
        # The umask took our own rights away: the next command could not open it again.
        with suppress(OSError):
            os.fchmod(descriptor, mode)
    return descriptor


def write(descriptor: int, data: bytes, path: Path) -> None:
    """Write all of it: one system call, unless the disk takes less at once."""
    rest = memoryview(data)
    while rest:
        limit = _pass("write", path)
        written = os.write(descriptor, rest if limit is None else rest[:limit])
        rest = rest[written:]


def sync(descriptor: int, path: Path) -> None:
    _pass("sync", path)
    os.fsync(descriptor)


def sync_file(path: Path) -> None:
    """Sync a file that was written and closed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        sync(descriptor, path)
    finally:
        os.close(descriptor)


def begin_sync(descriptor: int, _path: Path) -> None:
    """Have the kernel begin to write a file out, so that the sync has less to wait for."""
    if hasattr(os, "posix_fadvise"):  # not on macOS
        with suppress(OSError):  # a file system that cannot do it
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def sync_data(descriptor: int, path: Path) -> None:
    """Sync the content and what is needed to read it back, but no times."""
    _pass("sync", path)
    # macOS has no fdatasync.
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut."""
    _pass("sync_directory", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def truncate(descriptor: int, size: int, path: Path) -> None:
    _pass("truncate", path)
    os.ftruncate(descriptor, size)


def set_mode(descriptor: int, mode: int, path: Path) -> None:
    _pass("chmod", path)
    os.fchmod(descriptor, mode)


def set_times(path: Path, access_ns: int, modified_ns: int) -> None:
    _pass("utime", path)
    os.utime(path, ns=(access_ns, modified_ns), follow_symlinks=False)


def rename(source: Path, target: Path) -> None:
    """Move within a file system; a file at the target is replaced."""
    _pass("rename", target)
    source.rename(target)


def free_bytes(path: Path) -> int | None:
    """How much may still be written where a directory lies; None where that is not known."""
    try:
        there = os.statvfs(path)
    except OSError:
        return None
    return there.f_bavail * there.f_frsize if there.f_blocks else None


def link(source: Path, target: Path) -> None:
    """A second name for a file; fails if the target exists, so nothing is overwritten."""
    _pass("link", target)
    os.link(source, target, follow_symlinks=False)


def symlink(text: str, target: Path) -> None:
    _pass("symlink", target)
    target.symlink_to(text)


def remove(path: Path) -> None:
    _pass("remove", path)
    path.unlink()


def remove_directory(path: Path) -> None:
    """Only an empty one."""
    _pass("rmdir", path)
    path.rmdir()


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Make a directory. The umask applies, but leaves the owner's rights to a private one."""
    _pass("mkdir", path)
    path.mkdir(mode=mode)
    if mode == _PRIVATE and path.stat().st_mode & _PRIVATE != _PRIVATE:
        path.chmod(_PRIVATE)
