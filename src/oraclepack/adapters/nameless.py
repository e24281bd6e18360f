"""Files that live in memory and have no name: nobody else can open them, nothing is left behind.

Creating a file on disk takes longer than everything else that a step needs from us.
"""

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

import msgspec

from oraclepack.adapters.processes import has_proc

_LOWEST_FD = 200
"""Scripts use the small numbers for themselves, bash 255."""


class Nameless(msgspec.Struct, frozen=True):
    """A descriptor to hand down to a child, and the path by which the child can open it afresh."""

    fd: int
    path: str

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.fd, rest) :]

    def read_all(self) -> bytes:
        with os.fdopen(os.dup(self.fd), "rb") as content:
            content.seek(0)
            return content.read()


def make_nameless(stack: ExitStack, data: bytes = b"") -> Nameless:
    """A new one, closed with the stack. Raises OSError."""
    low, path = _open()
    try:
        descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    finally:
        os.close(low)
    stack.callback(os.close, descriptor)
    if path:
        stack.callback(Path(path).unlink, missing_ok=True)
    made = Nameless(descriptor, path or f"/proc/self/fd/{descriptor}")
    made.write(data)
    return made


def _open() -> tuple[int, str]:
    """The descriptor, and the name that it has to have on systems without the other kind."""
    if hasattr(os, "memfd_create") and has_proc():
        return os.memfd_create("oraclepack"), ""
    import tempfile  # noqa: PLC0415  slow to import, and only macOS needs it

    return tempfile.mkstemp()
