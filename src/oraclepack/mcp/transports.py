"""How clients reach the server: standard input and output, or HTTP on this machine."""

from __future__ import annotations

import hmac
import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from oraclepack.errors import MachineError, UsageError
from oraclepack.mcp.server import OraclepackServer
from oraclepack.mcp.services import Services, enter_first_root
from oraclepack.system.user_secrets import make_secret, read_secret, secret_file

BEARER_VARIABLE = "ORACLEPACK_MCP_TOKEN"
_TOKEN = "the token of the MCP server"  # noqa: S105 - what it is called in messages
_SHORTEST_TOKEN = 16
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LARGEST_REQUEST = 1024 * 1024

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


def serve_stdio(services: Services) -> None:
    """Answer one client until it closes our standard input."""
    enter_first_root(services)
    server = OraclepackServer(services).low_level()

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


def bearer_token(host: str, given: str) -> tuple[str, str]:
    """The token that clients have to send, and what to say about it.

    It is the one of the environment, else the user's own, which is made on first use: every user
    of this machine can reach its loopback address. Beyond this machine only a given one serves.
    """
    if host not in _LOOPBACK and not given:
        raise UsageError(
            f"--host {host} reaches beyond this machine",
            hint=f"set {BEARER_VARIABLE} to a long random text, which clients send as bearer token",
        )
    if given:
        token, source, words = given, BEARER_VARIABLE, f"the bearer token of {BEARER_VARIABLE}"
    else:
        path = secret_file("mcp.token", _TOKEN)
        is_new = read_secret(path, _TOKEN) is None
        token, source = make_secret(path, _TOKEN).decode("ascii", "replace").strip(), str(path)
        words = f"the bearer token {token}, kept in {path}" if is_new else f"the token in {path}"
    if len(token) < _SHORTEST_TOKEN:
        raise UsageError(f"{source}: at least {_SHORTEST_TOKEN} characters are needed")
    return token, f"clients must send {words}"


def listen(host: str, port: int) -> socket.socket:
    """The socket of the HTTP server."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as trouble:
        # Python adds the address to the words of the system; numbers of the resolver are negative.
        number = trouble.errno or 0
        reason = os.strerror(number) if number > 0 else trouble.strerror
        raise MachineError(
            f"cannot listen on {host}, port {port}: {reason}",
            hint="another server may use the port; choose another one with --port",
        ) from None


def serve_http(services: Services, listener: socket.socket, host: str, token: str) -> None:
    """Answer clients at /mcp of a listening socket until we are stopped."""
    import uvicorn

    enter_first_root(services)
    config = uvicorn.Config(
        http_app(services, host, token), host=host, log_level="warning", access_log=False
    )
    uvicorn.Server(config).run(sockets=[listener])


def http_app(services: Services, host: str, token: str) -> AsgiApp:
    """The program behind HTTP: the token is checked, then Host, Origin and size."""
    server = OraclepackServer(services).low_level()
    names = [*sorted(_LOOPBACK - {"::1"}), "[::1]"] if host in _LOOPBACK else [host]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
    app = server.streamable_http_app(
        host=host, transport_security=security, max_request_body_size=_LARGEST_REQUEST
    )
    return _with_token(app, token)


def _with_token(app: AsgiApp, token: str) -> AsgiApp:
    expected = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, expected):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    return checked
