"""One request over HTTP: no redirects, TLS verified, time and size limited, errors as values."""

import functools
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from oraclepack import __version__

if TYPE_CHECKING:
    import ssl

    import httpx

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_MOST_BYTES = 64_000_000
_SECONDS = 60.0


class HttpReply(msgspec.Struct, frozen=True):
    """What a server answered, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def is_success(self) -> bool:
        return self.status in range(200, 300)

    def header(self, name: str) -> str:
        return self.headers.get(name.lower(), "")


class NoReply(msgspec.Struct, frozen=True):
    """Why there is no whole reply."""

    reason: str
    """In one line, without anything that was in the headers of the request."""
    is_sent: bool
    """The request may have reached the server, which may have carried it out."""


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    seconds: float = _SECONDS,
    most_bytes: int = _MOST_BYTES,
) -> HttpReply | NoReply:
    """Send one request on a connection of its own. Never repeats it, never follows a redirect."""
    import httpx

    # "identity": a reply that unpacks to more than it has bytes would escape the cap.
    given = {"Accept-Encoding": "identity", "User-Agent": f"oraclepack/{__version__}"}
    given |= headers or {}
    if not all(value.isascii() and value.isprintable() for value in given.values()):
        return NoReply("a header of the request is not one line of plain text", is_sent=False)
    deadline = time.monotonic() + seconds
    try:
        # A proxy does not lead to this machine.
        uses_proxy = httpx.URL(url).host not in _LOOPBACK
        with (
            httpx.Client(
                verify=_verified(),
                trust_env=uses_proxy,
                timeout=seconds,
                follow_redirects=False,
            ) as client,
            client.stream(method, url, headers=given, content=body or None) as reply,
        ):
            return _read(reply, deadline, most_bytes)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as trouble:
        return NoReply(_reason(trouble), is_sent=False)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as trouble:
        return NoReply(_reason(trouble), is_sent=False)
    except (httpx.HTTPError, OSError) as trouble:
        return NoReply(_reason(trouble), is_sent=True)


def is_safe_address(address: str) -> bool:
    """Whether a key may be sent there: https, or this machine; no user, query or fragment."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:  # half an IPv6 address
        return False
    if parts.query or parts.fragment or "@" in parts.netloc:
        return False
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    return bool(is_secure and host and address.isprintable() and " " not in address)


def _read(reply: "httpx.Response", deadline: float, most_bytes: int) -> HttpReply | NoReply:
    """The body as it comes, until it ends, grows too large or takes too long."""
    if reply.headers.get("content-encoding", "identity") != "identity":
        return NoReply("the reply is compressed, which was not asked for", is_sent=True)
    parts: list[bytes] = []
    size = 0
    for part in reply.iter_raw():
        size += len(part)
        if size > most_bytes:
            return NoReply(f"the reply has more than {most_bytes} bytes", is_sent=True)
        if time.monotonic() > deadline:
            return NoReply("the reply took too long", is_sent=True)
        parts.append(part)
    headers = {name.lower(): value for name, value in reply.headers.items()}
    return HttpReply(reply.status_code, headers, b"".join(parts))


@functools.cache
def _verified() -> "ssl.SSLContext":
    """Certificates are checked against those of the system and those that come with httpx."""
    import ssl

    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _reason(trouble: Exception) -> str:
    return " ".join(str(trouble).split()) or type(trouble).__name__
