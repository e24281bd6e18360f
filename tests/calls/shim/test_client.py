"""The stand-in itself, with a listener of the test's own at the other end."""

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oraclepack.calls.caller import Caller
from oraclepack.calls.server import CallMessage, ProtocolError, receive
from oraclepack.calls.shim import client
from oraclepack.calls.shim_dir import ShimDir
from oraclepack.system.environment import private_directory

Process = subprocess.Popen[bytes]


@pytest.fixture
def shims(tmp_path: Path) -> Iterator[ShimDir]:
    with private_directory() as folder:
        yield ShimDir.make(folder, str(tmp_path), None)


@pytest.fixture
def listener(shims: ShimDir) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(shims.socket))
        made.listen()
        yield made


def call(shims: ShimDir, *words: str | bytes, name: str = "oracle", **how: object) -> Process:
    argv = [str(shims.path / name), *words]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(argv, **(given | how))  # type: ignore[call-overload, no-any-return]


def answered(
    listener: socket.socket, process: Process, reply: Callable[[Caller], bytes]
) -> tuple[CallMessage, bytes, bytes]:
    """Take one call, reply, and collect what came of it."""
    connection, _ = listener.accept()
    with connection:
        message, caller = receive(connection)
        caller.reply(reply(caller))
        caller.close()
    out, err = process.communicate()
    return message, out, err


def test_it_imports_only_the_standard_library() -> None:
    tree = ast.parse(Path(client.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]

    names = {alias.name for node in imports for alias in node.names}
    assert names <= sys.stdlib_module_names


def test_a_call_arrives_as_it_was_made(
    shims: ShimDir, listener: socket.socket, tmp_path: Path
) -> None:
    env = {b"A": b"1", b"LANG": b"C", b"B\xff": b"x=\xff\n"}
    process = call(shims, "-p", "", b"\xff", "two\nlines", env=env, cwd=tmp_path, umask=0o031)
    message, _, _ = answered(listener, process, lambda _: b"x\x00")

    assert message == CallMessage(
        name="oracle",
        argv=("-p", "", "\udcff", "two\nlines"),
        cwd=str(tmp_path),
        umask=0o031,
        env={os.fsdecode(name): os.fsdecode(value) for name, value in env.items()},
    )
    assert process.returncode == 0


def test_the_streams_are_the_callers_own(
    shims: ShimDir, listener: socket.socket, tmp_path: Path
) -> None:
    def speak(caller: Caller) -> bytes:
        caller.say(caller.stdout, b"out" * 100_000)
        caller.say(caller.stderr, os.read(caller.stdin, 10))
        return b"x\x07"

    (tmp_path / "in").write_bytes(b"in")
    with (tmp_path / "in").open() as given, (tmp_path / "out").open("w") as taken:
        process = call(shims, stdin=given, stdout=taken)
        _, _, err = answered(listener, process, speak)

    assert (tmp_path / "out").read_bytes() == b"out" * 100_000
    assert err == b"in"
    assert process.returncode == 7


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_an_empty_one(
    closed: str, shims: ShimDir, listener: socket.socket
) -> None:
    process = subprocess.Popen(["sh", "-c", f"{shims.path}/oracle {closed}"])
    seen: list[str] = []

    def look(caller: Caller) -> bytes:
        streams = (caller.stdin, caller.stdout, caller.stderr)
        seen.extend(str(Path(f"/proc/self/fd/{stream}").readlink()) for stream in streams)
        return b"x\x03"

    answered(listener, process, look)

    assert process.returncode == 3
    assert seen.count("/dev/null") >= closed.count("&")


def test_without_a_gateway_it_fails_and_calls_nothing(shims: ShimDir) -> None:
    process = call(shims, "-p", "q")
    _, err = process.communicate()

    assert process.returncode == client.GONE
    assert b"oracle: oraclepack, which replaces it here, is not running any more" in err


def test_a_gateway_that_dies_meanwhile_is_reported(shims: ShimDir, listener: socket.socket) -> None:
    process = call(shims, "-p", "q")
    _, _, err = answered(listener, process, lambda _: b"")

    assert process.returncode == client.GONE
    assert b"ended while this call was running" in err


def test_it_becomes_the_named_program(
    shims: ShimDir, listener: socket.socket, tmp_path: Path
) -> None:
    real = tmp_path / "npx"
    real.write_text('#!/bin/sh\necho "$A" "$@"; kill -TERM $$\n')
    real.chmod(0o755)
    shims.cover(str(tmp_path))
    process = call(shims, "cowsay", "hi", name="npx", env={"A": "own"})
    _, out, _ = answered(listener, process, lambda _: b"e" + os.fsencode(real))

    assert out == b"own cowsay hi\n"
    assert process.returncode == -15


def test_what_it_cannot_become_is_reported(shims: ShimDir, listener: socket.socket) -> None:
    process = call(shims)
    _, _, err = answered(listener, process, lambda _: b"e/nowhere/npx")

    assert b"cannot start /nowhere/npx: No such file or directory" in err
    assert process.returncode == client.GONE


def test_a_removed_directory_is_no_obstacle(
    shims: ShimDir, listener: socket.socket, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && exec {shims.path}/oracle"
    message, _, _ = answered(listener, subprocess.Popen(["sh", "-c", command]), lambda _: b"x\x00")

    assert message.cwd == ""


def test_an_interpreter_with_an_odd_path_is_started_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "with a space"
    odd.mkdir()
    (odd / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(odd / "python"))
    with private_directory() as folder, socket.socket(socket.AF_UNIX) as listener:
        made = ShimDir.make(folder, "", None)
        listener.bind(str(made.socket))
        listener.listen()
        message, _, _ = answered(listener, call(made, "-p", "a b"), lambda _: b"x\x00")

    assert (message.name, message.argv) == ("oracle", ("-p", "a b"))


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="another protocol"),
        pytest.param(b"\x00\x00\x00\x05ab", id="less than promised"),
    ],
)
def test_a_stranger_is_not_listened_to(said: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(said)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ProtocolError):
            receive(ours)


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        pytest.param(("2", "oracle", "/", "22", "0"), None, id="another version"),
        pytest.param(("1", "oracle", "/", "22", "3", "a"), None, id="missing words"),
        pytest.param(("1", "oracle", "/", "much", "0"), None, id="no number"),
        pytest.param(("1", "oracle"), None, id="missing fields"),
        pytest.param(("1", "oracle"), 1 << 30, id="too much"),
        pytest.param(("1", "oracle"), 100, id="less than promised"),
    ],
)
def test_a_garbled_call_is_refused_and_its_streams_are_closed(
    fields: tuple[str, ...], size: int | None
) -> None:
    data = "\0".join(fields).encode()
    before = set(Path("/proc/self/fd").iterdir())
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(theirs, [(size or len(data)).to_bytes(4, "big")], [0, 1, 2])
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ProtocolError):
            receive(ours)

    assert set(Path("/proc/self/fd").iterdir()) == before
