"""Talking to a step that does not read, or has gone."""

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from oraclepack.calls.caller import Caller

MORE_THAN_A_PIPE_HOLDS = b"x" * (1 << 20)


@pytest.fixture
def ends() -> Iterator[tuple[Caller, socket.socket, int]]:
    """A caller, the shim's end of the connection, and the reading end of its stdout."""
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe()
    caller = Caller(ours, os.dup(reader), writer, os.dup(writer))
    with ours, theirs:
        yield caller, theirs, reader
    for descriptor in (caller.stdin, caller.stdout, caller.stderr, reader):
        os.close(descriptor)


def test_a_slow_reader_gets_everything(ends: tuple[Caller, socket.socket, int]) -> None:
    caller, _, reader = ends
    speaking = threading.Thread(target=caller.say, args=(caller.stdout, MORE_THAN_A_PIPE_HOLDS))
    speaking.start()
    got = 0
    while got < len(MORE_THAN_A_PIPE_HOLDS):
        got += len(os.read(reader, 1000))
    speaking.join()

    assert got == len(MORE_THAN_A_PIPE_HOLDS)


def test_a_full_pipe_is_given_up_when_the_shim_goes(
    ends: tuple[Caller, socket.socket, int],
) -> None:
    caller, shim, _ = ends
    shim.close()
    caller.say(caller.stdout, MORE_THAN_A_PIPE_HOLDS)

    assert caller.is_gone


def test_a_stream_that_cannot_be_written_is_let_be(
    ends: tuple[Caller, socket.socket, int],
) -> None:
    caller, _, reader = ends
    caller.say(reader, b"it is for reading only")

    assert not caller.gives_up


def test_signals_are_heard_in_their_order(ends: tuple[Caller, socket.socket, int]) -> None:
    caller, shim, _ = ends
    shim.sendall(b"\x02\x0f")

    assert caller.read_signals() == b"\x02\x0f"
    assert caller.read_signals() == b""
    assert (caller.signals, caller.gives_up, caller.is_gone) == ([2, 15], True, False)


def test_a_reply_to_a_closed_connection_is_no_error(
    ends: tuple[Caller, socket.socket, int],
) -> None:
    caller, shim, _ = ends
    shim.close()
    caller.reply(b"x\x00")

    assert caller.is_gone
