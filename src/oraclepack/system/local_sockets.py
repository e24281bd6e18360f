"""Unix sockets between processes of one user: accepting, peers, private files, lines."""

import os
import select
import socket
import stat
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

_CREDENTIALS = struct.Struct("3i")
LONGEST_MESSAGE = 65_536


class SocketListener:
    """A Unix socket, and the thread that hands its connections to `serve` until it is closed."""

    def __init__(self, path: Path, serve: Callable[[socket.socket], None], name: str) -> None:
        """`serve` gets an open connection, which it or another thread closes."""
        self._path = path
        self._serve = serve
        self._socket = socket.socket(socket.AF_UNIX)
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._accept, name=name, daemon=True)

    def open(self, backlog: int = 16) -> None:
        self._socket.bind(str(self._path))
        self._socket.listen(backlog)
        self._thread.start()

    def stop(self) -> None:
        """Accept no more connections; returns when `serve` has returned."""
        os.write(self._wake[1], b"!")
        self._thread.join()
        self._socket.close()
        for descriptor in self._wake:
            os.close(descriptor)

    def _accept(self) -> None:
        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN)
        poll.register(self._wake[0], select.POLLIN)
        while self._wake[0] not in {ready for ready, _ in poll.poll()}:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                continue  # the client is gone already, or we are out of descriptors
            self._serve(connection)


class Peer(msgspec.Struct, frozen=True):
    """The process at the other end, as the kernel knows it."""

    pid: int
    uid: int

    @property
    def is_ours(self) -> bool:
        return self.uid == os.getuid()


def peer_of(connection: socket.socket) -> Peer | None:
    """The process at the other end; None where it is unknown."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    except OSError:
        return None
    pid, uid, _ = _CREDENTIALS.unpack(data)
    return Peer(pid, uid)


def is_private_socket(path: Path) -> bool:
    """A socket of ours in a directory that only we can enter; nothing is followed."""
    try:
        folder, statuses = path.parent.lstat(), path.lstat()
    except (OSError, ValueError):
        return False
    mine = folder.st_uid == statuses.st_uid == os.getuid()
    closed = stat.S_IMODE(folder.st_mode) & 0o077 == 0
    return mine and closed and stat.S_ISDIR(folder.st_mode) and stat.S_ISSOCK(statuses.st_mode)


def read_line(connection: socket.socket) -> bytes | None:
    """One line, without its end; None when the other side closed early, or sent too much."""
    data = bytearray()
    while b"\n" not in data:
        part = connection.recv(4096)
        if not part or len(data) > LONGEST_MESSAGE:
            return None
        data += part
    return bytes(data).partition(b"\n")[0]
