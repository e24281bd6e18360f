"""What agents answer, taken or refused."""

import json

import pytest

from oraclepack.tickets.agent_answers import UnusableAnswer, judgement, selection, text_of
from oraclepack.tickets.ticket import Acceptance, NextWork
from tests.tickets.tickets import TWO, built

MADE = built(TWO)
GOOD = '{"ticket_id": "T-1", "action_ids": ["T-1-A02"], "reason": "small\\nand sure"}'
WORK = NextWork(
    ticket_id="T-1", ticket_path="x", title="t", action_ids=("T-1-A02",), reason="because"
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param("words\n", "words", id="plain"),
        pytest.param(json.dumps({"response": " words "}), "words", id="gemini's JSON"),
        pytest.param("", UnusableAnswer("the answer is empty"), id="nothing"),
        pytest.param(
            json.dumps({"response": ""}),
            UnusableAnswer("the response in the tool's JSON is empty"),
            id="an empty response",
        ),
        pytest.param(
            json.dumps({"error": {"message": "no auth"}}),
            UnusableAnswer("the tool answered with an error: no auth"),
            id="an error",
        ),
    ],
)
def test_text(raw: str, expected: str | UnusableAnswer) -> None:
    assert text_of(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(GOOD, id="bare"),
        pytest.param(f"Here:\n```json\n{GOOD}\n```\nDone.", id="in a fence, with words around"),
        pytest.param(json.dumps({"response": GOOD}), id="in gemini's JSON"),
        pytest.param(f'{{"note": 1}} {GOOD}', id="behind another object"),
        pytest.param(f"{{broken {GOOD}", id="behind a brace that is none"),
    ],
)
def test_a_selection_is_found(raw: str) -> None:
    found = selection(raw, MADE.index, MADE.actions)

    assert isinstance(found, NextWork)
    assert (found.ticket_path, found.reason) == (".tickets/T-1.md", "small and sure")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param("I would start with T-1.", "no JSON object", id="prose"),
        pytest.param('{"ticket_id": "T-1", "action_ids": [', "no JSON object", id="cut off"),
        pytest.param('{"ticket_id": "T-1"}', "does not fit", id="a field is missing"),
        pytest.param(GOOD.replace('["T-1-A02"]', "[]"), "does not fit", id="no action"),
        pytest.param(GOOD.replace('["T-1-A02"]', '"T-1-A02"'), "does not fit", id="not a list"),
        pytest.param(GOOD.replace('"T-1",', '"T-9",'), "no ticket 'T-9'", id="unknown ticket"),
        pytest.param(GOOD.replace("A02", "A77"), "no action 'T-1-A77'", id="unknown action"),
        pytest.param(GOOD.replace("T-1-A02", "T-2-A01"), "no action", id="another ticket's"),
        pytest.param(GOOD.replace("A02", "A01"), "already done", id="a done one"),
        pytest.param("{" * 100_000, "no JSON object", id="nothing but braces"),
        pytest.param('{"a":' * 5_000, "no JSON object", id="too deep"),
    ],
)
def test_a_selection_is_refused(raw: str, reason: str) -> None:
    found = selection(raw, MADE.index, MADE.actions)

    assert isinstance(found, UnusableAnswer)
    assert reason in found.reason


def _verdicts(*pairs: tuple[str, str]) -> str:
    criteria = [{"action_id": one, "met": met, "evidence": "x:1"} for one, met in pairs]
    return json.dumps({"criteria": criteria})


def test_every_criterion_gets_its_verdict() -> None:
    found = judgement(_verdicts(("T-1-A03", "yes")), WORK, MADE.actions)

    assert isinstance(found, Acceptance)
    assert [criterion.met for criterion in found.criteria] == ["yes"]


def test_a_ticket_without_criteria_is_judged_by_its_actions() -> None:
    work = NextWork(
        ticket_id="T-2", ticket_path="x", title="t", action_ids=("T-2-A02",), reason="because"
    )

    assert isinstance(judgement(_verdicts(("T-2-A02", "no")), work, MADE.actions), Acceptance)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(_verdicts(), "says nothing about T-1-A03", id="none"),
        pytest.param(_verdicts(("T-1-A03", "maybe")), "does not fit", id="no verdict"),
        pytest.param(
            _verdicts(("T-1-A03", "yes"), ("T-1-A01", "no")),
            "not asked: T-1-A01",
            id="one too many",
        ),
        pytest.param(_verdicts(("T-1-A03", "yes"), ("T-1-A03", "no")), "twice", id="both ways"),
    ],
)
def test_a_judgement_is_refused(raw: str, reason: str) -> None:
    found = judgement(raw, WORK, MADE.actions)

    assert isinstance(found, UnusableAnswer)
    assert reason in found.reason
