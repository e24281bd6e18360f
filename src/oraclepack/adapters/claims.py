"""Who asks a question just now, among all processes: one at a time, so that it is paid for once.

A claim is a file that its holder has locked: the kernel frees it when the holder dies. What the
holder wrote into it stays, and tells whoever comes next which call may still be under way.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from oraclepack.adapters import disk, files
from oraclepack.adapters.lock import hold
from oraclepack.core.digest import canonical_line
from oraclepack.core.journal import InvocationIntent

_ENDING = ".asking"


class Claim:
    """The right to ask one question. Given back by `release`, or by dying."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path
        self.left = _last(descriptor)
        """The call of an earlier holder who did not live to see its end."""
        self._is_open = self.left is not None

    def note(self, intent: InvocationIntent) -> None:
        """Write down a call that may cost money from here on; the journal has it already."""
        self._is_open = True
        with suppress(OSError):
            # A line more, never one in place of another: death in between loses nothing. It begins
            # with a line end: the line before may have been cut short by the death of its writer.
            disk.write(self._descriptor, b"\n" + canonical_line(intent) + b"\n", self._path)

    def settle(self) -> None:
        """Everything that was noted has come to a known end."""
        self._is_open = False

    def release(self) -> None:
        """Let the next one ask; what is not settled stays written down."""
        if not self._is_open:
            files.forget(self._path)
        os.close(self._descriptor)


def claim(folder: Path, key: str) -> Claim | None:
    """The right to ask this question; None while somebody else has it. Raises WorldError."""
    files.make_private(folder)
    path = folder / f"{key}{_ENDING}"
    while (descriptor := hold(path)) is not None:
        if _is_at(path, descriptor):
            return Claim(descriptor, path)
        os.close(descriptor)  # its holder removed it before we had the lock
    return None


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _last(descriptor: int) -> InvocationIntent | None:
    """The last whole line; one that cannot be read tells nothing."""
    data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    for line in reversed(data.splitlines()):
        try:
            return msgspec.json.decode(line, type=InvocationIntent)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return None
