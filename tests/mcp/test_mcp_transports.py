"""Starting the server: what it says, and what it says when it cannot."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.errors import MachineError
from oraclepack.mcp.mcp_transports import listen

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
            listen("127.0.0.1", port, "")

    message = f"cannot listen on 127.0.0.1, port {port}: Address already in use"
    assert refused.value.message == message
    assert "--port" in (refused.value.hint or "")
