"""The shim at the other end of a call: what it tells us, and whether it is still there."""

import os
import select
import socket

import msgspec

from oraclepack.adapters.spool import can_write


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
    """Everything heard so far."""

    @property
    def fds(self) -> tuple[int, ...]:
        """What to poll for news; nothing once the shim is gone."""
        return () if self.is_gone else (self.connection.fileno(),)

    @property
    def gives_up(self) -> bool:
        """Nobody waits for the answer any more, or someone asked for the end."""
        return self.is_gone or bool(self.signals)

    def hear(self) -> bytes:
        """The signals that came since the last time. Does not wait."""
        heard = b""
        while not self.is_gone:
            try:
                part = self.connection.recv(64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                part = b""
            self.is_gone = not part
            heard += part
        self.signals += heard
        return heard

    def say(self, descriptor: int, data: bytes) -> None:
        """Write to one of the step's descriptors, as long as someone is there to read it."""
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
                self.hear()

    def reply(self, message: bytes) -> None:
        """The last word."""
        try:
            self.connection.sendall(message)
        except OSError:
            self.is_gone = True

    def close(self) -> None:
        """Give the streams back: a reader of the step's pipe waits for that."""
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.close(descriptor)
