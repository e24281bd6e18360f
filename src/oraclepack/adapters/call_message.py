"""What a shim says when it is called, as it comes through the socket."""

import os
import socket
from collections.abc import Mapping

import msgspec

from oraclepack.adapters.caller import Caller

_PROTOCOL = b"1"
_STREAMS = 3
_LONGEST = 1 << 26
"""The kernel gives a program a few megabytes of arguments and environment at most."""


class Garbled(Exception):  # noqa: N818  not an error of ours, and it goes nowhere
    """Something that is no shim of this run has spoken."""


class CallMessage(msgspec.Struct, frozen=True):
    """A call in the caller's own words."""

    name: str
    """The name it was called by."""
    argv: tuple[str, ...]
    cwd: str
    """Empty when the directory was removed under the caller's feet."""
    umask: int
    env: Mapping[str, str]


def receive(connection: socket.socket) -> tuple[CallMessage, Caller]:
    """Read a call and take over the caller's streams. Raises Garbled or OSError."""
    # Without the flag a tool that another thread starts right now would inherit them.
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    head, streams, _, _ = socket.recv_fds(connection, 4, _STREAMS, flags)
    try:
        stdin, stdout, stderr = streams
        message = _parse(_read(connection, int.from_bytes(head, "big")))
        return message, Caller(connection, stdin, stdout, stderr)
    except ValueError as trouble:
        _close(streams)
        raise Garbled from trouble
    except (OSError, Garbled):
        _close(streams)
        raise


def _close(streams: list[int]) -> None:
    for descriptor in streams:
        os.close(descriptor)


def _read(connection: socket.socket, size: int) -> bytes:
    if size > _LONGEST:
        raise Garbled
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise Garbled
        data += part
    return bytes(data)


def _parse(data: bytes) -> CallMessage:
    """The fields of the message; ValueError when they are not there."""
    protocol, name, cwd, mask, count, *rest = data.split(b"\0")
    words, pairs = rest[: int(count)], rest[int(count) :]
    if protocol != _PROTOCOL or len(words) != int(count):
        raise Garbled
    named = (pair.partition(b"=") for pair in pairs if pair)
    return CallMessage(
        name=os.fsdecode(name),
        argv=tuple(map(os.fsdecode, words)),
        cwd=os.fsdecode(cwd),
        umask=int(mask, 8),
        env={os.fsdecode(key): os.fsdecode(value) for key, _, value in named},
    )
