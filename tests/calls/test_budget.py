"""The ledger of a budget: what fits, what counts, and 10,000 random schedules."""

from collections.abc import Mapping
from decimal import Decimal
from random import Random

import msgspec
import pytest

from oraclepack.calls.budget import (
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    UnknownPricePolicy,
    by_day,
    fleet_spending,
    open_reservation,
    recover,
    release,
    reserve,
    settle,
    spent_in,
)
from oraclepack.calls.worst_case import hint_of

SCHEDULES = 10_000


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


def test_a_dead_command_keeps_only_what_it_opened() -> None:
    ledger = open_reservation(held(asks("a"), asks("b"), asks("c", command="c2")), "a")

    found = recover(ledger, lambda one: one.command != "c2")

    assert sorted(found.reservations) == ["a", "c"]
    # The outcome may become known much later; until then the worst case counts.
    assert spent_in(found, asks(), BudgetScope.DAY)[1].cost == 2
    assert spent_in(found, asks(), BudgetScope.DAY, only_cut_off=True)[1].cost == 1
    assert release(found, "a") == found
    settled = settle(found, "a", Spending(Decimal("0.1"), 1, 5))
    assert spent_in(settled, asks(), BudgetScope.DAY)[0].cost == Decimal("0.1")


def test_writing_a_line_twice_changes_nothing() -> None:
    once = held(asks("a"))
    assert reserve(once, asks("a"), DAY_OF_3) == once
    spent = settle(once, "a", None)
    assert settle(spent, "a", None) == spent


def test_the_sums_of_days_lose_the_names_of_commands_and_runs() -> None:
    ledger = paid(asks("a", day="2026-09-01"), asks("b", command="c2"), asks("c", run="r2"))

    found = by_day(ledger, 10)

    for scope in (BudgetScope.DAY, BudgetScope.MONTH):
        assert spent_in(found, asks(), scope) == spent_in(ledger, asks(), scope)
    assert [(one.command, one.run, one.day) for one in found.sums] == [
        ("", "", "2026-09-01"),
        ("", "", "2026-11-16"),
    ]
    assert [one.day for one in by_day(ledger, 1).sums] == ["2026-11-16"]


def test_the_sums_of_fleets_keep_their_names_while_there_is_room() -> None:
    ledger = paid(
        asks("a", fleet="one", day="2026-11-15"),
        asks("b", fleet="two", day="2026-11-15"),
        asks("c", fleet="two"),
    )
    assert fleet_spending(by_day(ledger, 10), "two")[0].cost == 2
    short = by_day(ledger, 2)
    assert fleet_spending(short, "one")[0].cost == 0, "the oldest lose their names"
    assert fleet_spending(short, "two")[0].cost == 1
    assert spent_in(short, asks(), BudgetScope.MONTH)[0].cost == 3, "and stay in their month"


class Schedule:
    """Several commands, each with calls, retries, cached answers and kills, in a random order."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.limit = Decimal(self.random.randint(1, 12))
        self.ledger = BudgetLedger()
        self.billed: dict[str, Decimal] = {}
        """What the provider really took, by the name of the try."""
        commands = [f"c{number}" for number in range(self.random.randint(2, 5))]
        self.alive = set(commands)
        self.calls = {command: self.random.randint(1, 4) for command in commands}
        """What each has still to do."""
        self.at_work = dict.fromkeys(commands, "")
        self.tries = 0

    def run(self) -> None:
        while self.alive:
            self.move(self.random.choice(sorted(self.alive)))
            spent, reserved = spent_in(self.ledger, asks(), BudgetScope.DAY)
            assert spent.cost + reserved.cost <= self.limit, "overspent"
            assert sum(self.billed.values()) <= spent.cost + reserved.cost, "money is lost"
        left = recover(self.ledger, lambda _: True)
        assert all(one.is_open for one in left.reservations.values()), "a reservation leaked"
        # The outcomes of what was cut off become known in the end.
        for name in sorted(left.reservations):
            left = settle(left, name, Spending(self.billed.get(name, Decimal(0)), 1, 10))
        assert not left.reservations
        assert sum(self.billed.values()) <= spent_in(left, asks(), BudgetScope.DAY)[0].cost

    def move(self, command: str) -> None:
        """One step of one command; at any of them it may be killed."""
        name = self.at_work[command]
        if self.random.random() < 0.1:
            self.alive.discard(command)
            self.ledger = recover(self.ledger, lambda one: one.command not in self.alive)
        elif not self.calls[command]:
            self.alive.discard(command)
        elif not name:
            self.begin(command)
        elif not self.ledger.reservations[name].is_open:
            self.start(command, name)
        elif name not in self.billed:
            worst = self.ledger.reservations[name].worst.cost
            self.billed[name] = worst * self.random.choice([0, 1, 2, 4]) / 4
        else:
            known = Spending(self.billed[name], 1, 10) if self.random.random() < 0.9 else None
            self.ledger, self.at_work[command] = settle(self.ledger, name, known), ""
            self.calls[command] -= self.random.random() < 0.7  # else it is tried again

    def begin(self, command: str) -> None:
        if self.random.random() < 0.2:
            self.calls[command] -= 1  # answered from the cache
            return
        self.tries += 1
        request = asks(f"t{self.tries}", str(self.random.randint(1, 4)), command=command)
        found = reserve(self.ledger, request, {BudgetScope.DAY: Ceiling(cost=self.limit)})
        if isinstance(found, Shortfall):
            assert found.needed is not None
            assert found.left is not None
            assert found.needed > found.left, "refused although it fits"
            self.alive.discard(command)
        else:
            self.ledger, self.at_work[command] = found, request.reservation

    def start(self, command: str, name: str) -> None:
        if self.random.random() < 0.1:
            self.ledger, self.at_work[command] = release(self.ledger, name), ""
        else:
            self.ledger = open_reservation(self.ledger, name)


def test_no_schedule_overspends_leaks_or_gets_stuck() -> None:
    for seed in range(SCHEDULES):
        try:
            Schedule(seed).run()
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}: {broken}") from broken


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
