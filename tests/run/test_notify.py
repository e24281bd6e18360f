"""Notifications: one for each event, delivered by real programs and a real server."""

import hashlib
import hmac
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest

from oraclepack.errors import UsageError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import fold
from oraclepack.journal.statuses import Status
from oraclepack.run.notify import (
    Channel,
    Notifier,
    NotifyOptions,
    by_apprise,
    by_command,
    by_webhook,
    desktop,
    event_word,
    notification,
    notify_options,
    signature_headers,
)
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import Layer, Settings, SettingValue, resolve
from tests.events import a_step, at, created, numbered, session

RUN_ID = "2026-03-01__abc1234__55555555"
KEY = "a secret"


def ended(code: int) -> j.SessionFinished:
    return j.SessionFinished(exit_code=code)


NEEDED = j.DecisionNeeded(step="01", call=1, question="again?", options=("retry", "fail"))


@pytest.mark.parametrize(
    ("event", "word"),
    [
        pytest.param(ended(0), "finished", id="done"),
        pytest.param(ended(3), "failed", id="a step failed"),
        pytest.param(ended(5), "failed", id="policy"),
        pytest.param(ended(7), "budget_reached", id="budget"),
        pytest.param(ended(130), None, id="a person stopped it"),
        pytest.param(NEEDED, "needs_decision", id="a question"),
        pytest.param(session(), None, id="anything else"),
    ],
)
def test_what_is_worth_a_notification(event: j.KnownEvent, word: str | None) -> None:
    assert event_word(event) == word


def a_run(root: Path) -> RunDir:
    run = RunDir(root, RUN_ID)
    run.create()
    return run


def a_story(*more: j.Event) -> list[j.KnownEvent]:
    return numbered(created("01", "02"), session(), *a_step("01"), *more)


def noting(path: Path) -> Channel:
    return partial(by_command, ("/bin/sh", "-c", 'cat >> "$1"', "sh", str(path)))


