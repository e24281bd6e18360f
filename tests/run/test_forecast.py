"""What a run would cost: the range of a call, repeated files, time and critical path."""

from decimal import Decimal
from typing import Any

import pytest

from oraclepack.pack.model import StepId
from oraclepack.run.forecast import (
    ASSUMED,
    ASSUMED_PRO,
    CallFate,
    CostRange,
    ExpectedAnswer,
    RehearsedCall,
    expected_answer,
    planned_call,
    repeated_files,
    savings_of,
    simulated,
)
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep
from oraclepack.store.history import AnswerFigures, AnswerHistory
from oraclepack.tools.prices import TokenPrice

OWN = {"gpt-5.2": TokenPrice(Decimal(1), Decimal(10))}


def answers(*figures: tuple[int, float], size: int = 1000) -> list[AnswerFigures]:
    return [AnswerFigures("gpt-5.2", tokens, seconds, size) for tokens, seconds in figures]


PAST = AnswerHistory(answers((100, 5.0), (200, 9.0), (900, 60.0)))


def call(step: str = "01", number: int = 1, **fields: Any) -> RehearsedCall:
    usual: dict[str, Any] = {
        "fate": CallFate.ASK,
        "provider": "openai",
        "model": "gpt-5.2",
        "input_tokens": 1000,
    }
    return RehearsedCall(step_id=step, call=number, **(usual | fields))


@pytest.mark.parametrize(
    ("model", "past", "expected"),
    [
        pytest.param("gpt-5.2", (), ASSUMED, id="no past answer"),
        pytest.param("gpt-5.5-pro", (), ASSUMED_PRO, id="no past answer of a Pro model"),
        pytest.param(
            "gpt-5.2",
            answers((191, 6.0)),
            ExpectedAnswer(191, 3577, 10688, 54.0, 1),
            id="one small answer does not replace the assumption",
        ),
        pytest.param(
            "gpt-5.2",
            answers((50_000, 6.0)),
            ExpectedAnswer(6444, 9111, 50_000, 54.0, 1),
            id="the range covers what was seen",
        ),
        pytest.param(
            "gpt-5.2",
            answers(*[(n * 10, float(n)) for n in range(1, 93)]),
            ExpectedAnswer(100, 743, 1724, 47.1, 92),
            id="many answers outweigh it",
        ),
    ],
)
def test_the_answer_to_expect(model: str, past: Any, expected: ExpectedAnswer) -> None:
    assert expected_answer(model, past) == expected


@pytest.mark.parametrize(
    ("figures", "count"),
    [
        pytest.param(AnswerFigures("gpt-5.2", 5, 1.0, 3000), 1, id="similar size"),
        pytest.param(AnswerFigures("gpt-5.2", 5, 1.0, 5000), 0, id="another size"),
        pytest.param(AnswerFigures("gpt-5.2", 5, 1.0), 0, id="a size that was not noted"),
        pytest.param(AnswerFigures("gpt-5.1", 5, 1.0, 1000), 0, id="another model"),
    ],
)
def test_only_answers_of_the_model_and_of_similar_size_count(
    figures: AnswerFigures, count: int
) -> None:
    assert len(AnswerHistory([figures]).like("gpt-5.2", 1000)) == count


def test_the_answers_of_the_project_come_first() -> None:
    own, other = (AnswerFigures("gpt-5.2", 5, 1.0, 1000, project) for project in ("a", "b"))

    assert AnswerHistory([own, other], "a").like("gpt-5.2", 1000) == [own]
    assert AnswerHistory([other], "a").like("gpt-5.2", 1000) == [other]


def test_the_cost_of_a_call_to_ask() -> None:
    found = planned_call(call(), PAST, OWN)

    assert found.cost == CostRange(Decimal("0.00185"), Decimal("0.03064"), Decimal("0.09093"))
    assert (found.is_unpriced, found.seconds, found.is_too_long) == (False, 46.1, False)


