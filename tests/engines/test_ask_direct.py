"""The program behind `--engine direct`, against a provider on loopback."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from oraclepack.engines.dialects import Dialect, Layout
from oraclepack.engines.direct_request import (
    KEY_VARIABLE,
    REQUEST,
    DirectRequest,
    SentFile,
    direct_argv,
)
from oraclepack.system.digests import sha256_bytes
from oraclepack.tools.oracle_failures import FailureClass, classify
from oraclepack.tools.oracle_sessions import OracleSessions, printed_ids
from tests.provider import Provider, Rule, answer_to, serving

FILES = {"b.py": b"y = 2\n", "a.md": b"one\n\ntwo  \n"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


class Asked:
    """A request that was sent, and what became of it."""

    def __init__(self, folder: Path, request: DirectRequest) -> None:
        for name, data in FILES.items():
            (folder / name).write_bytes(data)
        (folder / REQUEST).write_bytes(msgspec.json.encode(request))
        environment = os.environ | {KEY_VARIABLE: "sk-secret"}
        argv = direct_argv(folder)
        ran = subprocess.run(
            argv, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        self.code, self.out, self.err = ran.returncode, ran.stdout, ran.stderr
        self.record = OracleSessions(folder).record(request.session)
        answer = folder / "out.md"
        self.answer = answer.read_text() if answer.exists() else None


def a_request(provider: Provider, folder: Path, dialect: Dialect, prompt: str) -> DirectRequest:
    return DirectRequest(
        dialect=dialect,
        address=provider.base_url,
        model="gpt-5.2",
        prompt=prompt,
        output=str(folder / "out.md"),
        session="03.1.1.1-abc",
        files=tuple(SentFile(name, sha256_bytes(data)) for name, data in FILES.items()),
        background=dialect is Dialect.RESPONSES,
    )


@pytest.mark.parametrize("dialect", Dialect)
def test_an_answer_is_written_and_recorded(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    asked = Asked(tmp_path, a_request(provider, tmp_path, dialect, "What is wrong?"))
    assert (asked.code, asked.err) == (0, "")
    (request,) = provider.requests
    assert asked.answer == answer_to(request.prompt)
    assert request.files == ("a.md", "b.py")
    assert asked.record is not None
    assert (asked.record.status, asked.record.prompt) == ("completed", "What is wrong?")
    assert asked.record.usage is not None
    assert asked.record.usage.input_tokens == 10
    ids = printed_ids(asked.out)
    assert ids.session == "03.1.1.1-abc"
    assert bool(ids.response) is (dialect is Dialect.RESPONSES)


def test_questions_about_the_same_files_begin_alike(provider: Provider, tmp_path: Path) -> None:
    for prompt in ("First?", "Second?"):
        Asked(tmp_path, a_request(provider, tmp_path, Dialect.RESPONSES, prompt))
    one, two = provider.bodies
    parts, others = one["input"][0]["content"], two["input"][0]["content"]
    assert parts[0] == others[0]
    assert "2 | \n3 | two" in parts[0]["text"]
    assert (parts[1]["text"], others[1]["text"]) == ("First?", "Second?")
    assert one["prompt_cache_key"] == two["prompt_cache_key"]


def test_the_layout_of_oracle_has_the_prompt_first(provider: Provider, tmp_path: Path) -> None:
    request = a_request(provider, tmp_path, Dialect.CHAT, "First?")
    Asked(tmp_path, replace(request, layout=Layout.ORACLE))
    assert provider.requests[0].prompt.startswith("First?\n\n### File 1: b.py\nLines: 1-1\n")


@pytest.mark.parametrize(
    ("dialect", "fault", "code", "kind"),
    [
        (Dialect.RESPONSES, "rate_limit", "RATE_LIMITED", FailureClass.TRANSIENT),
        (Dialect.MESSAGES, "overloaded", "OVERLOADED", FailureClass.TRANSIENT),
        (Dialect.GEMINI, "unavailable", "OVERLOADED", FailureClass.TRANSIENT),
        (Dialect.CHAT, "server_error", "SERVER_ERROR", FailureClass.TRANSIENT),
        (Dialect.CHAT, "garbage", "UNDECIDED", FailureClass.FINAL),
        (Dialect.CHAT, "drop", "UNDECIDED", FailureClass.FINAL),
        (Dialect.RESPONSES, "quota", "QUOTA", FailureClass.FINAL),
        (Dialect.MESSAGES, "auth", "AUTH", FailureClass.FINAL),
        (Dialect.RESPONSES, "forbidden", "FORBIDDEN", FailureClass.FINAL),
        (Dialect.RESPONSES, "no_model", "MODEL_UNAVAILABLE", FailureClass.FINAL),
        (Dialect.CHAT, "context", "CONTEXT_TOO_LONG", FailureClass.FINAL),
        (Dialect.RESPONSES, "failed", "INCOMPLETE", FailureClass.FINAL),
        (Dialect.MESSAGES, "length", "INCOMPLETE", FailureClass.FINAL),
        (Dialect.GEMINI, "length", "INCOMPLETE", FailureClass.FINAL),
        (Dialect.CHAT, "length", "INCOMPLETE", FailureClass.FINAL),
    ],
)
def test_a_failure_is_known_by_its_words(
    provider: Provider, tmp_path: Path, dialect: Dialect, fault: str, code: str, kind: FailureClass
) -> None:
    provider.rules.append(Rule("What", fault))
    asked = Asked(tmp_path, a_request(provider, tmp_path, dialect, "What is wrong?"))
    assert (asked.code, asked.answer, asked.err) == (1, None, "")
    failure = classify(asked.out, asked.err, asked.record)
    assert (failure.code, failure.kind) == (code, kind)
    assert len(provider.requests) == 1


def test_a_lost_reply_leaves_the_question_unknown(provider: Provider, tmp_path: Path) -> None:
    provider.rules.append(Rule("What", "lost"))
    asked = Asked(tmp_path, a_request(provider, tmp_path, Dialect.RESPONSES, "What is wrong?"))
    assert asked.record is not None
    assert asked.record.status == "unknown"
    assert classify(asked.out, asked.err, asked.record).code == "UNDECIDED"
    assert len(provider.requests) == 1


def test_a_lost_poll_is_asked_again(provider: Provider, tmp_path: Path) -> None:
    provider.rules.append(Rule("What", "lost_poll"))
    asked = Asked(tmp_path, a_request(provider, tmp_path, Dialect.RESPONSES, "What is wrong?"))
    assert asked.code == 0
    assert (len(provider.requests), len(provider.polls)) == (1, 4)


def test_an_address_without_responses_is_asked_over_chat(
    provider: Provider, tmp_path: Path
) -> None:
    provider.serves_chat_only = True
    request = a_request(provider, tmp_path, Dialect.RESPONSES, "What is wrong?")
    asked = Asked(tmp_path, replace(request, is_native=False))
    assert asked.code == 0
    assert [len(body["messages"]) for body in provider.bodies] == [2]


def test_a_changed_file_is_not_sent(provider: Provider, tmp_path: Path) -> None:
    request = a_request(provider, tmp_path, Dialect.CHAT, "What is wrong?")
    asked = Asked(tmp_path, replace(request, files=(SentFile("a.md", sha256_bytes(b"old")),)))
    assert (asked.code, provider.requests) == (1, [])
    assert classify(asked.out, asked.err, asked.record).code == "VALIDATION"


def test_the_key_is_written_nowhere(provider: Provider, tmp_path: Path) -> None:
    Asked(tmp_path, a_request(provider, tmp_path, Dialect.CHAT, "What is wrong?"))
    assert provider.keys == {"Bearer sk-secret"}
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if b"sk-secret" in path.read_bytes()]
    assert json.loads((tmp_path / REQUEST).read_text())["model"] == "gpt-5.2"
