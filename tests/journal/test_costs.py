"""What calls cost: which of them count, what is known, and what was saved."""

from decimal import Decimal
from typing import Any

import pytest

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.costs import NO_COST, CostTotal, cost_of, total_cost
from oraclepack.journal.statuses import CRASHED, Cache
from oraclepack.journal.step_state import Invocation
from oraclepack.tools.prices import ModelPrice, TokenPrice
from oraclepack.tools.usage import FigureSource, Usage, priced

PRICE = ModelPrice("m", "m", TokenPrice(Decimal("1.75"), Decimal(14)), "a list", "2026-11-01")
ASKED = Usage(input_tokens=17, output_tokens=154, cost_usd=0.0021)


@pytest.mark.parametrize(
    ("usage", "price", "cost", "source"),
    [
        pytest.param(ASKED, PRICE, "0.002186", FigureSource.COMPUTED, id="tokens and a price"),
        pytest.param(ASKED, None, "0.0021", FigureSource.REPORTED, id="only the tool knows"),
        pytest.param(
            Usage(input_tokens=17, output_tokens=154),
            None,
            None,
            FigureSource.UNKNOWN,
            id="no calls",
        ),
        pytest.param(
            Usage(input_tokens=0, output_tokens=0, cost_usd=0.0),
            PRICE,
            None,
            FigureSource.UNKNOWN,
            id="a stream that was cut off counts nothing",
        ),
        pytest.param(
            Usage(cost_usd=0.5), PRICE, "0.5", FigureSource.REPORTED, id="a cost without tokens"
        ),
        pytest.param(
            Usage(input_tokens=1_000_000, output_tokens=0),
            PRICE,
            "1.75",
            FigureSource.COMPUTED,
            id="an empty answer is billed",
        ),
        pytest.param(
            Usage(input_tokens=9, output_tokens=9, cost=Decimal(3)),
            PRICE,
            "3",
            FigureSource.UNKNOWN,
            id="what is recorded is not computed again",
        ),
    ],
)
def test_the_cost_that_counts(
    usage: Usage, price: ModelPrice | None, cost: str | None, source: FigureSource
) -> None:
    found = priced(usage, price)

    assert found is not None
    assert found.cost == (None if cost is None else Decimal(cost))
    assert found.cost_source is source


def test_a_computed_cost_names_its_price() -> None:
    found = priced(ASKED, PRICE)

    assert found is not None
    assert found.price_source == "a list, 2026-11-01"


def outcome(**fields: Any) -> Invocation:
    made: dict[str, Any] = {"provider": "openai", "ok": True, "attempts": 1} | fields
    return Invocation(
        1, 1, None, j.InvocationOutcome(step="01", attempt=1, call=1, tool="oracle", **made)
    )


def failed(code: str, **fields: Any) -> Invocation:
    return outcome(ok=False, error=StepError(code=code, message="x"), **fields)


COST = Usage(
    input_tokens=10, output_tokens=20, cost=Decimal("0.5"), cost_source=FigureSource.COMPUTED
)
PAID = CostTotal(
    cost=Decimal("0.5"),
    source=FigureSource.COMPUTED,
    calls=1,
    input_tokens=10,
    output_tokens=20,
)
UNKNOWN = CostTotal(calls=1, unknown_calls=1)
OPEN = j.InvocationIntent(step="01", attempt=1, call=1, tool="oracle", provider="openai")
REHEARSED = j.InvocationIntent(step="01", attempt=1, call=1, tool="oracle", provider="rehearsal")


@pytest.mark.parametrize(
    ("call", "total"),
    [
        pytest.param(outcome(usage=COST), PAID, id="a call with a known cost"),
        pytest.param(outcome(), UNKNOWN, id="a call that tells nothing"),
        pytest.param(Invocation(1, 1, OPEN), UNKNOWN, id="a call without an end"),
        pytest.param(Invocation(1, 1, REHEARSED), NO_COST, id="a rehearsal without an end"),
        pytest.param(outcome(provider="rehearsal"), NO_COST, id="a rehearsal"),
        pytest.param(outcome(provider=None), NO_COST, id="a tool that asks no model"),
        pytest.param(
            outcome(cache=Cache.HIT, attempts=0, saved=COST),
            CostTotal(saved=Decimal("0.5"), saved_calls=1),
            id="an answer from the cache",
        ),
        pytest.param(
            outcome(cache=Cache.HIT, attempts=0),
            CostTotal(saved_calls=1),
            id="a cached answer of unknown cost",
        ),
        pytest.param(
            outcome(source_run="another", attempts=0),
            CostTotal(saved_calls=1),
            id="an answer that another run paid for",
        ),
        pytest.param(failed("AUTH"), NO_COST, id="the provider refused it"),
        pytest.param(
            failed("RATE_LIMITED", attempts=3), UNKNOWN, id="refused at last, after other tries"
        ),
        pytest.param(failed("TIMEOUT"), UNKNOWN, id="it may have been billed"),
        pytest.param(failed("INTERRUPTED", attempts=0), NO_COST, id="stopped before it was made"),
        pytest.param(failed("CONTRACT", usage=COST), PAID, id="an answer that misses its contract"),
        pytest.param(failed(CRASHED, attempts=0), UNKNOWN, id="cut off, and asked again"),
        pytest.param(
            failed(CRASHED, attempts=0, adopted=True), NO_COST, id="cut off, and counted elsewhere"
        ),
        pytest.param(
            outcome(adopted=True, attempts=0, usage=COST), PAID, id="the answer of a call cut off"
        ),
        pytest.param(
            outcome(adopted=True, attempts=0), UNKNOWN, id="a harvested answer of unknown cost"
        ),
        pytest.param(
            outcome(usage=Usage(input_tokens=10, output_tokens=20, reasoning_tokens=0)),
            CostTotal(calls=1, unknown_calls=1, input_tokens=10, output_tokens=20),
            id="tokens without a price; no reasoning is not shown",
        ),
        pytest.param(
            outcome(usage=Usage(cost_usd=0.5), attempts=1),
            CostTotal(cost=Decimal("0.5"), source=FigureSource.REPORTED, calls=1),
            id="a journal of 0.1.0",
        ),
    ],
)
def test_the_cost_of_a_call(call: Invocation, total: CostTotal) -> None:
    assert cost_of(call) == total


def test_a_sum_counts_what_is_not_known() -> None:
    calls = [outcome(usage=COST), outcome(usage=Usage(cost_usd=0.25)), outcome()]

    found = total_cost(calls)

    assert (found.cost, found.calls, found.unknown_calls) == (Decimal("0.75"), 3, 1)
    assert found.source is FigureSource.REPORTED
