"""The rules of a budget: what calls have cost, may cost and are reserved. Pure.

Before a call its worst case is reserved. From the moment its tool may start it is *open*: it may
be billed, so it counts at its worst case until its outcome is known, whatever dies. A reservation
that was not opened costs nothing and disappears with its command.

A command and a run have a ledger of their own, in memory; fleets, days and months one that all
commands share (`store/budget.py`). Both follow the rules below.
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum

import msgspec
from msgspec.structs import replace


class BudgetScope(StrEnum):
    """The scope of a ceiling."""

    COMMAND = "command"
    RUN = "run"
    FLEET = "fleet"
    DAY = "day"
    MONTH = "month"


class UnknownPricePolicy(StrEnum):
    """What to do about a call whose price is unknown."""

    ASK = "ask"
    ALLOW = "allow"
    REFUSE = "refuse"


class Spending(msgspec.Struct, frozen=True):
    """Money, calls and tokens."""

    cost: Decimal = Decimal(0)
    calls: int = 0
    tokens: int = 0

    def plus(self, other: "Spending") -> "Spending":
        return Spending(
            self.cost + other.cost, self.calls + other.calls, self.tokens + other.tokens
        )


NOTHING_SPENT = Spending()


class Ceiling(msgspec.Struct, frozen=True):
    """The most that may be spent; None is no limit."""

    cost: Decimal | None = None
    calls: int | None = None
    tokens: int | None = None


class BudgetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is about to be made, or tried again."""

    reservation: str = ""
    """A unique name of the try; in the ledger file of 0.2 it is not repeated here."""
    command: str
    """A unique name of the process that makes it."""
    run: str
    day: str
    """`2026-11-16`, in UTC."""
    at: str = ""
    """The moment, in UTC."""
    worst: Spending
    """Its worst case."""
    unknown: tuple[str, ...] = ()
    """`cost`, `tokens`: what of its worst case is not known. It counts as nothing."""
    is_open: bool = False
    """Its tool is about to start, or may have: it may be billed."""
    is_cut_off: bool = False
    """Its command has ended; a later command may still learn the outcome."""
    fleet: str = ""
    """The fleet whose job makes it."""