def notifications(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def live(run: RunDir, channel: Channel, events: list[j.KnownEvent], start: int = 0) -> list[str]:
    """A command that writes these events from `start` on, to its end."""
    notifier = Notifier(run, NotifyOptions({"command": channel}))
    notifier.begin(fold(events[:start]))
    for number in range(start, len(events)):
        notifier.event(events[number], fold(events[: number + 1]))
    return list(notifier.close())


def test_a_command_reads_the_notification_as_json(tmp_path: Path) -> None:
    run, heard = a_run(tmp_path), tmp_path / "heard"
    failing = a_step("02", Status.FAILED)

    assert live(run, noting(heard), a_story(NEEDED, *failing, ended(3))) == []

    question, failure = notifications(heard)
    assert question["event"] == "needs_decision"
    assert question["next_command"] == f"oraclepack runs answer {RUN_ID} 01 retry|fail"
    assert (failure["event"], failure["exit_code"], failure["steps_done"]) == ("failed", 3, 1)
    assert "step 02: EXIT: it ended with 1" in str(failure["message"])


def test_one_notification_for_each_event_whatever_is_killed(tmp_path: Path) -> None:
    run, heard = a_run(tmp_path), tmp_path / "heard"
    story = a_story(ended(3))
    live(run, noting(heard), story)
    live(run, noting(heard), story, start=len(story))  # the next command finds it delivered
    assert len(notifications(heard)) == 1

    again = a_story(ended(3), session(2), ended(3))
    (run.path / "notifications.jsonl").write_bytes(
        (run.path / "notifications.jsonl").read_bytes()
        + json.dumps(
            {"id": f"{RUN_ID}:{len(again)}", "channel": "command", "state": "begun"}
        ).encode()
    )
    live(run, noting(heard), again, start=len(again))
    assert len(notifications(heard)) == 1, "what may have arrived before a kill is not sent again"

    third = a_story(ended(3), session(2), ended(3), session(3), ended(0))
    live(run, noting(heard), third, start=len(third))
    assert [one["event"] for one in notifications(heard)] == ["failed", "finished"], (
        "killed before it began"
    )


def test_events_before_notifications_were_enabled_are_not_sent(tmp_path: Path) -> None:
    run, heard = a_run(tmp_path), tmp_path / "heard"
    story = a_story(ended(3))

    live(run, noting(heard), story, start=len(story))

    assert notifications(heard) == []


@pytest.mark.parametrize(
    ("channel", "reason"),
    [
        (partial(by_command, ("/nowhere/program",)), "cannot start /nowhere/program"),
        (partial(by_command, ("/bin/sh", "-c", "echo no >&2; exit 4")), "exit code 4: no"),
        (partial(by_apprise, ("nonsense",)), ""),
    ],
)
def test_a_failing_notifier_fails_nothing(channel: Channel, reason: str, tmp_path: Path) -> None:
    (failure,) = live(a_run(tmp_path), channel, a_story(ended(0)))

    assert reason in failure
    assert (
        '"state":"failed"'
        in (tmp_path / f".oraclepack/runs/{RUN_ID}/notifications.jsonl").read_text()
    )


def test_a_program_gets_no_key_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLEPACK_NOTIFY_SECRET", KEY)
    monkeypatch.setenv("ORACLEPACK_TRUST_KEY", "k" * 40)
    heard = tmp_path / "heard"

    live(
        a_run(tmp_path),
        partial(by_command, ("/bin/sh", "-c", f"env > {heard}")),
        a_story(ended(0)),
    )

    assert "SECRET" not in heard.read_text()
    assert "TRUST_KEY" not in heard.read_text()


def test_the_desktop_gets_text_and_no_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/heard\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert live(a_run(tmp_path), desktop, a_story(ended(0))) == []

    lines = (tmp_path / "heard").read_text().splitlines()
    assert lines[1:] == ["--", "oraclepack: finished", "docs/pack.md: finished, 1 of 2 steps done"]


class Webhook(HTTPServer):
    """Answers with these codes, one after the other, the last one from then on."""

    def __init__(self, *codes: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.codes = list(codes)
        self.requests: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((dict(self.headers), body))
        codes = self.server.codes
        self.send_response(codes.pop(0) if len(codes) > 1 else codes[0])
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def a_webhook(*codes: int) -> Iterator[Webhook]:
    with Webhook(*codes) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("codes", "tries", "reason"),
    [
        ((204,), 1, ""),
        ((503, 200), 2, ""),
        ((503,), 3, "answered 503"),
        ((403,), 1, "answered 403"),
        ((302,), 1, "answered 302"),
    ],
)
def test_a_webhook(codes: tuple[int, ...], tries: int, reason: str, tmp_path: Path) -> None:
    story = a_story(ended(0))
    one = notification(story[-1], "finished", a_run(tmp_path), fold(story))
    with a_webhook(*codes) as server:
        said = by_webhook(server.url, KEY, one, lambda _: True)

    assert (len(server.requests), reason in said, bool(said)) == (tries, True, bool(reason))
    headers, body = server.requests[-1]
    mac = hmac.new(KEY.encode(), one.at.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Oraclepack-Signature"] == f"sha256={mac}"
    assert headers["X-Oraclepack-Delivery"] == one.id
    assert msgspec.json.decode(body)["event"] == "finished"


def test_a_webhook_that_no_one_listens_at_and_no_time_left(tmp_path: Path) -> None:
    story = a_story(ended(0))
    one = notification(story[-1], "finished", a_run(tmp_path), fold(story))

    assert "cannot be reached" in by_webhook("http://127.0.0.1:9/", "", one, lambda _: False)
    assert "X-Oraclepack-Signature" not in signature_headers("", at(1), b"")


def settings(**values: object) -> Settings:
    given = {name.replace("__", "."): SettingValue(value, name) for name, value in values.items()}
    return Settings(resolve([Layer(ValueSource.USER, given)]).values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"notify__channels": "pigeon"}, "no such channel"),
        ({"notify__channels": "command"}, "notify.command is not set"),
        ({"notify__channels": "webhook", "notify__webhook": "file:///etc/passwd"}, "must begin"),
        ({"notify__channels": "desktop", "notify__events": "rain"}, "no such event"),
    ],
)
def test_settings_that_make_no_sense(values: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        notify_options(settings(**values))


def test_settings_that_do() -> None:
    assert notify_options(settings()) is None
    options = notify_options(settings(notify__channels="desktop", notify__events="failed"))
    assert options is not None
    assert (set(options.channels), options.events) == ({"desktop"}, frozenset({"failed"}))
