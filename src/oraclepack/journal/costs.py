"""What calls cost: sums over the calls of a step or a run, as its journal knows them."""

from collections.abc import Iterable
from decimal import Decimal
from functools import reduce

import msgspec

from oraclepack.journal.events import ForecastRecorded, InvocationOutcome
from oraclepack.journal.statuses import CRASHED, Cache
from oraclepack.journal.step_state import Invocation
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.system.printable import quantity
from oraclepack.tools.usage import FigureSource, Usage, add_known, least_sure, priced

_NOT_BILLED = frozenset(
    {
        "AUTH",
        "BAD_ATTACHMENT",
        "BAD_REQUEST",
        "CANNOT_DETACH",
        "CONTEXT_TOO_LONG",
        "DUPLICATE_PROMPT",
        "FORBIDDEN",
        "MODEL_UNAVAILABLE",
        "OUTPUT_PATH",
        "QUOTA",
        "RATE_LIMITED",
        "REQUEST_TOO_LARGE",
        "TOOL_MISSING",
        "USAGE",
        "VALIDATION",
    }
)
"""Errors of calls that the tool or the provider refused: no model worked on them."""


class CostTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What calls cost. Calls of unknown cost are counted, they are not 0."""

    cost: Decimal | None = None
    """US dollars: the sum of the known costs; null where none is known."""
    source: FigureSource = FigureSource.UNKNOWN
    """The source of the sum: that of its least certain part."""
    calls: int = 0
    """Calls that cost money, or may have cost some."""
    unknown_calls: int = 0
    """Those of them whose cost is not known."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    saved: Decimal | None = None
    """What reused answers had cost when they were paid for; null: not known."""
    saved_calls: int = 0

    def plus(self, other: "CostTotal") -> "CostTotal":
        return CostTotal(
            cost=add_known(self.cost, other.cost),
            source=least_sure(*(one.source for one in (self, other) if one.cost is not None)),
            calls=self.calls + other.calls,
            unknown_calls=self.unknown_calls + other.unknown_calls,
            input_tokens=add_known(self.input_tokens, other.input_tokens),
            output_tokens=add_known(self.output_tokens, other.output_tokens),
            reasoning_tokens=add_known(self.reasoning_tokens, other.reasoning_tokens),
            saved=add_known(self.saved, other.saved),
            saved_calls=self.saved_calls + other.saved_calls,
        )


NO_COST = CostTotal()
_UNKNOWN = CostTotal(calls=1, unknown_calls=1)


def total_cost(calls: Iterable[Invocation]) -> CostTotal:
    """What calls cost together."""
    return reduce(CostTotal.plus, map(cost_of, calls), NO_COST)


def cost_of(call: Invocation) -> CostTotal:
    """What one call cost. One whose end is not known may have cost something."""
    intent, outcome = call.intent, call.outcome
    if outcome is None:
        asks = intent is not None and intent.provider not in {None, REHEARSAL}
        return _UNKNOWN if asks else NO_COST
    if outcome.provider == REHEARSAL:
        return NO_COST
    if outcome.cache is Cache.HIT or outcome.source_run is not None:
        before = priced(outcome.saved, None)
        return CostTotal(saved=before.cost if before else None, saved_calls=1)
    usage = priced(outcome.usage, None)
    if usage is not None and (usage.cost is not None or usage.counts_tokens):
        return _of_usage(usage)
    return _UNKNOWN if outcome.provider is not None and _may_cost(outcome) else NO_COST


def is_not_billed(code: str) -> bool:
    """Whether an error means that the tool or the provider refused the call."""
    return code in _NOT_BILLED


def _may_cost(outcome: InvocationOutcome) -> bool:
    """Whether a call without known usage may have been billed."""
    code = outcome.error.code if outcome.error else None
    if code == CRASHED:
        # Where its answer was harvested, the call that took it over records the cost.
        return not outcome.adopted
    if outcome.attempts == 0:
        return outcome.adopted and outcome.ok
    return code is None or not is_not_billed(code) or outcome.attempts > 1


def _of_usage(usage: Usage) -> CostTotal:
    return CostTotal(
        cost=usage.cost,
        source=usage.cost_source,
        calls=1,
        unknown_calls=int(usage.cost is None),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        # oracle writes 0 where the provider reported nothing.
        reasoning_tokens=usage.reasoning_tokens or None,
    )


_CENT = Decimal("0.01")


def money(amount: Decimal) -> str:
    """US dollars to the cent: `$12.30`; less than a cent in full: `$0.0021`."""
    if 0 < amount < _CENT:
        return f"${amount.normalize():f}"
    return f"${amount:,.2f}"


def cost_text(total: CostTotal) -> str:
    """What calls cost: `$12.30 for 8 calls, 2 calls of unknown cost, $4.10 saved`; or nothing."""
    known = total.calls - total.unknown_calls
    parts = [f"{money(total.cost)} for {_calls(known)}"] if total.cost is not None else []
    parts += [f"{_calls(total.unknown_calls)} of unknown cost"] if total.unknown_calls else []
    if total.saved is not None:
        parts.append(f"{money(total.saved)} saved by earlier answers")
    return ", ".join(parts)


def forecast_text(forecast: ForecastRecorded) -> str:
    """A forecast in one line: `12 calls to ask, 8 answered before, likely $4.20 ($2 to $9.80)`."""
    parts = [calls_text(forecast.to_ask, forecast.cached, forecast.adopted)]
    if forecast.likely is not None and forecast.low is not None and forecast.high is not None:
        parts.append(
            f"likely {money(forecast.likely)} ({money(forecast.low)} to {money(forecast.high)})"
        )
    parts += [f"{forecast.unpriced_calls} of unknown price"] if forecast.unpriced_calls else []
    if forecast.unrecorded_steps:
        parts.append("by the text of the pack; `oraclepack plan` is more exact")
    return ", ".join(parts)


def calls_text(to_ask: int, answered: int, adopted: int) -> str:
    """What becomes of calls: `12 calls to ask, 8 answered before, 1 whose answer is awaited`."""
    parts = [f"{_calls(to_ask)} to ask"]
    parts += [f"{answered} answered before"] if answered else []
    parts += [f"{adopted} whose earlier answer is looked for"] if adopted else []
    return ", ".join(parts)


def short_cost(total: CostTotal) -> str:
    """What calls cost, in a cell: `$12.30`, `$12.30 + 2 unknown`, `unknown`, `-`."""
    if total.cost is None:
        return "unknown" if total.unknown_calls else "-"
    return money(total.cost) + (f" + {total.unknown_calls} unknown" if total.unknown_calls else "")


def _calls(count: int) -> str:
    return quantity(count, "call")