class SpentSum(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of finished calls of one command, in one run, on one day."""

    command: str
    run: str
    day: str
    spent: Spending
    fleet: str = ""


class BudgetLedger(msgspec.Struct, frozen=True):
    """The ledger: all reservations and sums of the user."""

    sums: tuple[SpentSum, ...] = ()
    reservations: Mapping[str, BudgetRequest] = {}
    """By name; each counts at its worst case until its outcome is known."""


class Shortfall(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call does not fit."""

    scope: BudgetScope
    what: str
    """`cost`, `calls` or `tokens`."""
    limit: Decimal | int | None = None
    spent: Decimal | int = 0
    reserved: Decimal | int = 0
    """Of calls without a known outcome."""
    cut_off: Decimal | int = 0
    """The part of it that calls of ended commands may have cost."""
    needed: Decimal | int | None = None
    """None where that is not known."""

    @property
    def left(self) -> Decimal | int | None:
        """What may still be spent; None without a limit."""
        return None if self.limit is None else max(self.limit - self.spent - self.reserved, 0)

    @property
    def may_pass(self) -> bool:
        """It fits if calls that are being made cost less than their worst case."""
        if self.limit is None or self.needed is None or self.reserved <= self.cut_off:
            return False
        return self.spent + self.cut_off + self.needed <= self.limit


def reserve(
    ledger: BudgetLedger,
    request: BudgetRequest,
    ceilings: Mapping[BudgetScope, Ceiling],
    unknown_price: UnknownPricePolicy = UnknownPricePolicy.REFUSE,
) -> BudgetLedger | Shortfall:
    """The ledger with the worst case of a call reserved, or why the call does not fit.

    Reserving the same call again changes nothing: a command may be killed between two writes.
    """
    if request.reservation in ledger.reservations:
        return ledger
    allows = unknown_price is UnknownPricePolicy.ALLOW
    for scope in BudgetScope:
        short = _shortfall(ledger, request, scope, ceilings.get(scope, Ceiling()), allows=allows)
        if short is not None:
            return short
    return replace(ledger, reservations={**ledger.reservations, request.reservation: request})


def settle(ledger: BudgetLedger, reservation: str, spent: Spending | None) -> BudgetLedger:
    """Settle a finished call: at its cost, or at its worst case where the cost is unknown.

    Settling twice changes nothing.
    """
    known = ledger.reservations.get(reservation)
    if known is None:
        return ledger
    rest = {name: one for name, one in ledger.reservations.items() if name != reservation}
    spent_sum = SpentSum(
        command=known.command,
        run=known.run,
        day=known.day,
        spent=known.worst if spent is None else spent,
        fleet=known.fleet,
    )
    return BudgetLedger(_added(ledger.sums, spent_sum), rest)


def release(ledger: BudgetLedger, reservation: str) -> BudgetLedger:
    """The call was not made. An open one cannot be released: it may have been billed."""
    known = ledger.reservations.get(reservation)
    if known is None or known.is_open:
        return ledger
    rest = {name: one for name, one in ledger.reservations.items() if name != reservation}
    return replace(ledger, reservations=rest)


def spent_in(
    ledger: BudgetLedger,
    request: BudgetRequest,
    scope: BudgetScope,
    *,
    only_cut_off: bool = False,
) -> tuple[Spending, Spending]:
    """What counts against a ceiling: spent, and reserved by calls without a known outcome.

    With `only_cut_off` the reservations are those of ended commands alone.
    """
    spent, reserved = NOTHING_SPENT, NOTHING_SPENT
    for one in ledger.sums:
        if _concerns(one, request, scope):
            spent = spent.plus(one.spent)
    for kept in ledger.reservations.values():
        if _concerns(kept, request, scope) and (kept.is_cut_off or not only_cut_off):
            reserved = reserved.plus(kept.worst)
    return spent, reserved


def fleet_spending(ledger: BudgetLedger, fleet: str) -> tuple[Spending, Spending]:
    """What the calls of a fleet came to, and what is reserved for those without an outcome."""
    request = BudgetRequest(
        reservation="", command="", run="", day="", worst=NOTHING_SPENT, fleet=fleet
    )
    return spent_in(ledger, request, BudgetScope.FLEET)


def _concerns(one: SpentSum | BudgetRequest, request: BudgetRequest, scope: BudgetScope) -> bool:
    match scope:
        case BudgetScope.COMMAND:
            return one.command == request.command
        case BudgetScope.RUN:
            return one.run == request.run
        case BudgetScope.FLEET:
            return one.fleet == request.fleet
        case BudgetScope.DAY:
            return one.day == request.day
        case BudgetScope.MONTH:
            return one.day[:7] == request.day[:7]


def _shortfall(
    ledger: BudgetLedger,
    request: BudgetRequest,
    scope: BudgetScope,
    ceiling: Ceiling,
    *,
    allows: bool,
) -> Shortfall | None:
    if ceiling == Ceiling():
        return None
    spent, reserved = spent_in(ledger, request, scope)
    cut_off = spent_in(ledger, request, scope, only_cut_off=True)[1]
    for what in ("cost", "calls", "tokens"):
        limit = getattr(ceiling, what)
        used, kept = getattr(spent, what), getattr(reserved, what)
        is_unknown = what in request.unknown
        needed = getattr(request.worst, what)
        refused = is_unknown and not allows
        if limit is not None and (refused or used + kept + needed > limit):
            return Shortfall(
                scope=scope,
                what=what,
                limit=limit,
                spent=used,
                reserved=kept,
                cut_off=getattr(cut_off, what),
                needed=None if is_unknown else needed,
            )
    return None


def _added(sums: tuple[SpentSum, ...], more: SpentSum) -> tuple[SpentSum, ...]:
    place = (more.day, more.command, more.run, more.fleet)
    by_scope = {(one.day, one.command, one.run, one.fleet): one for one in sums}
    before = by_scope.get(place)
    spent = more.spent if before is None else before.spent.plus(more.spent)
    by_scope[place] = replace(more, spent=spent)
    return tuple(by_scope[name] for name in sorted(by_scope))
