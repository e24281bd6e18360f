"""The money of a call: what a try may come to is reserved before it is made, and settled after it.

`reserve` asks the ledgers of the command and of the run, which only this process has, then the one
of fleets, days and months, which all processes of the user share. Why a call does not fit, what it
may come to and what it came to are computed by the functions at the end, from values alone.
"""

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import replace

from oraclepack.engines.engine import Question
from oraclepack.errors import MachineError, OraclePackError, StepError
from oraclepack.journal import events as j
from oraclepack.journal.costs import cost_of, is_not_billed, money
from oraclepack.journal.statuses import BUDGET, BUDGET_LEDGER
from oraclepack.journal.step_state import Invocation
from oraclepack.store.spending import (
    NOTHING_SPENT,
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    SpentSum,
    UnknownPricePolicy,
    release,
    reserve,
    settle,
)
from oraclepack.system.printable import readable
from oraclepack.tools.oracle_models import input_limit, output_limit, resolve_model
from oraclepack.tools.prices import CENT_FRACTION, TokenPrice, price_of
from oraclepack.tools.providers import BROWSER
from oraclepack.tools.usage import Usage

if TYPE_CHECKING:
    from oraclepack.calls.call import Call
    from oraclepack.calls.context import CallContext

_SHARED = frozenset({BudgetScope.FLEET, BudgetScope.DAY, BudgetScope.MONTH})
_numbers = itertools.count(1)
"""Of all reservations of this process."""
_LINE_NUMBER = 5
"""Tokens that oracle adds to a line of a file at most: its number and a mark."""
_AROUND = 500
"""Tokens that oracle puts around a question at most: its own instructions, names of files."""


class BudgetPolicy(msgspec.Struct, frozen=True):
    """What calls may cost, and what to do where that cannot be known."""

    ceilings: Mapping[BudgetScope, Ceiling] = {}
    on_unknown: UnknownPricePolicy = UnknownPricePolicy.REFUSE
    output_tokens: int | None = None
    """To reserve for a call that sets no limit itself; None is the most that the model gives."""
    fleet: str = ""
    """The fleet to which the calls belong."""

    @property
    def shared(self) -> dict[BudgetScope, Ceiling]:
        """The ceilings that other commands of the user share."""
        return {scope: one for scope, one in self.ceilings.items() if scope in _SHARED}


class WorstCase(msgspec.Struct, frozen=True):
    """What a try may come to at most."""

    spending: Spending
    unknown: tuple[str, ...] = ()
    """`cost`, `tokens`: what of it is not known."""
    subject: str = ""
    """Whose price is not known: a model or a tool."""
    basis: str = ""
    """What it is computed from, for the message."""

    def part(self, of: Decimal) -> "WorstCase":
        """The same where a provider takes only a part of the usual price."""
        cost = (self.spending.cost * of).quantize(CENT_FRACTION)
        return replace(self, spending=replace(self.spending, cost=cost))


