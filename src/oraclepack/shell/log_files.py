"""Looking into log files without holding them in memory."""

import fcntl
import os
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec

from oraclepack.shell.processes import has_proc
from oraclepack.system.environment import environment
from oraclepack.system.files import open_regular, read_beginning
from oraclepack.system.secrets import Redactor

_LOWEST_FD = 200
"""Scripts use the small numbers for themselves, bash 255."""


class AnonymousFile(msgspec.Struct, frozen=True):
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


def make_nameless(stack: ExitStack, data: bytes = b"") -> AnonymousFile:
    """A new one, closed with the stack. Raises OSError."""
    low, path = _open()
    try:
        descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    finally:
        os.close(low)
    stack.callback(os.close, descriptor)
    if path:
        stack.callback(Path(path).unlink, missing_ok=True)
    made = AnonymousFile(descriptor, path or f"/proc/self/fd/{descriptor}")
    made.write(data)
    return made


def _open() -> tuple[int, str]:
    """The descriptor, and the name that it has to have on systems without the other kind."""
    if hasattr(os, "memfd_create") and has_proc():
        return os.memfd_create("oraclepack"), ""
    return tempfile.mkstemp()


_SKIP = re.compile(rb"^(?:SKIP|(?i:skip(?:ped|ping)?)[ \t]*:).*", re.MULTILINE)
_WINDOW = 1 << 16
_SEARCHED = 1 << 22


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """The last lines of a log, as far as its last 64 KiB hold them.

    Logs are raw and stay where they are; what is shown of them must not tell our secrets.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _WINDOW))
            tail = file.read(_WINDOW)
    except OSError:
        return ()
    lines = "\n".join(tail.decode("utf-8", "replace").splitlines()[-count:])
    return tuple(Redactor.of(environment()).clean(lines).split("\n")) if lines else ()


def skip_line(path: str) -> str | None:
    """The first line by which a step says that it skips itself, in the first 4 MiB of a log.

    It begins with `SKIP`, or in any case with `Skip:`, `Skipped:` or `Skipping:`.
    """
    try:
        # For every step, and most say nothing: asking for the size is all that they cost.
        if os.stat(path).st_size == 0:  # by its name
            return None
        head = read_beginning(path, _SEARCHED)
    except OSError:
        return None
    found = _SKIP.search(head)
    if found is None:
        return None
    line = found[0][:_WINDOW].decode("utf-8", "replace")
    # Before it is cut: what is left of a secret would not be known for one.
    return Redactor.of(environment()).clean(line)[:500].strip()
