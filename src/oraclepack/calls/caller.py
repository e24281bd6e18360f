"""The shim at the other end of a call: its signals, its streams, and whether it still runs."""

import fcntl
import os
import select
import socket
import stat
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from oraclepack.errors import SIGNALLED
from oraclepack.shell.anonymous_files import file_on_disk

_AT_ONCE = 1 << 22
"""The most that is copied in one go, so that much output does not delay signals."""
_CHUNK = 1 << 16


class Spool:
    """One stream of a tool: a growing file, and how much of it the step has got."""

    def __init__(self, descriptor: int, target: int | None) -> None:
        """`target` is the step's descriptor; None: the output is not passed on."""
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
                self._target = None  # the reader is gone; the tool must not notice
        return self._sent > before

    def head(self, keep: int) -> str:
        """The first words so far."""
        return os.pread(self.fd, keep, 0).decode("utf-8", "replace")

    def tail(self, keep: int) -> tuple[str, bool]:
        """The last words, and whether there were more."""
        start = max(0, self.size - keep)
        data = os.pread(self.fd, keep, start)
        return data.decode("utf-8", "replace"), start > 0


def make_spool(folder: Path, target: int | None, stack: ExitStack, name: str = "") -> Spool:
    """A new one in this directory, closed with the stack; without a name it leaves no file.

    Raises OSError.
    """
    if not name:
        return Spool(file_on_disk(folder, stack).fd, target)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(folder / name, flags, 0o600)
    stack.callback(os.close, descriptor)
    return Spool(descriptor, target)


def can_write(descriptor: int) -> bool:
    """Whether it was opened for writing; otherwise a poll would report nothing."""
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def takes(descriptor: int) -> bool:
    """Whether a write would not block: there is room, or no reader is left."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))


def is_same(one: int, other: int) -> bool:
    """Whether both lead to the same place, as after `2>&1`."""
    return os.path.sameopenfile(one, other)


def _is_file(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


class Caller(msgspec.Struct):
    """A connection on which each byte is a signal that reached the shim.

    Used by the one thread that answers the call.
    """

    connection: socket.socket
    stdin: int
    stdout: int
    stderr: int
    is_gone: bool = False
    signals: list[int] = msgspec.field(default_factory=list)
    """All signals received so far."""

    @property
    def fds(self) -> tuple[int, ...]:
        """The descriptors to poll; none once the shim is gone."""
        return () if self.is_gone else (self.connection.fileno(),)

    @property
    def gives_up(self) -> bool:
        """The caller has gone, or was asked to end."""
        return self.is_gone or bool(self.signals)

    def read_signals(self) -> bytes:
        """The signals received since the last call. Does not block."""
        data = b""
        while not self.is_gone:
            try:
                part = self.connection.recv(64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                part = b""
            self.is_gone = not part
            data += part
        self.signals += data
        return data

    def say(self, descriptor: int, data: bytes) -> None:
        """Write to one of the step's descriptors while it has a reader."""
        rest = memoryview(data if can_write(descriptor) else b"")
        while rest and not self.is_gone:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            for source in self.fds:
                poll.register(source, select.POLLIN)
            if descriptor in {ready for ready, _ in poll.poll()}:
                try:
                    rest = rest[os.write(descriptor, rest[: select.PIPE_BUF]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    return
            else:
                self.read_signals()

    def reply(self, message: bytes) -> None:
        """Send the reply that ends the call."""
        try:
            self.connection.sendall(message)
        except OSError:
            self.is_gone = True

    def let_go(self, number: int) -> None:
        """End the shim as the signal would have done; the call goes on without it."""
        self.reply(b"x" + bytes((SIGNALLED + number,)))
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)  # the shim reads to the end
        self.is_gone = True

    def close(self) -> None:
        """Close the streams: a reader of the step's pipe waits for that."""
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.close(descriptor)