class CommandLedger:
    """What this command and its run have spent and reserved. Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ledger: BudgetLedger | None = None
        self._runs: set[str] = set()
        """Runs of which it knows what they had spent before; a command may work on several."""
        self.allowed: set[str] = set()
        """Models and tools of unknown price that the user allows."""
        self.warned: set[str] = set()
        self._changed: dict[str, Decimal | int | None] = {}

    def set_limit(self, what: str, limit: Decimal | int | None) -> None:
        """Change a ceiling of the command while it runs: its `cost`, `calls` or `tokens`."""
        with self._lock:
            self._changed[what] = limit

    def reserve(
        self,
        request: BudgetRequest,
        policy: BudgetPolicy,
        unknown: UnknownPricePolicy,
        calls: Iterable[Invocation],
    ) -> Shortfall | None:
        """`calls` are those of the run, as its journal knows them."""
        with self._lock:
            ledger = self._ledger or BudgetLedger()
            if request.run not in self._runs:
                self._runs.add(request.run)
                before = SpentSum(command="", run=request.run, day="", spent=spent_in_run(calls))
                ledger = replace(ledger, sums=(*ledger.sums, before))
            self._ledger = ledger
            own = {scope: one for scope, one in policy.ceilings.items() if scope not in _SHARED}
            if self._changed:
                mine = own.get(BudgetScope.COMMAND, Ceiling())
                own[BudgetScope.COMMAND] = Ceiling(
                    **{name: getattr(mine, name) for name in Ceiling.__struct_fields__}
                    | self._changed
                )
            result = reserve(ledger, request, own, unknown)
            if isinstance(result, Shortfall):
                return result
            self._ledger = result
            return None

    def settle(self, reservation: str, spent: Spending | None) -> None:
        with self._lock:
            if self._ledger is not None:
                self._ledger = settle(self._ledger, reservation, spent)

    def release(self, reservation: str) -> None:
        with self._lock:
            if self._ledger is not None:
                self._ledger = release(self._ledger, reservation)


class Reserved:
    """The reservation of one try. Released at the end of the `with` unless it was opened."""

    def __init__(
        self, context: "CallContext", event: j.BudgetReserved, request: BudgetRequest
    ) -> None:
        self._context = context
        self._event = event
        self._request = request
        self._is_open = False
        self._is_settled = False

    @property
    def name(self) -> str:
        return self._request.reservation

    def open(self) -> None:
        """The tool is about to start, and the journal says so. Raises where it must not."""
        store, shared = self._context.store.budget, self._context.options.budget.shared
        opened = replace(self._request, is_open=True)
        if not shared:  # nothing holds, but a limit that is set later counts this call, too
            with _tolerated(self._context, self._event.step):
                store.reserve(opened, {}, UnknownPricePolicy.ALLOW)
        elif not store.open(self.name):
            # Another machine took us for dead. Nothing is paid for yet, so reserve again.
            short = store.reserve(opened, shared, UnknownPricePolicy.ALLOW)
            if short is not None:
                raise MachineError("the reservation of this call is gone", hint=hint_of(short))
        self._is_open = True

    def settle(self, usage: Usage | None, error: str | None) -> None:
        """What the try came to, as far as that is known."""
        if self._is_settled or not self._is_open:
            return
        self._is_settled = True
        spent = spent_by(usage, error)
        self._context.shared.budget.settle(self.name, spent)
        _settle(self._context, self._event, spent)

    def leave_open(self) -> None:
        """Its outcome is not known yet: a later call adopts it."""
        self._is_settled = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        if self._is_open or self._is_settled:
            return
        self._context.shared.budget.release(self.name)
        with _tolerated(self._context, self._event.step):
            if self._context.options.budget.shared:
                self._context.store.budget.release(self.name)
            self._context.record(_settled(self._event, NOTHING_SPENT))


def reserve_try(call: "Call", worst: "WorstCase") -> Reserved | StepError:
    """Reserve the worst case of a try; the error of the call where it does not fit.

    The error is transient while other calls of this command are being made whose end may free
    enough.
    """
    context, policy = call.context, call.context.options.budget
    now, mine = context.clock.now(), context.shared.budget
    request = BudgetRequest(
        reservation=f"{context.command}#{next(_numbers)}",
        command=context.command,
        run=f"{readable(str(context.root))}:{context.run_id}",
        day=f"{now:%Y-%m-%d}",
        at=now.isoformat(),
        worst=worst.spending,
        unknown=worst.unknown,
        fleet=policy.fleet,
    )
    unknown = UnknownPricePolicy.ALLOW if worst.subject in mine.allowed else policy.on_unknown
    try:
        short = _reserve(context, request, unknown)
        if short is not None and short.needed is None and _is_allowed(call, worst, short):
            short = _reserve(context, request, UnknownPricePolicy.ALLOW)
    except OraclePackError as trouble:
        hint = f"; {trouble.hint}" if trouble.hint else ""
        return StepError(code=BUDGET_LEDGER, message=f"not asked: {trouble.message}{hint}")
    if short is not None:
        may_pass = short.may_pass and short.scope not in _SHARED
        return StepError(code=BUDGET, message=refusal_text(short, worst), transient=may_pass)
    event = j.BudgetReserved(
        step=call.step,
        attempt=call.attempt,
        call=call.number,
        reservation=request.reservation,
        cost=worst.spending.cost,
        tokens=worst.spending.tokens,
        unknown=worst.unknown,
    )
    context.record(event)
    return Reserved(context, event, request)


def _reserve(
    context: "CallContext", request: BudgetRequest, unknown: UnknownPricePolicy
) -> Shortfall | None:
    mine, policy = context.shared.budget, context.options.budget
    calls = (one for step in context.journal.state.steps.values() for one in step.invocations)
    short = mine.reserve(request, policy, unknown, calls)
    if short is None and policy.shared:
        try:
            short = context.store.budget.reserve(request, policy.shared, unknown)
        except OraclePackError:
            mine.release(request.reservation)
            raise
        if short is not None:
            mine.release(request.reservation)
    return short


def _is_allowed(call: "Call", worst: "WorstCase", short: Shortfall) -> bool:
    """Ask the person once for each model or tool; without a terminal the answer is no."""
    context, allowed = call.context, call.context.shared.budget.allowed
    if context.options.budget.on_unknown is not UnknownPricePolicy.ASK or context.ask is None:
        return False
    what = "price" if short.what == "cost" else "number of tokens"
    doubt = f"the {what} of {worst.subject} is not known, and {limit_text(short)} holds"
    question = f"{doubt}; call it anyway?"
    if worst.subject not in allowed and context.ask(question, call.shim.pause):
        allowed.add(worst.subject)
    return worst.subject in allowed


def settle_call(context: "CallContext", call: Invocation, usage: Usage | None) -> None:
    """The end of a call that an earlier command made is known."""
    code = call.outcome.error.code if call.outcome and call.outcome.error else None
    spent = spent_by(usage or (call.outcome.usage if call.outcome else None), code)
    for event in call.reserved:
        _settle(context, event, spent)
    name = call.intent.reservation if call.intent else None
    if name is not None and not call.reserved:  # a call of another run, known from its claim
        with _tolerated(context, call.intent.step if call.intent else ""):
            context.store.budget.settle(name, spent)


def settle_ended(context: "CallContext", adopted: frozenset[str]) -> None:
    """Settle the open calls of earlier commands: those that ended or cannot be adopted.

    `adopted` are the tools whose open calls are looked for when their question is asked again.
    """
    for step in context.journal.state.steps.values():
        for call in step.invocations:
            record = call.outcome or call.intent
            waits = call.is_open and record is not None and record.tool in adopted
            if call.reserved and not waits:
                settle_call(context, call, None)


def _settle(context: "CallContext", event: j.BudgetReserved, spent: Spending | None) -> None:
    """Settle a reservation of this run in the shared ledger, then in the journal.

    In this order: killed in between, the next command settles it again, which changes nothing.
    """
    with _tolerated(context, event.step):
        context.store.budget.settle(event.reservation, spent)
        context.record(_settled(event, spent))


def _settled(event: j.BudgetReserved, spent: Spending | None) -> j.BudgetSettled:
    counted = Spending(event.cost, 1, event.tokens) if spent is None else spent
    return j.BudgetSettled(
        step=event.step,
        attempt=event.attempt,
        call=event.call,
        reservation=event.reservation,
        cost=counted.cost,
        calls=counted.calls,
        tokens=counted.tokens,
        worst_case=spent is None,
    )


@contextmanager
def _tolerated(context: "CallContext", step: str) -> Iterator[None]:
    """A failure of the ledger that must not stop a call or its answer: reported once."""
    try:
        yield
    except OraclePackError as trouble:
        warned = context.shared.budget.warned
        if trouble.message not in warned:
            warned.add(trouble.message)
            hint = f" ({trouble.hint})" if trouble.hint else ""
            message = f"the ledger of budgets lacks a call: {trouble.message}{hint}"
            context.record(j.WarningRecorded(step=step, code="budget", message=message))


def most_tokens(texts: Iterable[bytes]) -> int:
    """No fewer tokens than these texts have: one for each byte, and the numbers of the lines."""
    return _AROUND + sum(len(text) + (text.count(b"\n") + 1) * _LINE_NUMBER for text in texts)


def worst_case(
    question: Question,
    most_input: int | None,
    policy: BudgetPolicy,
    prices: Mapping[str, TokenPrice],
) -> WorstCase:
    """What a call of oracle may come to at most; `most_input` is what its texts can come to.

    A browser session has no price per token: it counts as a call that costs nothing more.
    """
    if question.provider == BROWSER:
        return WorstCase(Spending(calls=1), ("tokens",), "the browser")
    cost, tokens, unknown = Decimal(0), 0, False
    models = question.asked.models or (question.model or "",)
    given_in, given_out = (_number(question, flag) for flag in ("--max-input", "--max-output"))
    for name in models:
        model = resolve_model(name) or name
        allowed_in = given_in or input_limit(model)
        most_in = min(most_input or allowed_in, allowed_in)
        most_out = given_out or policy.output_tokens or output_limit(model)
        price = price_of(name, prices)
        tokens += most_in + most_out
        unknown |= price is None
        cost += price.price.cost(most_in, most_out) if price else 0
    return WorstCase(
        Spending(Decimal(0) if unknown else cost, 1, tokens),
        ("cost",) if unknown else (),
        ", ".join(resolve_model(name) or name for name in models),
        f"up to {tokens:,} tokens",
    )


def _number(question: Question, flag: str) -> int | None:
    value = question.asked.flags.get(flag, ("",))[-1]
    return int(value) if value.isdecimal() and int(value) > 0 else None


def spent_by(usage: Usage | None, error: str | None) -> Spending | None:
    """The cost of a try; None where it is unknown, so that its worst case counts."""
    if usage is not None and (usage.cost is not None or usage.counts_tokens):
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        return Spending(usage.cost or Decimal(0), 1, tokens)
    return NOTHING_SPENT if error is not None and is_not_billed(error) else None


def spent_in_run(calls: Iterable[Invocation]) -> Spending:
    """What the calls of a run came to, and what its unsettled ones may come to."""
    total = NOTHING_SPENT
    for call in calls:
        for one in call.settled:
            total = total.plus(Spending(one.cost, one.calls, one.tokens))
        for kept in call.reserved:
            total = total.plus(Spending(kept.cost, 1, kept.tokens))
        if not call.settled and not call.reserved:  # written by a version without budgets
            cost = cost_of(call)
            used = (cost.input_tokens or 0) + (cost.output_tokens or 0)
            total = total.plus(Spending(cost.cost or Decimal(0), cost.calls, used))
    return total


def refusal_text(short: Shortfall, worst: WorstCase) -> str:
    """Why a call is not made: what is spent, reserved, left, and how to go on."""
    if short.needed is None:
        what = "price" if short.what == "cost" else "number of tokens"
        doubt = f"the {what} of {worst.subject or 'this call'} is not known"
        return f"not asked: {limit_text(short)} holds, and {doubt}; {hint_of(short)}"
    parts = [f"spent {_amount(short, short.spent)}"]
    under_way = short.reserved - short.cut_off
    parts += [f"reserved {_amount(short, under_way)} for calls under way"] if under_way else []
    if short.cut_off:
        parts.append(f"{_amount(short, short.cut_off)} that cut-off calls may have cost")
    left = short.left
    parts.append(f"left {_amount(short, 0 if left is None else left)}")
    basis = f" ({worst.basis})" if worst.basis and short.what == "cost" else ""
    return (
        f"not asked: it may come to {_amount(short, short.needed)}{basis}, and {limit_text(short)} "
        f"has {', '.join(parts)}; {hint_of(short)}"
    )


_SETTINGS = {
    (BudgetScope.COMMAND, "cost"): "--max-cost",
    (BudgetScope.COMMAND, "calls"): "--max-calls",
    (BudgetScope.COMMAND, "tokens"): "--max-tokens",
    (BudgetScope.RUN, "cost"): "budget.per_run",
    (BudgetScope.FLEET, "cost"): "--max-cost of the fleet",
    (BudgetScope.DAY, "cost"): "budget.per_day",
    (BudgetScope.MONTH, "cost"): "budget.per_month",
}


def limit_text(short: Shortfall) -> str:
    name = _SETTINGS.get((short.scope, short.what), short.scope.value)
    return f"{name} of {_amount(short, short.limit or 0)}"


def _amount(short: Shortfall, amount: Decimal | int) -> str:
    return money(Decimal(amount)) if short.what == "cost" else f"{amount:,}"


def hint_of(short: Shortfall) -> str:
    if short.needed is None:
        return "give its price under [prices], or set on_unknown_price = allow"
    # A call is one call, however long its answer may be.
    is_lowered = short.what != "calls"
    lower = "; --oracle-flag=--max-output=N lowers what a call may come to" if is_lowered else ""
    if short.limit is not None and short.needed > short.limit:
        return f"the call alone is above the limit: raise it to continue{lower}"
    later = {
        BudgetScope.COMMAND: "each command counts from zero, so that the same one continues",
        BudgetScope.RUN: "raise it to continue",
        BudgetScope.FLEET: "raise it with `fleet run --max-cost` to continue",
        BudgetScope.DAY: "raise it, or continue tomorrow (days are in UTC)",
        BudgetScope.MONTH: "raise it, or continue next month (months are in UTC)",
    }[short.scope]
    return f"{later}{lower}"
