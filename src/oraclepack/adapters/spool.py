"""What a tool says, on its way to the step.

The tool writes into a file without a name, never into a pipe: oracle dies of a closed pipe and
takes the answer with it, and a file stays open whoever is killed, the reader or ourselves. From
the file the words go to the step as fast as it takes them, and their end can be read again.
"""

import fcntl
import os
import select
import stat
from contextlib import ExitStack
from pathlib import Path

_AT_ONCE = 1 << 22
"""The most that is copied in one go: a flood must not keep us from hearing a signal."""
_CHUNK = 1 << 16


class Spool:
    """One stream of a tool: a growing file, and how much of it the step has got."""

    def __init__(self, descriptor: int, target: int | None) -> None:
        """`target` is the step's descriptor; None keeps the words from the step."""
        self.fd = descriptor
        self._target = target if target is not None and can_write(target) else None
        self._sent = 0
        self._chunk = _CHUNK if target is not None and _is_file(target) else select.PIPE_BUF

    @property
    def size(self) -> int:
        return os.fstat(self.fd).st_size

    @property
    def waiting_for(self) -> int | None:
        """The step's descriptor, if there is something left for it."""
        return self._target if self._target is not None and self._sent < self.size else None

    def pump(self) -> bool:
        """Pass on what the step takes without making us wait; whether anything moved."""
        before, end = self._sent, min(self.size, self._sent + _AT_ONCE)
        while self._target is not None and self._sent < end and takes(self._target):
            # A pipe that takes anything takes this much, so the write never blocks. The
            # descriptor itself must stay blocking: the step's own programs share it.
            part = os.pread(self.fd, min(self._chunk, end - self._sent), self._sent)
            try:
                self._sent += os.write(self._target, part)
            except BlockingIOError:
                break
            except OSError:
                self._target = None  # nobody listens any more; the tool must not notice
        return self._sent > before

    def tail(self, keep: int) -> tuple[str, bool]:
        """The last words, and whether there were more."""
        start = max(0, self.size - keep)
        data = os.pread(self.fd, keep, start)
        return data.decode("utf-8", "replace"), start > 0


def make_spool(folder: Path, target: int | None, stack: ExitStack) -> Spool:
    """A new one in this directory, closed with the stack. Raises OSError."""
    descriptor = nameless_file(folder)
    stack.callback(os.close, descriptor)
    return Spool(descriptor, target)


def nameless_file(folder: Path) -> int:
    """A file on disk, not in memory: a tool may say gigabytes."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(folder, flags | os.O_TMPFILE, 0o600)
        except OSError:
            pass  # a file system that cannot do it
    import tempfile  # noqa: PLC0415  slow to import, and seldom needed

    descriptor, name = tempfile.mkstemp(dir=folder)
    os.close(descriptor)
    try:
        return os.open(name, flags)
    finally:
        Path(name).unlink()


def can_write(descriptor: int) -> bool:
    """Whether it was opened for writing; of one that was not, a poll would tell nothing."""
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def takes(descriptor: int) -> bool:
    """Whether a write would not wait: there is room, or nobody is there to wait for."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))


def is_same(one: int, other: int) -> bool:
    """Whether both lead to the same place, as after `2>&1`."""
    return os.path.sameopenfile(one, other)


def _is_file(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
