"""The rules of a budget: what fits, and what counts."""

from collections.abc import Mapping
from decimal import Decimal

import msgspec
import pytest

from oraclepack.calls.budget import hint_of
from oraclepack.store.spending import (
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    UnknownPricePolicy,
    reserve,
    settle,
)


def asks(
    name: str = "x",
    cost: str = "1",
    *,
    command: str = "c1",
    run: str = "r1",
    day: str = "2026-11-16",
    fleet: str = "",
) -> BudgetRequest:
    worst = Spending(Decimal(cost), 1, 100)
    return BudgetRequest(
        reservation=name, command=command, run=run, day=day, worst=worst, fleet=fleet
    )


def held(*requests: BudgetRequest) -> BudgetLedger:
    ledger = BudgetLedger()
    for request in requests:
        made = reserve(ledger, request, {})
        assert isinstance(made, BudgetLedger)
        ledger = made
    return ledger


def paid(*requests: BudgetRequest) -> BudgetLedger:
    ledger = held(*requests)
    for request in requests:
        ledger = settle(ledger, request.reservation, request.worst)
    return ledger


DAY_OF_3 = {BudgetScope.DAY: Ceiling(cost=Decimal(3))}
FLEET_OF_3 = {BudgetScope.FLEET: Ceiling(cost=Decimal(3))}


@pytest.mark.parametrize(
    ("ledger", "request_", "ceilings", "short"),
    [
        pytest.param(BudgetLedger(), asks(cost="3"), DAY_OF_3, None, id="exactly what is left"),
        pytest.param(BudgetLedger(), asks(cost="3.000001"), DAY_OF_3, "cost", id="a bit too much"),
        pytest.param(paid(asks("a", "2")), asks(cost="2"), DAY_OF_3, "cost", id="spent before"),
        pytest.param(held(asks("a", "2")), asks(cost="2"), DAY_OF_3, "cost", id="reserved before"),
        pytest.param(
            paid(asks("a", "2", day="2026-11-15")), asks(cost="2"), DAY_OF_3, None, id="yesterday"
        ),
        pytest.param(
            paid(asks("a", "2", command="c9", run="r9", day="2026-11-01", fleet="weekly")),
            asks(cost="2", fleet="weekly"),
            FLEET_OF_3,
            "cost",
            id="another job of the fleet, another day",
        ),
        pytest.param(
            paid(asks("a", "2", fleet="daily")),
            asks(cost="2", fleet="weekly"),
            FLEET_OF_3,
            None,
            id="another fleet",
        ),
        pytest.param(
            paid(asks("a", "2", day="2026-11-01", run="r9", command="c9")),
            asks(cost="2"),
            {BudgetScope.MONTH: Ceiling(cost=Decimal(3))},
            "cost",
            id="the same month, another project",
        ),
        pytest.param(
            paid(asks("a", "2", day="2026-10-31")),
            asks(cost="2"),
            {BudgetScope.RUN: Ceiling(cost=Decimal(3))},
            "cost",
            id="the same run, another month",
        ),
        pytest.param(
            paid(asks("a", "2", command="c9")),
            asks(cost="2"),
            {BudgetScope.COMMAND: Ceiling(cost=Decimal(3))},
            None,
            id="another command",
        ),
        pytest.param(
            paid(asks("a")),
            asks(),
            {BudgetScope.COMMAND: Ceiling(calls=1)},
            "calls",
            id="one call was made",
        ),
        pytest.param(
            paid(asks("a")),
            asks(),
            {BudgetScope.COMMAND: Ceiling(tokens=199)},
            "tokens",
            id="too many tokens",
        ),
        pytest.param(
            BudgetLedger(),
            msgspec.structs.replace(asks(), unknown=("cost",)),
            DAY_OF_3,
            "cost",
            id="an unknown price",
        ),
        pytest.param(
            BudgetLedger(),
            msgspec.structs.replace(asks(), unknown=("cost",)),
            {BudgetScope.COMMAND: Ceiling(calls=5)},
            None,
            id="no limit of cost needs a price",
        ),
    ],
)
def test_whether_a_call_fits(
    ledger: BudgetLedger,
    request_: BudgetRequest,
    ceilings: Mapping[BudgetScope, Ceiling],
    short: str | None,
) -> None:
    found = reserve(ledger, request_, ceilings)

    assert (found.what if isinstance(found, Shortfall) else None) == short


def test_a_shortfall_says_what_is_spent_reserved_and_left() -> None:
    ledger = settle(held(asks("a", "1"), asks("b", "1.5")), "a", Spending(Decimal("0.25"), 1, 9))

    found = reserve(ledger, asks(cost="2"), DAY_OF_3)

    assert isinstance(found, Shortfall)
    assert (found.spent, found.reserved, found.left) == (
        Decimal("0.25"),
        Decimal("1.5"),
        Decimal("1.25"),
    )


def test_an_unknown_price_may_be_allowed() -> None:
    unpriced = msgspec.structs.replace(asks(cost="0"), unknown=("cost",))

    found = reserve(BudgetLedger(), unpriced, DAY_OF_3, UnknownPricePolicy.ALLOW)

    assert isinstance(found, BudgetLedger)


def test_writing_a_line_twice_changes_nothing() -> None:
    once = held(asks("a"))
    assert reserve(once, asks("a"), DAY_OF_3) == once
    spent = settle(once, "a", None)
    assert settle(spent, "a", None) == spent


@pytest.mark.parametrize(
    ("spent", "reserved", "cut_off", "needed", "expected"),
    [
        pytest.param(1, 4, 0, 2, True, id="calls that are being made may free enough"),
        pytest.param(4, 1, 0, 2, False, id="what is spent leaves too little"),
        pytest.param(1, 4, 4, 2, False, id="nobody makes the reserved calls any more"),
        pytest.param(1, 4, 3, 2, False, id="what ended commands may have cost counts"),
        pytest.param(1, 4, 0, None, False, id="its own cost is not known"),
    ],
)
def test_when_a_call_may_fit_later(
    spent: int, reserved: int, cut_off: int, needed: int | None, expected: bool
) -> None:
    short = Shortfall(
        scope=BudgetScope.COMMAND,
        what="cost",
        limit=Decimal(5),
        spent=Decimal(spent),
        reserved=Decimal(reserved),
        cut_off=Decimal(cut_off),
        needed=None if needed is None else Decimal(needed),
    )

    assert short.may_pass is expected


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        pytest.param("5", "each command counts from zero", id="it fits a fresh limit"),
        pytest.param("5.01", "the call alone is above the limit: raise it", id="it never fits"),
    ],
)
def test_the_way_on_fits_the_limit(needed: str, said: str) -> None:
    short = Shortfall(
        scope=BudgetScope.COMMAND,
        what="cost",
        limit=Decimal(5),
        spent=Decimal(1),
        needed=Decimal(needed),
    )

    assert hint_of(short).startswith(said)


@pytest.mark.parametrize(
    ("what", "limit", "is_advised"),
    [
        pytest.param("cost", 5, True, id="it costs less with a shorter answer"),
        pytest.param("tokens", 5, True, id="it has fewer tokens with a shorter answer"),
        pytest.param("calls", 5, False, id="it is one call however long its answer is"),
        pytest.param("calls", 0, False, id="no call is allowed"),
    ],
)
def test_a_shorter_answer_is_advised_only_where_it_helps(
    what: str, limit: int, *, is_advised: bool
) -> None:
    short = Shortfall(scope=BudgetScope.COMMAND, what=what, limit=limit, spent=limit, needed=1)

    assert ("--max-output" in hint_of(short)) is is_advised
