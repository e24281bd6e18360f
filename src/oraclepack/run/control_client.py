"""Requests to a run of another process: find its control socket, make sure it is ours, ask."""

import socket
from collections.abc import Iterable
from pathlib import Path

import msgspec

from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_dir import RunDir
from oraclepack.run.run_control import ControlReply, ControlRequest
from oraclepack.system import locks
from oraclepack.system.digests import canonical_line
from oraclepack.system.environment import host
from oraclepack.system.local_sockets import is_private_socket, peer_of, read_line

_PATIENCE = 10.0
"""Seconds; a running command answers in milliseconds."""


class ControlError(OraclePackError):
    """No command works on the run, or it refuses the request."""

    code = "CONTROL"


def send_request(run: RunDir, request: ControlRequest) -> ControlReply:
    """Ask the command that works on a run; raises ControlError where none does, or it refuses.

    Nothing is sent before it is sure that the other end is the process that holds the run's lock:
    the path of the socket comes from a journal with the user's signature, lies in a directory of
    the user's own, and the kernel names the process behind it.
    """
    path, holder = _socket_of(run)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(str(path))
            peer = peer_of(connection)
            if peer is not None and not (peer.is_ours and peer.pid == holder.pid):
                raise ControlError(
                    f"what listens at {path} is not the command that works on run {run.run_id}",
                    hint=f"it is process {peer.pid}, the lock has {holder}; nothing was sent",
                )
            connection.sendall(canonical_line(request) + b"\n")
            line = read_line(connection)
    except OSError as trouble:
        raise ControlError(
            f"{holder} works on run {run.run_id} and does not answer: {trouble}",
            hint="it may still carry out the request, once it goes on; `oraclepack runs show` says"
            " what became of the run",
            retryable=True,
        ) from trouble
    reply = _reply(line or b"", run)
    if not reply.ok:
        raise ControlError(f"run {run.run_id}: {reply.message}", hint=reply.hint)
    return reply


def _reply(line: bytes, run: RunDir) -> ControlReply:
    try:
        return msgspec.json.decode(line, type=ControlReply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise ControlError(
            f"run {run.run_id} ended while it was asked",
            hint="`oraclepack runs show` shows its status",
            retryable=True,
        ) from fault


def _socket_of(run: RunDir) -> tuple[Path, locks.Holder]:
    examined = run_dir.examine(run)
    examined.own_state()  # raises where it is foreign
    holder = locks.holder_of(run.path)
    if holder is None:
        raise ControlError(
            f"no command works on run {run.run_id}",
            hint="`oraclepack runs list` shows which are running",
        )
    if holder.host and holder.host != host():
        raise ControlError(
            f"run {run.run_id} is in use by {holder}", hint="run the command on that machine"
        )
    path = control_socket(examined.reading.events)
    if path is None or not is_private_socket(path):
        raise ControlError(
            f"{holder} works on run {run.run_id} and takes no requests",
            hint="it is about to begin or to end, or runs no steps; try again in a moment",
            retryable=True,
        )
    return path, holder


def control_socket(events: Iterable[AnyEvent]) -> Path | None:
    """Where the last command of a run takes requests; None where it does not, or has ended."""
    path: str | None = None
    for event in events:
        match event:
            case j.SessionStarted() | j.SessionFinished():
                path = None
            case j.ControlOpened():
                path = event.socket
            case _:
                pass
    return None if path is None else Path(path)
