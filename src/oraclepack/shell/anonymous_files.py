"""Files without a name: in memory to hand text to a shell, on disk for the output of a tool."""

import errno
import fcntl
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec

from oraclepack.shell.processes import has_proc

_LOWEST_FD = 200
"""Scripts use the small numbers for themselves, bash 255."""


class AnonymousFile(msgspec.Struct, frozen=True):
    """A descriptor to hand down to a child, and the path by which the child can open it afresh."""

    fd: int
    path: str = ""
    """Empty where no child is to open it."""

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.fd, rest) :]

    def read_all(self) -> bytes:
        with os.fdopen(os.dup(self.fd), "rb") as content:
            content.seek(0)
            return content.read()


def file_in_memory(stack: ExitStack, data: bytes = b"") -> AnonymousFile:
    """A new file for a shell, closed with the stack. Raises OSError."""
    low, path = _open_in_memory()
    try:
        descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    except OSError as trouble:
        if trouble.errno == errno.EINVAL:  # the limit of open files is below that number
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from trouble
        raise
    finally:
        os.close(low)
    stack.callback(os.close, descriptor)
    if path:
        stack.callback(Path(path).unlink, missing_ok=True)
    file = AnonymousFile(descriptor, path or f"/proc/self/fd/{descriptor}")
    file.write(data)
    return file


def _open_in_memory() -> tuple[int, str]:
    """The descriptor, and the name that it has to have on systems without the other kind."""
    if hasattr(os, "memfd_create") and has_proc():
        return os.memfd_create("oraclepack"), ""
    return tempfile.mkstemp()


def file_on_disk(folder: Path, stack: ExitStack, data: bytes = b"") -> AnonymousFile:
    """A new file that grows at its end, closed with the stack: a tool may print gigabytes.

    Read from its beginning. Raises OSError.
    """
    file = AnonymousFile(_open_on_disk(folder))
    stack.callback(os.close, file.fd)
    file.write(data)
    os.lseek(file.fd, 0, os.SEEK_SET)
    return file


def _open_on_disk(folder: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(folder, flags | os.O_TMPFILE, 0o600)
        except OSError:
            pass  # a file system that cannot do it
    descriptor, name = tempfile.mkstemp(dir=folder)
    os.close(descriptor)
    try:
        return os.open(name, flags)
    finally:
        Path(name).unlink()
