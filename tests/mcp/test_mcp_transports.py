"""Starting the server: what it says, whom it lets in, and what it says when it cannot start."""

import json
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oraclepack.errors import MachineError, UsageError
from oraclepack.mcp.transports import bearer_token, listen

SERVE = [sys.executable, "-m", "oraclepack", "mcp", "--transport", "http", "--port"]


@pytest.mark.parametrize(
    ("host", "name"), [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]")]
)
def test_the_server_says_where_it_listens(host: str, name: str, tmp_path: Path) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, 0), family=family) as free:
            port = free.getsockname()[1]
    except OSError:
        pytest.skip(f"this machine has no {host}")
    words = [*SERVE, str(port), "--host", host]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.terminate()

    assert first == f"listening at http://{name}:{port}/mcp; Ctrl-C stops it\n"


def test_a_port_in_use_is_an_error_with_a_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        with pytest.raises(MachineError) as refused:
            listen("127.0.0.1", port)

    message = f"cannot listen on 127.0.0.1, port {port}: Address already in use"
    assert refused.value.message == message
    assert "--port" in (refused.value.hint or "")


@contextmanager
def serving(place: Path) -> Iterator[tuple[str, str]]:
    """A server: its address, and what it says about the token."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [*SERVE, str(port)]
    with subprocess.Popen(words, cwd=place, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            process.stderr.readline()
            yield f"http://127.0.0.1:{port}/mcp", process.stderr.readline()
        finally:
            process.terminate()


def status(url: str, token: str = "") -> int:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def test_http_lets_only_the_user_in(tmp_path: Path, home: Path) -> None:
    file = home / ".local/state/oraclepack/mcp.token"
    with serving(tmp_path) as (url, first):
        token = file.read_text().strip()
        assert status(url) == status(url, "0" * 64) == 401
        assert status(url, token) != 401
    with serving(tmp_path) as (url, second):
        assert status(url) == 401
        assert status(url, token) != 401

    assert first == f"clients must send the bearer token {token}, kept in {file}\n"
    assert second == f"clients must send the token in {file}\n"
    assert (stat.S_IMODE(file.stat().st_mode), len(token)) == (0o600, 64)


@pytest.mark.parametrize(
    ("host", "given"),
    [
        pytest.param("0.0.0.0", "", id="beyond this machine only with a token of the user's"),
        pytest.param("127.0.0.1", "short", id="a short token"),
    ],
)
def test_what_is_not_served(host: str, given: str) -> None:
    with pytest.raises(UsageError):
        bearer_token(host, given)
