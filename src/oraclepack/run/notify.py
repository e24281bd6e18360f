"""Notifications about a run: one for each event, whatever is killed, without delaying the run.

`notifications.jsonl` in the run directory has a line before each delivery and one after it. A
command that is killed in between leaves a line without its end: what may have arrived is not
delivered again.
"""

import hashlib
import hmac
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from oraclepack.engines import http
from oraclepack.errors import OraclePackError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_dir import NOTIFICATIONS, RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.settings import notify_settings as ns
from oraclepack.settings.registry import Settings
from oraclepack.system import disk, environment, files
from oraclepack.system.digests import canonical_line
from oraclepack.system.printable import one_line

FINISHED, FAILED, NEEDS_DECISION, BUDGET_REACHED = (
    "finished",
    "failed",
    "needs_decision",
    "budget_reached",
)
EVENTS = (FINISHED, FAILED, NEEDS_DECISION, BUDGET_REACHED)
_LAST_SECONDS = 45.0
"""How long the end of a command waits for its last deliveries."""
_SIGNALLED = 128
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


class NotifyOptions(msgspec.Struct, frozen=True):
    """Whom to notify, and about what."""

    channels: Mapping[str, Channel] = {}
    events: frozenset[str] = frozenset(EVENTS)


def notify_options(settings: Settings) -> NotifyOptions | None:
    """What the settings ask for; None without notifications. Raises UsageError."""
    names, events = settings[ns.NOTIFY], settings[ns.NOTIFY_EVENTS]
    if not names:
        return None
    url, argv, urls = (
        settings[ns.NOTIFY_WEBHOOK],
        settings[ns.NOTIFY_COMMAND],
        settings[ns.NOTIFY_APPRISE],
    )
    makers: dict[str, tuple[object, Channel]] = {
        "desktop": (True, desktop),
        "command": (argv, partial(by_command, argv)),
        "webhook": (url, partial(by_webhook, url, environment.notify_secret())),
        "apprise": (urls, partial(by_apprise, urls)),
    }
    for given, known, where, what in (
        (names, tuple(makers), settings.origin(ns.NOTIFY).where, "channel"),
        (events, EVENTS, "notify.events:", "event"),
    ):
        if unknown := sorted({*given} - {*known}):
            raise UsageError(
                f"{where} {unknown[0]}: no such {what}", hint=f"one of {', '.join(known)}"
            )
    for name in names:
        if not makers[name][0]:
            raise UsageError(
                f"notify.{name} is not set",
                hint=f"set {name} under [notify] in your own config file, or leave "
                f"--notify {name} out",
            )
    if "webhook" in names and urlsplit(url).scheme not in {"http", "https"}:
        raise UsageError(f"notify.webhook: {url}: must begin with https:// or http://")
    return NotifyOptions({name: makers[name][1] for name in names}, frozenset(events))


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the record."""

    id: str
    channel: str
    state: str
    """`begun`, `sent` or `failed`."""
    reason: str = ""


def event_word(event: KnownEvent) -> str | None:
    """The kind of notification for an event; None for most events."""
    match event:
        case j.DecisionNeeded():
            return NEEDS_DECISION
        case j.SessionFinished(exit_code=0):
            return FINISHED
        case j.SessionFinished(exit_code=7):
            return BUDGET_REACHED
        case j.SessionFinished(exit_code=8):
            return NEEDS_DECISION
        case j.SessionFinished(exit_code=code) if code < _SIGNALLED:
            return FAILED  # a person who stopped it by a signal needs no notification
        case _:
            return None


def notification(event: KnownEvent, word: str, run: RunDir, state: RunState) -> Notification:
    """What is delivered about an event."""
    done = sum(state.step(one).status.is_settled for one in state.step_ids)
    total = len(state.step_ids)
    pack = state.created.pack_path if state.created else ""
    message = f"{pack}: {word.replace('_', ' ')}, {done} of {total} steps done"
    command = f"oraclepack runs show {run.name}"
    exit_code = None
    match event:
        case j.DecisionNeeded():
            message = f"{pack}: step {event.step} needs a decision: {event.question}"
            command = f"oraclepack runs answer {run.name} {event.step} {'|'.join(event.options)}"
        case j.SessionFinished():
            exit_code = event.exit_code
            failed = next((s for s in state.step_ids if state.step(s).error is not None), None)
            error = state.step(failed).error if failed else None
            if word == FAILED and error is not None:
                message += f"; step {failed}: {error.code}: {error.message}"
        case _:
            pass
    return Notification(
        id=f"{run.run_id}:{event.seq}",
        event=word,
        run_id=run.run_id,
        run_dir=run.relative,
        project=str(run.root),
        pack=pack,
        status=state.status,
        exit_code=exit_code,
        steps_done=done,
        steps=total,
        message=message,
        next_command=command,
        at=event.at,
    )


class Notifier:
    """Observes the events of a command and delivers from a thread of its own."""

    def __init__(self, run: RunDir, options: NotifyOptions) -> None:
        self._run = run
        self._options = options
        self._path = run.path / NOTIFICATIONS
        self._queue: queue.SimpleQueue[Notification | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._deliver, name="notify", daemon=True)
        self._begun: set[tuple[str, str]] = set()
        self._failures: list[str] = []

    def begin(self, state: RunState) -> None:
        """Deliver the end of the last command, where that was killed before it could."""
        was_on = self._path.exists()
        self._begun = _begun(self._path)
        self._thread.start()
        last = state.sessions[-1].finished if state.sessions else None
        if was_on and last is not None:
            self.event(last, state)

    def event(self, event: KnownEvent, state: RunState) -> None:
        word = event_word(event)
        if word is not None and word in self._options.events:
            self._queue.put(notification(event, word, self._run, state))

    def close(self) -> tuple[str, ...]:
        """Wait a while for what is being delivered; why something could not be."""
        self._queue.put(None)
        self._thread.join(_LAST_SECONDS)
        self._over.set()
        return tuple(self._failures)

    def _deliver(self) -> None:
        while (next_one := self._queue.get()) is not None:
            for name, channel in self._options.channels.items():
                if (next_one.id, name) not in self._begun:
                    self._begun.add((next_one.id, name))
                    self._deliver_by(name, channel, next_one)

    def _deliver_by(self, name: str, channel: Channel, one: Notification) -> None:
        def deliver() -> str:
            self._note(_Line(id=one.id, channel=name, state="begun"))
            return channel(one, lambda seconds: not self._over.wait(seconds))

        # In a pool, so that whatever a channel raises is a value: a notifier never fails a run.
        with ThreadPoolExecutor(1, "channel") as pool:
            delivery = pool.submit(deliver)
            trouble = delivery.exception()
        reason = delivery.result() if trouble is None else f"{type(trouble).__name__}: {trouble}"
        state = "failed" if reason else "sent"
        if reason:
            self._failures.append(f"{name}: {reason}")
        with suppress(OSError, OraclePackError):
            self._note(_Line(id=one.id, channel=name, state=state, reason=reason))

    def _note(self, line: _Line) -> None:
        descriptor = disk.open_append(self._path, files.PRIVATE_FILE)
        try:
            # Begins with a line end: the line before may have been cut off by a kill.
            disk.write(descriptor, b"\n" + canonical_line(line) + b"\n", self._path)
            disk.sync_data(descriptor, self._path)
        finally:
            os.close(descriptor)


def _begun(path: Path) -> set[tuple[str, str]]:
    """What may have been delivered."""
    found: set[tuple[str, str]] = set()
    for line in (files.read(path) or b"").splitlines():
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            read = msgspec.json.decode(line, type=_Line)
            found.add((read.id, read.channel))
    return found


# The channels. Each takes a limited time, and fails with a reason.


def desktop(notification: Notification, _pause: Pause) -> str:
    """A notification of the desktop: `notify-send`, or `osascript` on macOS."""
    text = one_line(notification.message)
    if program := shutil.which("notify-send"):
        return _run([program, "--app-name=oraclepack", "--", notification.title, text], b"")
    if program := shutil.which("osascript"):
        return _run([program, "-e", _APPLE_SCRIPT, notification.title, text], b"")
    return "there is no notify-send and no osascript"


def by_command(argv: Sequence[str], notification: Notification, _pause: Pause) -> str:
    """A program of the user's, with the notification as JSON on its stdin."""
    return _run(argv, canonical_line(notification) + b"\n")


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


