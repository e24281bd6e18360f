"""The HTTP client against servers on loopback that behave badly."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from oraclepack.engines.http import HttpReply, NoReply, is_safe_address, send


def _request(connection: socket.socket) -> bytes:
    """The whole request: closing with unread bytes would reset the connection."""
    request = b""
    while True:
        request += connection.recv(65_536)
        head, end, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if end and len(body) >= (int(length[1]) if length else 0):
            return request


@contextmanager
def serving(*parts: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that reads one request, writes these bytes and closes; what it received."""
    received: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            received.append(_request(connection))
            for part in parts:
                connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x", received
        thread.join(10)


def test_a_reply_is_status_headers_and_body() -> None:
    with serving(b"HTTP/1.1 418 Teapot\r\nX-Kind: Tea\r\nContent-Length: 4\r\n\r\nlong") as (
        url,
        got,
    ):
        reply = send("POST", url, headers={"Authorization": "Bearer k"}, body=b"{}")

    assert isinstance(reply, HttpReply)
    assert (reply.status, reply.header("X-KIND"), reply.body) == (418, "Tea", b"long")
    assert not reply.is_success
    assert got[0].startswith(b"POST /x HTTP/1.1\r\n")
    assert b"authorization: bearer k" in got[0].lower()


def test_a_redirect_is_a_reply_and_is_not_followed() -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    with serving(head) as (url, _):
        reply = send("GET", url, headers={"Authorization": "Bearer k"})

    assert isinstance(reply, HttpReply)
    assert reply.status == 302


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        pytest.param((), "disconnected", id="closed without a byte"),
        pytest.param((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal",), "closed", id="cut"),
        pytest.param((b"no HTTP at all\r\n\r\n",), "", id="another protocol"),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx",),
            "compressed",
            id="compressed",
        ),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n", b"x" * 2000),
            "more than 1000 bytes",
            id="too large",
        ),
    ],
)
def test_what_is_no_whole_reply_may_have_been_carried_out(
    parts: tuple[bytes, ...], reason: str
) -> None:
    with serving(*parts) as (url, _):
        reply = send("POST", url, body=b"{}", most_bytes=1000)

    assert isinstance(reply, NoReply)
    assert reply.is_sent
    assert reason in reply.reason


def test_nobody_listens_so_nothing_was_carried_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    reply = send("POST", f"http://127.0.0.1:{port}/", body=b"{}")

    assert isinstance(reply, NoReply)
    assert not reply.is_sent


def test_a_silent_server_is_left_after_the_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        reply = send("GET", f"http://127.0.0.1:{listener.getsockname()[1]}/", seconds=0.05)

    assert isinstance(reply, NoReply)
    assert reply.is_sent


@pytest.mark.parametrize("url", ["http://[", "ftp://127.0.0.1/", "http://127.0.0.1:99999/", ""])
def test_an_address_that_is_none_is_a_value(url: str) -> None:
    reply = send("GET", url)

    assert isinstance(reply, NoReply)
    assert not reply.is_sent


def test_a_header_with_a_line_break_is_refused_without_its_text() -> None:
    reply = send("GET", "http://127.0.0.1:1/", headers={"Authorization": "Bearer se\ncret"})

    assert isinstance(reply, NoReply)
    assert "cret" not in reply.reason


@pytest.mark.parametrize(
    ("address", "is_safe"),
    [
        ("https://api.openai.com/v1", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]:8080", True),
        ("http://api.openai.com/v1", False),
        ("https://user:word@api.openai.com", False),
        ("https://api.openai.com/v1?x=1", False),
        ("https://api.openai.com/v1#x", False),
        ("https://", False),
        ("https://[", False),
        ("https://a b", False),
        ("file:///etc/passwd", False),
    ],
)
def test_keys_go_to_https_and_to_this_machine(address: str, is_safe: bool) -> None:
    assert is_safe_address(address) is is_safe
