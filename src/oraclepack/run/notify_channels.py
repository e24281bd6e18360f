"""The ways to deliver a notification. Each takes a limited time, and fails with a reason."""

import hashlib
import hmac
import shutil
import subprocess
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from oraclepack.engines import http
from oraclepack.errors import UsageError
from oraclepack.system import environment
from oraclepack.system.digests import canonical_line
from oraclepack.system.printable import one_line

_PROGRAM_SECONDS = 30.0
_REQUEST_SECONDS = 10.0
_PAUSES = (1.0, 4.0)
"""Seconds before the second and the third try of a webhook."""
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_APPLE_SCRIPT = (
    "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
)


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """What is delivered: the JSON of commands and webhooks."""

    id: str
    """Of the event, so that a receiver can recognise a second delivery."""
    event: str
    """`finished`, `failed`, `needs_decision` or `budget_reached`."""
    run_id: str
    run_dir: str
    """Relative to the project root."""
    project: str
    """The project root."""
    pack: str
    status: str
    exit_code: int | None = None
    steps_done: int = 0
    steps: int = 0
    message: str
    """In one line."""
    next_command: str
    at: str
    schema_version: int = 1

    @property
    def title(self) -> str:
        return f"oraclepack: {self.event.replace('_', ' ')}"


Pause = Callable[[float], bool]
"""Waits so many seconds; False as soon as there is no time left."""
Channel = Callable[[Notification, Pause], str]
"""Delivers a notification; returns why it could not, or nothing."""


def desktop(notification: Notification, _pause: Pause) -> str:
    """A notification of the desktop: `notify-send`, or `osascript` on macOS."""
    text = one_line(notification.message)
    if program := shutil.which("notify-send"):
        return _run([program, "--app-name=oraclepack", "--", notification.title, text], b"")
    if program := shutil.which("osascript"):
        return _run([program, "-e", _APPLE_SCRIPT, notification.title, text], b"")
    return "there is no notify-send and no osascript"


class CommandChannel(msgspec.Struct, frozen=True):
    """A program of the user's, with the notification as JSON on its stdin."""

    argv: tuple[str, ...]

    def __call__(self, notification: Notification, _pause: Pause) -> str:
        return _run(self.argv, canonical_line(notification) + b"\n")


def _run(argv: Sequence[str], data: bytes) -> str:
    try:
        done = subprocess.run(
            argv,
            input=data,
            capture_output=True,
            check=False,
            timeout=_PROGRAM_SECONDS,
            env=environment.inherited(),
            start_new_session=True,
        )
    except (OSError, ValueError) as trouble:
        return f"cannot start {argv[0]}: {trouble}"
    except subprocess.TimeoutExpired:
        return f"{argv[0]} did not end within {_PROGRAM_SECONDS:.0f} s"
    if done.returncode == 0:
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"{argv[0]} ended with exit code {done.returncode}" + (f": {said[-1]}" if said else "")


class WebhookChannel(msgspec.Struct, frozen=True):
    """A POST with JSON, signed where there is a secret, tried three times."""

    url: str
    secret: str = ""

    def __call__(self, notification: Notification, pause: Pause) -> str:
        body = canonical_line(notification)
        reason = ""
        for wait in (0.0, *_PAUSES):
            if wait and not pause(wait):
                return reason
            reason, is_final = self._post(notification, body)
            if not reason or is_final:
                return reason
        return reason

    def _post(self, notification: Notification, body: bytes) -> tuple[str, bool]:
        """Why it was not delivered, and whether trying again is of no use."""
        headers = {
            "Content-Type": "application/json",
            "X-Oraclepack-Delivery": notification.id,
            "X-Oraclepack-Event": notification.event,
            **signature_headers(self.secret, notification.at, body),
        }
        reply = http.send("POST", self.url, headers=headers, body=body, seconds=_REQUEST_SECONDS)
        if isinstance(reply, http.NoReply):
            return f"the webhook cannot be reached: {reply.reason}", False
        # A redirect is a refusal: it would lead to a host that the user did not name.
        if reply.is_success:
            return "", True
        return f"the webhook answered {reply.status}", reply.status not in _TRANSIENT


def webhook(url: str, secret: str) -> WebhookChannel:
    """The channel of a URL; raises UsageError for one that is no http."""
    if urlsplit(url).scheme not in {"http", "https"}:
        raise UsageError(f"notify.webhook: {url}: must begin with https:// or http://")
    return WebhookChannel(url, secret)


def signature_headers(secret: str, at: str, body: bytes) -> dict[str, str]:
    """HMAC-SHA256 over the time and the body, so that an old request cannot be sent again."""
    headers = {"X-Oraclepack-Timestamp": at}
    if secret:
        mac = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
        headers["X-Oraclepack-Signature"] = f"sha256={mac}"
    return headers


class AppriseChannel(msgspec.Struct, frozen=True):
    """Everything else, through the library apprise."""

    urls: tuple[str, ...]

    def __call__(self, notification: Notification, _pause: Pause) -> str:
        from apprise import Apprise

        sender = Apprise()
        unknown = [url for url in self.urls if not sender.add(url)]
        if unknown:
            return f"apprise does not know {len(unknown)} of its {len(self.urls)} URLs"
        sent = sender.notify(title=notification.title, body=notification.message)
        return "" if sent else "apprise could not deliver it"
