"""What a call may come to at most, what it came to, and why one does not fit. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from oraclepack.journal.costs import cost_of, is_not_billed, money
from oraclepack.journal.step_state import Invocation
from oraclepack.store.spending import (
    NOTHING_SPENT,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    UnknownPricePolicy,
)
from oraclepack.tools.oracle_models import input_limit, output_limit, resolve_model
from oraclepack.tools.prices import TokenPrice, price_of
from oraclepack.tools.providers import BROWSER
from oraclepack.tools.usage import Usage

if TYPE_CHECKING:
    from oraclepack.calls.prepare import PreparedCall

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


class WorstCase(msgspec.Struct, frozen=True):
    """What a try may come to at most."""

    spending: Spending
    unknown: tuple[str, ...] = ()
    """`cost`, `tokens`: what of it is not known."""
    subject: str = ""
    """Whose price is not known: a model or a tool."""
    basis: str = ""
    """What it is computed from, for the message."""


def most_tokens(texts: Iterable[bytes]) -> int:
    """No fewer tokens than these texts have: one for each byte, and the numbers of the lines."""
    return _AROUND + sum(len(text) + (text.count(b"\n") + 1) * _LINE_NUMBER for text in texts)


def worst_case(
    prepared: "PreparedCall", policy: BudgetPolicy, prices: Mapping[str, TokenPrice]
) -> WorstCase:
    """What a call of oracle may come to at most.

    A browser session has no price per token: it counts as a call that costs nothing more.
    """
    if prepared.provider == BROWSER:
        return WorstCase(Spending(calls=1), ("tokens",), "the browser")
    cost, tokens, unknown = Decimal(0), 0, False
    models = prepared.question.models or (prepared.model or "",)
    given_in, given_out = (_number(prepared, flag) for flag in ("--max-input", "--max-output"))
    for name in models:
        model = resolve_model(name) or name
        allowed_in = given_in or input_limit(model)
        most_in = min(prepared.most_input or allowed_in, allowed_in)
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


def _number(prepared: "PreparedCall", flag: str) -> int | None:
    value = prepared.question.flags.get(flag, ("",))[-1]
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
        for held in call.reserved:
            total = total.plus(Spending(held.cost, 1, held.tokens))
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