@pytest.mark.parametrize(
    ("fields", "unpriced", "too_long"),
    [
        pytest.param({"fate": CallFate.CACHED}, False, False, id="answered before"),
        pytest.param({"provider": "browser"}, True, False, id="the browser has no price per token"),
        pytest.param({"model": "my/model"}, True, False, id="an unknown price"),
        pytest.param({"fate": CallFate.REFUSED, "input_tokens": None}, False, False, id="refused"),
    ],
)
def test_a_call_without_a_cost(fields: dict[str, Any], unpriced: bool, too_long: bool) -> None:
    found = planned_call(call(**fields), PAST, OWN)

    assert found.cost is None
    assert (found.is_unpriced, found.is_too_long) == (unpriced, too_long)


def test_a_call_that_does_not_fit_its_model() -> None:
    assert planned_call(call(input_tokens=196_001), PAST, OWN).is_too_long
    assert not planned_call(call(input_tokens=196_000), PAST, OWN).is_too_long


def test_files_that_are_sent_again_and_again() -> None:
    calls = [
        call("01", 1, files={"a": 300, "b": 100}, input_tokens=400),
        call("01", 2, files={"a": 300, "b": 100}, input_tokens=400),
        call("02", 1, files={"a": 300, "c": 100}, input_tokens=400),
        call("03", 1, files={"a": 300}, fate=CallFate.CACHED),
    ]

    first, second = repeated_files(calls, {"gpt-5.2": TokenPrice(Decimal(1000), Decimal(0))})

    assert (first.files, first.calls, first.input_tokens, first.bytes) == (("a",), 3, 900, 300)
    assert first.cost == Decimal("0.9")
    assert (second.files, second.calls, second.input_tokens) == (("b",), 2, 200)


@pytest.mark.parametrize(
    ("senders", "closed", "expected"),
    [
        pytest.param(5, (), [("OP701", Decimal("0.4"))], id="a file sent five times of five"),
        pytest.param(2, (), [], id="a file sent twice of five"),
        pytest.param(
            0, ("01",), [("OP703", Decimal("2.13036"))], id="a Pro model for a yes or a no"
        ),
        pytest.param(0, ("02",), [], id="a smaller model is asked already"),
    ],
)
def test_what_following_the_advice_would_save(
    senders: int, closed: tuple[str, ...], expected: list[tuple[str, Decimal]]
) -> None:
    own = {
        "gpt-5.2": TokenPrice(Decimal(1000), Decimal(10)),
        "gpt-5.5-pro": TokenPrice(Decimal(1000), Decimal(180)),
    }
    models = {"01": "gpt-5.5-pro"}
    calls = [
        call(f"0{n}", files={"a": 100} if n <= senders else {}, input_tokens=100, model=model)
        for n in range(1, 6)
        for model in [models.get(f"0{n}", "gpt-5.2")]
    ]
    priced = [planned_call(one, PAST, own) for one in calls]

    found = savings_of(repeated_files(calls, own), priced, closed, PAST, own)

    assert [(one.rule, one.cost) for one in found] == expected


def plan_of(**needs: tuple[str, ...]) -> Plan:
    steps = (
        PlannedStep(StepId(name[1:]), Decision.RUN, "", "", needs=tuple(map(StepId, on)))
        for name, on in needs.items()
    )
    return Plan(tuple(steps))


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        pytest.param(1, 70.0, id="one after the other"),
        pytest.param(2, 40.0, id="two at once"),
        pytest.param(9, 30.0, id="as many as can"),
    ],
)
def test_how_long_it_takes(limit: int, seconds: float) -> None:
    plan = plan_of(s01=(), s02=(), s03=("01",), s04=())
    took = {"01": 10.0, "02": 20.0, "03": 20.0, "04": 20.0}

    assert simulated(plan, took, limit)[0] == seconds


def test_the_critical_path() -> None:
    plan = plan_of(s01=(), s02=(), s03=("01",), s04=("03",))
    took = {"01": 10.0, "02": 25.0, "03": 10.0, "04": 10.0}

    assert simulated(plan, took, 64) == (30.0, ("01", "03", "04"))
