"""The gate before a tool: without the order to begin there is no tool, with it an exact one."""

import errno
import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from oraclepack.calls.tool_process import Gate

NO_REPLY = 125
SHELL = "/bin/bash"
LISTED = "cd /proc/$$/fd; echo *"
"""The last one is the directory itself, just being read."""


def begin(gate: Gate) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        gate.argv, pass_fds=(gate.fd,), start_new_session=True, stdout=subprocess.PIPE
    )


def run(argv: tuple[str, ...], env: Mapping[str, str]) -> tuple[int, bytes]:
    """Its process, and what it said."""
    with Gate() as gate, begin(gate) as process:
        gate.open(argv, env)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return process.pid, out


def test_a_tool_gets_exactly_its_variables() -> None:
    env = {"ODD%%": "() { x; }", "EMPTY": "", "LINES": "a\nb=c\n", "RAW": "\udcff", "LC_ALL": "C"}

    _, out = run(("/usr/bin/env", "-0"), env)

    assert out == b"".join(os.fsencode(f"{name}={value}\0") for name, value in env.items())


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("echo $$ $PPID", "{pid} {parent}\n", id="it is the process that was started"),
        pytest.param('printf "%s|" "$0" "$@"', "a|b c||", id="its words are as given"),
        pytest.param("yes | head -n 1; trap", "y\n", id="a broken pipe ends what it starts"),
        pytest.param(LISTED, "0 1 2 3\n", id="it gets no further descriptor"),
    ],
)
def test_a_tool_is_as_if_started_directly(script: str, expected: str) -> None:
    pid, out = run((SHELL, "-c", script, "a", "b c", ""), {"PATH": os.environ["PATH"]})

    assert out.decode() == expected.format(pid=pid, parent=os.getpid())


def test_a_long_order_arrives_whole() -> None:
    large = "x" * 100_000
    env = {f"V{number}": large for number in range(8)}

    script = 'echo "${#V7} ${#1}"'
    _, out = run((SHELL, "-c", script, "tool", large), env)

    assert out == b"100000 100000\n"


@pytest.mark.parametrize(
    ("program", "number"),
    [
        pytest.param("nowhere", errno.ENOENT, id="not there"),
        pytest.param("plain", errno.EACCES, id="no program"),
        pytest.param("garbage", errno.ENOEXEC, id="nothing the kernel can run"),
    ],
)
def test_what_cannot_begin_is_reported(program: str, number: int, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text\n")
    (tmp_path / "garbage").write_bytes(b"\x01\x02")
    (tmp_path / "garbage").chmod(0o755)

    with Gate() as gate, begin(gate) as process, pytest.raises(OSError, match=program) as caught:
        gate.open((str(tmp_path / program),), {})
    assert caught.value.errno == number
    assert process.returncode == NO_REPLY


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="before its order"),
        pytest.param(b"\0\0\0\0\0\0", id="within the length"),
        pytest.param((1000).to_bytes(8, "big") + b"/bin/bash\x002\0/bin/bash", id="within it"),
    ],
)
def test_a_runner_that_dies_before_the_order_starts_no_tool(sent: bytes, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with Gate() as gate:
        argv = (*gate.argv[:-1], str(theirs.fileno()))
    with subprocess.Popen(argv, pass_fds=(theirs.fileno(),), cwd=tmp_path) as process:
        theirs.close()
        ours.sendall(sent)
        ours.close()
        assert process.wait(30) == NO_REPLY
