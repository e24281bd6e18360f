"""Unix sockets between processes of one user: who is at the other end, and whose file it is."""

import os
import socket
import stat
import struct
from pathlib import Path

import msgspec

_CREDENTIALS = struct.Struct("3i")
LONGEST_MESSAGE = 65_536


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
    """One line, without its end; None when the other side left before, or said too much."""
    data = bytearray()
    while b"\n" not in data:
        part = connection.recv(4096)
        if not part or len(data) > LONGEST_MESSAGE:
            return None
        data += part
    return bytes(data).partition(b"\n")[0]
