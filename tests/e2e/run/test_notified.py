"""`--notify`, from the command line to the program and the server that hear of it."""

import hashlib
import hmac
import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.calls.office import ask, step, until
from tests.e2e.run.project import Zygote, a_project
from tests.processes import is_running
from tests.run.test_notify import a_webhook

pytestmark = pytest.mark.heavy

KEY = "a secret"
EVENTS = ["needs_decision", "finished"]


def test_each_event_is_notified_once_across_a_crash(tmp_path: Path, zygote: Zygote) -> None:
    bash = "".join(step(n, ask(f"Question {n}?", f"out/{n}.md")) for n in (1, 2))
    project = a_project(tmp_path, zygote, bash)
    heard = tmp_path / "heard.jsonl"
    program = tmp_path / "tell-me"
    program.write_text(f'#!/bin/sh\ncat >> "{heard}"\necho >> "{heard}"\n')
    program.chmod(0o755)
    config = Path(os.environ["HOME"], ".config/oraclepack/config.toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    words = ("run", "pack.md", "--no-validate", "--detach", "--json", "--notify", "command,webhook")
    with a_webhook(503, 204) as server:
        config.write_text(f'[notify]\ncommand = ["{program}"]\nwebhook = "{server.url}"\n')

        def begin(*more: str) -> int:
            ran = project.start(*words, *more, ORACLEPACK_NOTIFY_SECRET=KEY).wait()
            assert ran.code == 0, ran
            return int(ran.data["pid"])

        first = begin("--max-calls", "1")
        until(lambda: len(server.requests) == 2 and heard.exists())
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_running(first))
        second = begin()
        until(lambda: not is_running(second))

    notifications = [json.loads(line) for line in heard.read_text().splitlines() if line]
    assert [one["event"] for one in notifications] == EVENTS
    bodies = [json.loads(body) for _, body in server.requests]
    assert [one["event"] for one in bodies] == ["needs_decision", *EVENTS], "the first was refused"
    assert bodies[0] == bodies[1]
    for headers, body in server.requests:
        stamp = headers["X-Oraclepack-Timestamp"].encode()
        mac = hmac.new(KEY.encode(), stamp + b"." + body, hashlib.sha256).hexdigest()
        assert headers["X-Oraclepack-Signature"] == f"sha256={mac}"
    assert len({headers["X-Oraclepack-Delivery"] for headers, _ in server.requests}) == len(EVENTS)
