"""Batches of three providers, on loopback."""

import json
from collections.abc import Iterator

import pytest

from oraclepack.engines import batches
from oraclepack.engines.batches import Batch, BatchState, BatchTrouble, Row, RowResult, Target
from oraclepack.engines.dialects import Dialect, Question, body_of
from oraclepack.engines.responses import ResponseState
from tests.batch_provider import BatchProvider, serving_batches
from tests.provider import answer_to

APIS = (Dialect.RESPONSES, Dialect.MESSAGES, Dialect.GEMINI)
PROMPTS = {"k1": "First?", "k2": "Second?", "k3": "Third?"}


@pytest.fixture
def provider() -> Iterator[BatchProvider]:
    with serving_batches() as provider:
        yield provider


def a_target(provider: BatchProvider, dialect: Dialect) -> Target:
    return Target(dialect, provider.address, "m", "sk-secret")


def submitted(target: Target, nonce: str = "n1") -> Batch | BatchTrouble:
    rows = [
        Row(name, body_of(target.dialect, Question(model="m", prompt=prompt)))
        for name, prompt in PROMPTS.items()
    ]
    file = batches.upload(target, rows)
    assert isinstance(file, str), file
    return batches.create(target, rows, file, nonce)


def collected(target: Target, batch: Batch | BatchTrouble) -> list[RowResult]:
    assert isinstance(batch, Batch), batch
    now = batches.fetch(target, batch.id)
    assert isinstance(now, Batch), now
    assert now.state is BatchState.ENDED
    data = batches.results(target, now)
    assert isinstance(data, bytes), data
    return list(batches.read_results(target.dialect, data))


@pytest.mark.parametrize("dialect", APIS)
def test_each_row_has_its_answer(provider: BatchProvider, dialect: Dialect) -> None:
    target = a_target(provider, dialect)
    found = collected(target, submitted(target))
    assert {row.id: row.response.text for row in found} == {
        name: answer_to(prompt) for name, prompt in PROMPTS.items()
    }
    assert {row.response.usage.output_tokens for row in found if row.response.usage} == {20}


@pytest.mark.parametrize("dialect", APIS)
def test_failed_and_expired_rows_say_so(provider: BatchProvider, dialect: Dialect) -> None:
    provider.fault = "half_expired"
    target = a_target(provider, dialect)
    found = {row.id: row.response for row in collected(target, submitted(target))}
    states = {name: response.state for name, response in found.items()}
    assert states == {
        "k1": ResponseState.COMPLETED,
        "k2": ResponseState.FAILED,
        "k3": ResponseState.COMPLETED,
    }
    assert found["k2"].detail


@pytest.mark.parametrize("dialect", [Dialect.RESPONSES, Dialect.GEMINI])
def test_a_batch_whose_reply_was_lost_is_found_by_our_mark(
    provider: BatchProvider, dialect: Dialect
) -> None:
    provider.fault = "reply_lost"
    target = a_target(provider, dialect)
    lost = submitted(target)
    assert isinstance(lost, BatchTrouble)
    assert lost.is_sent
    submitted(target, "n2")
    listed = batches.listed(target)
    assert isinstance(listed, tuple)
    assert [one.nonce for one in listed] == ["n2", "n1"]


@pytest.mark.parametrize("dialect", APIS)
def test_a_running_batch_can_be_cancelled(provider: BatchProvider, dialect: Dialect) -> None:
    provider.held = True
    target = a_target(provider, dialect)
    batch = submitted(target)
    assert isinstance(batch, Batch)
    running = batches.fetch(target, batch.id)
    assert isinstance(running, Batch)
    assert running.state is BatchState.RUNNING
    ended = batches.cancel(target, batch.id)
    assert isinstance(ended, Batch)
    assert ended.state is BatchState.ENDED


def test_a_refused_create_took_no_effect(provider: BatchProvider) -> None:
    provider.fault = "refused"
    refused = submitted(a_target(provider, Dialect.RESPONSES))
    assert isinstance(refused, BatchTrouble)
    assert (refused.is_sent, refused.is_transient) == (False, False)


def test_a_busy_provider_is_asked_later(provider: BatchProvider) -> None:
    target = a_target(provider, Dialect.RESPONSES)
    batch = submitted(target)
    assert isinstance(batch, Batch)
    provider.fault = "busy"
    busy = batches.fetch(target, batch.id)
    assert isinstance(busy, BatchTrouble)
    assert busy.is_transient


def test_results_are_fetched_from_the_address_of_the_batch_alone(provider: BatchProvider) -> None:
    target = a_target(provider, Dialect.MESSAGES)
    batch = submitted(target)
    provider.results_at = "https://example.invalid/results"
    assert len(collected(target, batch)) == 3


@pytest.mark.parametrize("fault", ["odd_list", "cut_list"])
def test_a_list_that_is_not_whole_says_nothing(provider: BatchProvider, fault: str) -> None:
    target = a_target(provider, Dialect.RESPONSES)
    submitted(target)
    provider.fault = fault
    assert isinstance(batches.listed(target), BatchTrouble)


def test_an_ended_batch_without_results_is_trouble(provider: BatchProvider) -> None:
    ended = Batch("b", BatchState.ENDED)
    assert isinstance(batches.results(a_target(provider, Dialect.RESPONSES), ended), BatchTrouble)


@pytest.mark.parametrize(
    ("dialect", "row", "state"),
    [
        (Dialect.RESPONSES, {"response": "x"}, ResponseState.FAILED),
        (Dialect.RESPONSES, {"response": {"body": "upstream"}}, ResponseState.FAILED),
        (
            Dialect.RESPONSES,
            {"response": {"status_code": 200, "body": [1]}},
            ResponseState.INCOMPLETE,
        ),
        (Dialect.MESSAGES, {"result": [1]}, ResponseState.FAILED),
        (Dialect.MESSAGES, {"result": {"type": "expired"}}, ResponseState.FAILED),
        (Dialect.GEMINI, {"error": [1]}, ResponseState.FAILED),
        (Dialect.GEMINI, {"response": 3}, ResponseState.INCOMPLETE),
    ],
)
def test_an_odd_row_is_no_answer(
    dialect: Dialect, row: dict[str, object], state: ResponseState
) -> None:
    """One that was answered and cannot be read is paid for: it is not simply asked again."""
    data = json.dumps({"custom_id": "a", **row}).encode()
    (found,) = batches.read_results(dialect, data)
    assert (found.id, found.response.state) == ("a", state)


def test_lines_that_are_no_rows_are_passed_over() -> None:
    data = b'\n{"custom_id": 3}\nrubbish\n[1]\n{"custom_id": "a", "response": null}\n'
    (row,) = batches.read_results(Dialect.RESPONSES, data)
    assert (row.id, row.response.state) == ("a", ResponseState.FAILED)
