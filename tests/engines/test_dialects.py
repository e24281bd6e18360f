"""What replies say, also odd ones: an answer that was paid for is read if it can be."""

import json
from typing import Any

import pytest

from oraclepack.engines.dialects import Dialect, read_reply
from oraclepack.engines.responses import ResponseState


@pytest.mark.parametrize(
    ("dialect", "reply"),
    [
        (Dialect.CHAT, {"choices": [{"message": {"content": "yes"}}], "usage": None}),
        (
            Dialect.CHAT,
            {
                "choices": [{"message": {"content": [{"text": "yes"}]}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": None},
            },
        ),
        (Dialect.MESSAGES, {"content": [{"text": "yes"}, {"text": None}], "usage": None}),
        (
            Dialect.GEMINI,
            {
                "candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": None},
            },
        ),
    ],
)
def test_fields_without_a_value_lose_no_answer(dialect: Dialect, reply: dict[str, Any]) -> None:
    found = read_reply(dialect, json.dumps(reply).encode())
    assert found is not None
    assert (found.state, found.text) == (ResponseState.COMPLETED, "yes\n")


@pytest.mark.parametrize(
    ("dialect", "reply"),
    [
        (Dialect.CHAT, {"choices": [{"message": {"content": "half"}, "finish_reason": "error"}]}),
        (Dialect.MESSAGES, {"content": [{"text": "half"}], "stop_reason": "pause_turn"}),
        (
            Dialect.GEMINI,
            {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "SPII"}]},
        ),
    ],
)
def test_an_end_that_is_not_known_to_be_whole_is_none(
    dialect: Dialect, reply: dict[str, Any]
) -> None:
    found = read_reply(dialect, json.dumps(reply).encode())
    assert found is not None
    assert found.state is ResponseState.INCOMPLETE


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("data", [b"", b"[1]", b"<html>", b'{"choices": 3, "content": 3}'])
def test_what_is_no_reply_is_none(dialect: Dialect, data: bytes) -> None:
    found = read_reply(dialect, data)
    assert found is None or found.text == ""
