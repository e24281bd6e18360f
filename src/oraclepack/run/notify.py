"""Notifications about a run: one for each event, whatever is killed, without delaying the run.

`notifications.jsonl` in the run directory has a line before each delivery and one after it. A
command that is killed in between leaves a line without its end: what may have arrived is not
delivered again.
"""

import os
import queue
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec

from oraclepack.errors import OraclePackError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_dir import NOTIFICATIONS, RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.run.notify_channels import (
    AppriseChannel,
    Channel,
    CommandChannel,
    Notification,
    desktop,
    webhook,
)
from oraclepack.settings import notify_settings as ns
from oraclepack.settings.registry import Settings
from oraclepack.system import disk, environment, files
from oraclepack.system.digests import canonical_line

FINISHED, FAILED, NEEDS_DECISION, BUDGET_REACHED = (
    "finished",
    "failed",
    "needs_decision",
    "budget_reached",
)
EVENTS = (FINISHED, FAILED, NEEDS_DECISION, BUDGET_REACHED)
CHANNELS = ("desktop", "command", "webhook", "apprise")
_LAST_SECONDS = 45.0
"""How long the end of a command waits for its last deliveries."""
_SIGNALLED = 128


class NotifyOptions(msgspec.Struct, frozen=True):
    """Whom to notify, and about what."""

    channels: Mapping[str, Channel] = {}
    events: frozenset[str] = frozenset(EVENTS)


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the record."""

    id: str
    channel: str
    state: str
    """`begun`, `sent` or `failed`."""
    reason: str = ""


def notify_options(settings: Settings) -> NotifyOptions | None:
    """What the settings ask for; None without notifications. Raises UsageError."""
    names, where = settings[ns.NOTIFY], settings.origin(ns.NOTIFY).where
    if not names:
        return None
    unknown = sorted({*names} - {*CHANNELS})
    if unknown:
        raise UsageError(f"{where} {unknown[0]}: no such channel", hint=f"one of {_all(CHANNELS)}")
    strange = sorted({*settings[ns.NOTIFY_EVENTS]} - {*EVENTS})
    if strange:
        raise UsageError(
            f"notify.events: {strange[0]}: no such event", hint=f"one of {_all(EVENTS)}"
        )
    channels = {name: _channel(name, settings) for name in names}
    wanted: tuple[str, ...] = settings[ns.NOTIFY_EVENTS]
    return NotifyOptions(channels, frozenset(wanted))


def _all(words: tuple[str, ...]) -> str:
    return ", ".join(words)


def _channel(name: str, settings: Settings) -> Channel:
    missing = UsageError(
        f"notify.{name} is not set",
        hint=f"set {name} under [notify] in your own config file, or leave --notify {name} out",
    )
    match name:
        case "desktop":
            return desktop
        case "command":
            if not settings[ns.NOTIFY_COMMAND]:
                raise missing
            return CommandChannel(settings[ns.NOTIFY_COMMAND])
        case "webhook":
            if not settings[ns.NOTIFY_WEBHOOK]:
                raise missing
            return webhook(settings[ns.NOTIFY_WEBHOOK], environment.notify_secret())
        case _:
            if not settings[ns.NOTIFY_APPRISE]:
                raise missing
            return AppriseChannel(settings[ns.NOTIFY_APPRISE])


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
