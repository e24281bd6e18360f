"""Responses that a provider computes in the background."""

import json
from typing import Any

import pytest

from oraclepack.engines.responses import (
    Response,
    ResponseAddress,
    ResponseState,
    UnknownResponse,
    cancel,
    read_response,
    retrieve,
)
from oraclepack.tools.usage import Usage
from tests.provider import Provider, Request, answer_to, serving

KEY = "sk-sentinel"


def text_item(*texts: str, kind: str = "output_text") -> dict[str, Any]:
    return {"type": "message", "content": [{"type": kind, "text": text} for text in texts]}


@pytest.mark.parametrize(
    ("output", "text"),
    [
        pytest.param([text_item("yes")], "yes\n", id="one text ends with a line end"),
        pytest.param([text_item("yes\n")], "yes\n", id="one line end is enough"),
        pytest.param([text_item("a", "b"), text_item("c")], "a\nb\nc\n", id="texts, each its line"),
        pytest.param([{"type": "reasoning", "summary": []}, text_item("x")], "x\n", id="reasoning"),
        pytest.param([text_item("no", kind="refusal"), text_item("")], "", id="nothing to write"),
        pytest.param([{"type": "text", "text": "plain"}], "plain\n", id="an item that is a text"),
        pytest.param([], "", id="no output"),
        pytest.param(None, "", id="none at all"),
    ],
)
def test_the_text_is_what_oracle_writes(output: Any, text: str) -> None:
    found = read_response(json.dumps({"status": "completed", "output": output}).encode())

    assert found == Response(ResponseState.COMPLETED, text)


@pytest.mark.parametrize(
    ("body", "response"),
    [
        pytest.param({"status": "queued"}, Response(ResponseState.RUNNING), id="queued"),
        pytest.param({"status": "in_progress"}, Response(ResponseState.RUNNING), id="running"),
        pytest.param(
            {"status": "failed", "error": {"message": "It\nfailed."}},
            Response(ResponseState.FAILED, detail="It failed."),
            id="failed",
        ),
        pytest.param(
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            Response(ResponseState.INCOMPLETE, detail="max_output_tokens"),
            id="incomplete",
        ),
        pytest.param(
            {"status": "incomplete", "output": [text_item("half an ans")]},
            Response(ResponseState.INCOMPLETE),
            id="half an answer is none",
        ),
        pytest.param({"status": "cancelled"}, Response(ResponseState.CANCELLED), id="cancelled"),
        pytest.param({"status": "dreaming"}, None, id="a state that nobody knows"),
        pytest.param({}, None, id="no state"),
        pytest.param([], None, id="no object"),
    ],
)
def test_states(body: Any, response: Response | None) -> None:
    assert read_response(json.dumps(body).encode()) == response


def test_what_is_no_json_is_no_response() -> None:
    assert read_response(b"<!doctype html>") is None
    assert read_response(b"[" * 100_000) is None


def test_usage_has_the_tokens_of_reasoning() -> None:
    usage = {
        "input_tokens": 7,
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 37,
    }
    found = read_response(json.dumps({"status": "completed", "usage": usage}).encode())

    assert found is not None
    assert found.usage == Usage(
        input_tokens=7, output_tokens=30, reasoning_tokens=20, total_tokens=37
    )


def address(provider: Provider, **changes: Any) -> ResponseAddress:
    given = {"endpoint": provider.base_url, "id": "resp_1", "key": KEY} | changes
    return ResponseAddress(**given)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param("ok", ResponseState.COMPLETED, id="completed"),
        pytest.param("thinking", ResponseState.RUNNING, id="running"),
        pytest.param("failed", ResponseState.FAILED, id="failed"),
        pytest.param("incomplete", ResponseState.INCOMPLETE, id="incomplete"),
        pytest.param("gone", False, id="404 is unknown"),
        pytest.param("forbidden_poll", False, id="a refusal is unknown"),
        pytest.param("lost_poll", True, id="a lost reply may be answered later"),
    ],
)
def test_asking_for_a_response(fault: str, expected: ResponseState | bool) -> None:
    with serving() as provider:
        provider.requests.append(Request("why?", "m", fault, 0, (), response="resp_1"))
        found = retrieve(address(provider))

    if isinstance(found, UnknownResponse):
        assert found.is_transient is expected
    else:
        assert found.state is expected
        assert found.text == (answer_to("why?") if expected == "completed" else "")
    assert provider.keys == {f"Bearer {KEY}"}


def test_cancelling_says_what_became_of_it() -> None:
    with serving() as provider:
        provider.requests.append(Request("why?", "m", "thinking", 0, (), response="resp_1"))
        found = cancel(address(provider))

    assert found == Response(ResponseState.CANCELLED, id="resp_1")
    assert provider.cancelled == ["resp_1"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"key": ""}, "no key", id="no key"),
        pytest.param({"id": "resp_1/../../files"}, "no id", id="a path"),
        pytest.param({"id": "chatcmpl-1"}, "no id", id="another kind of id"),
        pytest.param({"endpoint": "http://unit.example/v1"}, "https", id="no TLS"),
    ],
)
def test_nothing_is_sent(changes: dict[str, str], reason: str) -> None:
    with serving() as provider:
        found = retrieve(address(provider, **changes))

    assert isinstance(found, UnknownResponse)
    assert reason in found.reason
    assert not found.is_transient
    assert provider.polls == []


def test_nobody_listens() -> None:
    with serving() as provider:
        gone = address(provider)
    found = retrieve(gone)

    assert isinstance(found, UnknownResponse)
    assert found.is_transient


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(ResponseAddress("https://unit.example", "resp_1", KEY))
