"""The ledger of a budget: what calls have cost, may cost and are reserved. Pure.

Before a call its worst case is reserved. From the moment its tool may start it is *open*: it may
be billed, so it counts at its worst case until its outcome is known, whatever dies. A reservation
that was not opened costs nothing and disappears with its command.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum

import msgspec
from msgspec.structs import replace


class BudgetScope(StrEnum):
    """What a ceiling is about."""

    COMMAND = "command"
    RUN = "run"
    DAY = "day"
    MONTH = "month"


class UnknownPricePolicy(StrEnum):
    """What to do about a call whose price nobody knows."""

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

    reservation: str
    """Its name: no other try of any run has it."""
    command: str
    """The process that makes it, by a name that no later process has."""
    run: str
    day: str
    """`2026-11-16`, in UTC."""
    worst: Spending
    """What it may come to at most."""
    is_priced: bool = True


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """The worst case of a call whose outcome is not known."""

    command: str
    run: str
    day: str
    worst: Spending
    is_open: bool = False
    """Its tool may have started: it may be billed."""


class SpentSum(msgspec.Struct, frozen=True, kw_only=True):
    """What finished calls came to: of one command, in one run, on one day."""

    command: str
    run: str
    day: str
    spent: Spending


class BudgetLedger(msgspec.Struct, frozen=True):
    """What is known of all calls of the user."""

    sums: tuple[SpentSum, ...] = ()
    reservations: Mapping[str, Reservation] = {}


class Shortfall(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call does not fit."""

    scope: BudgetScope
    what: str
    """`cost`, `calls`, `tokens`, or `price` where nobody knows it."""
    limit: Decimal | int | None = None
    spent: Decimal | int = 0
    reserved: Decimal | int = 0
    """Of calls without a known outcome."""
    needed: Decimal | int | None = None

    @property
    def left(self) -> Decimal | int | None:
        """What may still be spent; None without a limit."""
        return None if self.limit is None else max(self.limit - self.spent - self.reserved, 0)


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
    limited = any(ceiling.cost is not None for ceiling in ceilings.values())
    if not request.is_priced and limited and unknown_price is not UnknownPricePolicy.ALLOW:
        return Shortfall(scope=BudgetScope.COMMAND, what="price")
    for scope in BudgetScope:
        short = _shortfall(ledger, request, scope, ceilings.get(scope, Ceiling()))
        if short is not None:
            return short
    reservation = Reservation(
        command=request.command, run=request.run, day=request.day, worst=request.worst
    )
    return replace(ledger, reservations={**ledger.reservations, request.reservation: reservation})


def open_reservation(ledger: BudgetLedger, reservation: str) -> BudgetLedger:
    """The tool is about to start. Written down before it may."""
    known = ledger.reservations.get(reservation)
    if known is None:
        return ledger
    changed = {**ledger.reservations, reservation: replace(known, is_open=True)}
    return replace(ledger, reservations=changed)


def settle(ledger: BudgetLedger, reservation: str, spent: Spending | None) -> BudgetLedger:
    """The outcome of a call is known: what it came to, or its worst case where nobody can tell.

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
    )
    return BudgetLedger(_added(ledger.sums, spent_sum), rest)


def release(ledger: BudgetLedger, reservation: str) -> BudgetLedger:
    """The call was not made. An open one cannot be released: it may have been billed."""
    known = ledger.reservations.get(reservation)
    if known is None or known.is_open:
        return ledger
    rest = {name: one for name, one in ledger.reservations.items() if name != reservation}
    return replace(ledger, reservations=rest)


def recover(ledger: BudgetLedger, is_alive: Callable[[str], bool]) -> BudgetLedger:
    """Drop what dead commands reserved and never opened. What they opened stays, and counts."""
    alive = {command: is_alive(command) for command in sorted(_commands(ledger))}
    rest = {
        name: one for name, one in ledger.reservations.items() if one.is_open or alive[one.command]
    }
    return ledger if len(rest) == len(ledger.reservations) else replace(ledger, reservations=rest)


def compact(ledger: BudgetLedger, is_alive: Callable[[str], bool], oldest_day: str) -> BudgetLedger:
    """The same sums in fewer lines: dead commands and days before `oldest_day` lose their names.

    No ceiling asks for them any more, except that of a run.
    """
    sums: tuple[SpentSum, ...] = ()
    alive = {command: is_alive(command) for command in sorted({one.command for one in ledger.sums})}
    for one in ledger.sums:
        command = one.command if alive[one.command] else ""
        day = one.day if one.day >= oldest_day else ""
        sums = _added(sums, replace(one, command=command, day=day))
    return replace(ledger, sums=sums)


def spent_in(
    ledger: BudgetLedger, request: BudgetRequest, scope: BudgetScope
) -> tuple[Spending, Spending]:
    """What counts against a ceiling: spent, and reserved by calls without a known outcome."""
    spent, reserved = NOTHING_SPENT, NOTHING_SPENT
    for one in ledger.sums:
        if _concerns(one, request, scope):
            spent = spent.plus(one.spent)
    for held in ledger.reservations.values():
        if _concerns(held, request, scope):
            reserved = reserved.plus(held.worst)
    return spent, reserved


def _concerns(one: SpentSum | Reservation, request: BudgetRequest, scope: BudgetScope) -> bool:
    match scope:
        case BudgetScope.COMMAND:
            return one.command == request.command
        case BudgetScope.RUN:
            return one.run == request.run
        case BudgetScope.DAY:
            return one.day == request.day
        case BudgetScope.MONTH:
            return one.day[:7] == request.day[:7]


def _shortfall(
    ledger: BudgetLedger, request: BudgetRequest, scope: BudgetScope, ceiling: Ceiling
) -> Shortfall | None:
    if ceiling == Ceiling():
        return None
    spent, reserved = spent_in(ledger, request, scope)
    for what in ("cost", "calls", "tokens"):
        limit = getattr(ceiling, what)
        used, held = getattr(spent, what), getattr(reserved, what)
        needed = getattr(request.worst, what)
        if limit is not None and used + held + needed > limit:
            return Shortfall(
                scope=scope, what=what, limit=limit, spent=used, reserved=held, needed=needed
            )
    return None


def _added(sums: tuple[SpentSum, ...], more: SpentSum) -> tuple[SpentSum, ...]:
    place = (more.command, more.run, more.day)
    by_scope = {(one.command, one.run, one.day): one for one in sums}
    before = by_scope.get(place)
    spent = more.spent if before is None else before.spent.plus(more.spent)
    by_scope[place] = replace(more, spent=spent)
    return tuple(by_scope[name] for name in sorted(by_scope))


def _commands(ledger: BudgetLedger) -> set[str]:
    return {one.command for one in ledger.reservations.values()}
