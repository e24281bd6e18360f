"""The control socket of a running command: one request a connection, answered at once."""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from oraclepack.errors import OraclePackError
from oraclepack.journal.events import KnownEvent
from oraclepack.run.run_control import ControlReply, ControlRequest, RunControl
from oraclepack.system.digests import canonical_line
from oraclepack.system.local_sockets import Peer, SocketListener, peer_of, read_line
from oraclepack.system.printable import one_line

NAME = "control"
_PATIENCE = 5.0
"""Seconds that a client may take for its one line."""
_LONGEST_NAME = 100


class ControlServer:
    """Takes requests while it is open, from processes of the same user only."""

    def __init__(
        self, folder: Path, control: RunControl, record: Callable[[KnownEvent], object]
    ) -> None:
        """`folder` is the private directory of the command."""
        self.path = folder / NAME
        self._control = control
        self._record = record
        self._listener = SocketListener(self.path, self._serve, "control")

    def __enter__(self) -> Self:
        self._listener.open()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._listener.stop()
        with suppress(OSError):
            self.path.unlink()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_PATIENCE)
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        peer = peer_of(connection)
        if peer is not None and not peer.is_ours:
            return
        line = read_line(connection)
        if line is None:
            return
        connection.sendall(canonical_line(self._reply(line, peer)) + b"\n")

    def _reply(self, line: bytes, peer: Peer | None) -> ControlReply:
        try:
            request = msgspec.json.decode(line, type=ControlRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
            return ControlReply(ok=False, message=f"not a request: {fault}")
        try:
            return self._control.handle(request, _asker(request, peer), self._record)
        except (OraclePackError, OSError) as trouble:
            # It could not be recorded, so it was not done.
            return ControlReply(ok=False, message=f"not done: {trouble}")


def _asker(request: ControlRequest, peer: Peer | None) -> str:
    who = f"user {peer.uid}, process {peer.pid}" if peer is not None else "a process of the user"
    name = one_line(request.by)[:_LONGEST_NAME]
    return f"{name} ({who})" if name else who