def by_webhook(url: str, secret: str, notification: Notification, pause: Pause) -> str:
    """A POST with JSON, signed where there is a secret, tried three times."""
    body = canonical_line(notification)
    headers = {
        "Content-Type": "application/json",
        "X-Oraclepack-Delivery": notification.id,
        "X-Oraclepack-Event": notification.event,
        **signature_headers(secret, notification.at, body),
    }
    reason = ""
    for wait in (0.0, *_PAUSES):
        if wait and not pause(wait):
            break
        reply = http.send("POST", url, headers=headers, body=body, seconds=_REQUEST_SECONDS)
        if isinstance(reply, http.NoReply):
            reason = f"the webhook cannot be reached: {reply.reason}"
        elif reply.is_success:
            return ""
        else:
            # A redirect is a refusal: it would lead to a host that the user did not name.
            reason = f"the webhook answered {reply.status}"
            if reply.status not in _TRANSIENT:
                break
    return reason


def signature_headers(secret: str, at: str, body: bytes) -> dict[str, str]:
    """HMAC-SHA256 over the time and the body, so that an old request cannot be sent again."""
    headers = {"X-Oraclepack-Timestamp": at}
    if secret:
        mac = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
        headers["X-Oraclepack-Signature"] = f"sha256={mac}"
    return headers


def by_apprise(urls: Sequence[str], notification: Notification, _pause: Pause) -> str:
    """Everything else, through the library apprise."""
    from apprise import Apprise

    sender = Apprise()
    unknown = [url for url in urls if not sender.add(url)]
    if unknown:
        return f"apprise does not know {len(unknown)} of its {len(urls)} URLs"
    sent = sender.notify(title=notification.title, body=notification.message)
    return "" if sent else "apprise could not deliver it"
