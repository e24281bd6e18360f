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

from oraclepack import api
from oraclepack.mcp.mcp_server import OraclepackServer
from oraclepack.mcp.mcp_services import Services, enter_first_root

BEARER_VARIABLE = "ORACLEPACK_MCP_TOKEN"
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


def listen(host: str, port: int, token: str) -> socket.socket:
    """The socket of the HTTP server. A public address is refused without a token."""
    refuse_public_host(host, token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as trouble:
        # Python adds the address to the words of the system; numbers of the resolver are negative.
        number = trouble.errno or 0
        reason = os.strerror(number) if number > 0 else trouble.strerror
        raise api.MachineError(
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


def refuse_public_host(host: str, token: str) -> None:
    """Refuse to serve beyond this machine without a token, or with a short one."""
    if token and len(token) < _SHORTEST_TOKEN:
        raise api.UsageError(f"{BEARER_VARIABLE}: at least {_SHORTEST_TOKEN} characters are needed")
    if host not in _LOOPBACK and not token:
        raise api.UsageError(
            f"--host {host} reaches beyond this machine",
            hint=f"set {BEARER_VARIABLE} to a long random text, which clients send as bearer token",
        )


def http_app(services: Services, host: str, token: str) -> AsgiApp:
    """The program behind HTTP: Host, Origin and size are checked, then the token."""
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
    return _with_token(app, token) if token else app


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
