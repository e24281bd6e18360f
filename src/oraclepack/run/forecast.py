"""What a run would cost and how long it would take: from the calls that a rehearsal made."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from heapq import heappop, heappush
from math import ceil

import msgspec

from oraclepack.journal.costs import calls_text
from oraclepack.journal.run_state import RunState
from oraclepack.pack.model import StepId
from oraclepack.run.planning.plan import Plan
from oraclepack.run.planning.schedule import OnFailure, Progress, ready
from oraclepack.settings.value_kinds import MaxParallel
from oraclepack.store.history import AnswerFigures, AnswerHistory
from oraclepack.system.printable import quantity
from oraclepack.tools.oracle_models import input_limit, resolve_model
from oraclepack.tools.prices import CENT_FRACTION, TokenPrice, price_of
from oraclepack.tools.providers import BROWSER

_PRO = "-pro"
_UNSURE = (Decimal("0.85"), Decimal(1), Decimal("1.2"))
"""How far an estimate of input tokens is off: low, likely, high."""


class CallFate(StrEnum):
    """What would happen to a call."""

    ASK = "ask"
    CACHED = "cached"
    """It was answered before, in the cache or in a run that holds its answer, and costs nothing."""
    ADOPT = "adopt"
    """An earlier call of the same question has no known end; its answer is looked for first."""
    REFUSED = "refused"
    """It fails before anything is asked."""


class CostRange(msgspec.Struct, frozen=True):
    """US dollars: about what a call, or all calls, would cost."""

    low: Decimal
    likely: Decimal
    high: Decimal

    def plus(self, other: "CostRange") -> "CostRange":
        return CostRange(self.low + other.low, self.likely + other.likely, self.high + other.high)


class ExpectedAnswer(msgspec.Struct, frozen=True):
    """What answers of a model are like: output tokens, and seconds that they take."""

    low: int
    likely: int
    high: int
    seconds: float
    sample: int = 0
    """How many past answers that comes from; 0 is an assumption."""


ASSUMED = ExpectedAnswer(1_000, 4_000, 12_000, 60.0)
ASSUMED_PRO = ExpectedAnswer(4_000, 12_000, 40_000, 600.0)


_PRIOR_ANSWERS = 8
"""How many past answers the assumption is worth."""


def expected_answer(model: str, past: Sequence[AnswerFigures]) -> ExpectedAnswer:
    """What is assumed of a model, and with every past answer more what those were like.

    The range is never narrower than that of the past answers.
    """
    prior = ASSUMED_PRO if model.endswith(_PRO) else ASSUMED
    if not past:
        return prior
    tokens = sorted(one.output_tokens for one in past)
    low, likely, high = (_quantile(tokens, part) for part in (0.1, 0.5, 0.9))
    seconds = _quantile(sorted(one.seconds for one in past), 0.5)

    def blended(assumed: float, seen: float) -> float:
        weight = len(past) / (len(past) + _PRIOR_ANSWERS)
        return assumed + (seen - assumed) * weight

    return ExpectedAnswer(
        round(min(blended(prior.low, low), low)),
        round(blended(prior.likely, likely)),
        round(max(blended(prior.high, high), high)),
        round(blended(prior.seconds, seconds), 1),
        len(past),
    )


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[max(ceil(part * len(ordered)), 1) - 1]


class RehearsedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the rehearsal recorded it."""

    step_id: str
    call: int
    fate: CallFate
    provider: str | None = None
    model: str | None = None
    output_path: str | None = None
    files: Mapping[str, int] = {}
    input_tokens: int | None = None
    problem: str | None = None


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the run would make."""

    step_id: str
    call: int
    fate: CallFate
    provider: str | None
    model: str | None
    """As oracle resolves it."""
    output_path: str | None
    files: int
    bytes: int
    input_tokens: int | None
    input_limit: int | None
    """The input tokens that oracle sends to the model at most."""
    is_too_long: bool
    cost: CostRange | None
    """Null where it costs nothing, or where the price is not known."""
    is_unpriced: bool
    """It would be asked, and its price is unknown."""
    seconds: float
    problem: str | None


class RepeatedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files that the same calls send again and again."""

    files: tuple[str, ...]
    calls: int
    bytes: int
    """Of all files, once."""
    input_tokens: int
    """In all calls together."""
    cost: Decimal | None
    """Of sending them in all calls, likely; null where the price is not known."""


class Saving(msgspec.Struct, frozen=True):
    """What following one piece of advice would save."""

    rule: str
    """The rule that gives it: `OP701`."""
    advice: str
    cost: Decimal
    """US dollars, likely."""


class ExpectedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of the calls of a step."""

    to_ask: int
    cached: int
    adopted: int

    @property
    def text(self) -> str:
        """`1 call to ask, 3 answered before`."""
        return calls_text(self.to_ask, self.cached, self.adopted)


class PlannedStepCost(msgspec.Struct, frozen=True, kw_only=True):
    """A step and its calls."""

    step_id: str
    title: str
    decision: str
    reason: str
    calls: tuple[PlannedCall, ...] = ()
    cost: CostRange | None = None
    problem: str | None = None
    """Why the rehearsal of the step failed; its calls may not be complete."""


class CostForecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would do and cost."""

    run_id: str
    continued: bool
    steps: tuple[PlannedStepCost, ...]
    to_ask: int
    cached: int
    adopted: int
    refused: int
    input_tokens: int
    """Of the calls to ask."""
    bytes: int
    cost: CostRange | None
    """Of the calls to ask whose price is known; null where there is none."""
    unpriced_calls: int
    too_long: tuple[str, ...]
    """Calls that do not fit the model: `03.2`."""
    repeated: tuple[RepeatedFiles, ...]
    missing: tuple[str, ...]
    """What calls, or whole steps, would fail for."""
    max_parallel: int
    seconds: float
    critical_path: tuple[str, ...]
    """The steps that decide how long it takes, however many run at once."""
    assumptions: tuple[str, ...]
    savings: tuple[Saving, ...] = ()
    """What following the advice of the rules OP7xx would save, as far as prices are known."""
    refusal: str | None = None
    """Why `run` would begin nothing at all."""


def open_keys(state: RunState) -> frozenset[str]:
    """The questions that were asked and have no known end."""
    calls = (call for step in state.steps.values() for call in step.invocations)
    keys = (call.intent.key for call in calls if call.is_open and call.intent is not None)
    return frozenset(key for key in keys if key is not None)


def count_of(calls: Iterable[RehearsedCall | PlannedCall], fate: CallFate) -> int:
    return sum(call.fate is fate for call in calls)


def planned_call(
    call: RehearsedCall,
    history: AnswerHistory,
    own: Mapping[str, TokenPrice],
) -> PlannedCall:
    """A rehearsed call with its cost and its time."""
    asks = call.fate in {CallFate.ASK, CallFate.ADOPT}
    model = resolve_model(call.model) if call.provider is not None else None
    price = price_of(call.model, own) if asks and call.provider != BROWSER else None
    expected = expected_answer(model or "", history.like(model or "", call.input_tokens))
    limit = None if model is None else input_limit(model)
    tokens = call.input_tokens
    return PlannedCall(
        step_id=call.step_id,
        call=call.call,
        fate=call.fate,
        provider=call.provider,
        model=model,
        output_path=call.output_path,
        files=len(call.files),
        bytes=sum(call.files.values()),
        input_tokens=tokens,
        input_limit=limit,
        is_too_long=asks and limit is not None and tokens is not None and tokens > limit,
        cost=_cost(price.price, tokens, expected) if price and tokens is not None else None,
        is_unpriced=asks and (price is None or tokens is None),
        seconds=expected.seconds if asks else 0.0,
        problem=call.problem,
    )


def _cost(price: TokenPrice, tokens: int, expected: ExpectedAnswer) -> CostRange:
    answers = (expected.low, expected.likely, expected.high)
    low, likely, high = (
        price.cost(round(tokens * unsure), output)
        for unsure, output in zip(_UNSURE, answers, strict=True)
    )
    return CostRange(low, likely, high)


def total_range(costs: Iterable[CostRange | None]) -> CostRange | None:
    """The sum of what is known; None where nothing is."""
    known = [cost for cost in costs if cost is not None]
    if not known:
        return None
    total = known[0]
    for cost in known[1:]:
        total = total.plus(cost)
    return total


def repeated_files(
    calls: Sequence[RehearsedCall], own: Mapping[str, TokenPrice]
) -> tuple[RepeatedFiles, ...]:
    """Files that more than one call to ask sends, those that cost most first."""
    asking = [call for call in calls if call.fate is CallFate.ASK]
    senders: dict[str, list[int]] = {}
    for at, call in enumerate(asking):
        for path in call.files:
            senders.setdefault(path, []).append(at)
    groups: dict[tuple[int, ...], list[str]] = {}
    for path, at_calls in sorted(senders.items()):
        if len(at_calls) > 1:
            groups.setdefault(tuple(at_calls), []).append(path)
    repeated = [
        _repeated(paths, [asking[at] for at in places], own) for places, paths in groups.items()
    ]
    return tuple(sorted(repeated, key=lambda one: (-one.input_tokens, one.files)))


def _repeated(
    paths: Sequence[str], calls: Sequence[RehearsedCall], own: Mapping[str, TokenPrice]
) -> RepeatedFiles:
    tokens, cost = 0, Decimal(0)
    known = True
    for call in calls:
        everything = sum(call.files.values())
        sent = sum(call.files[path] for path in paths)
        share = round((call.input_tokens or 0) * sent / everything) if everything else 0
        tokens += share
        price = price_of(call.model, own) if call.provider != BROWSER else None
        known &= price is not None
        cost += price.price.cost(share, 0) if price else 0
    return RepeatedFiles(
        files=tuple(paths),
        calls=len(calls),
        bytes=sum(calls[0].files[path] for path in paths),
        input_tokens=tokens,
        cost=cost if known else None,
    )


_SMALLER_MODEL = "gpt-5.2"
_FEWEST_CALLS = 5


def savings_of(
    repeated: Sequence[RepeatedFiles],
    calls: Sequence[PlannedCall],
    closed: Collection[str],
    history: AnswerHistory,
    own: Mapping[str, TokenPrice],
) -> tuple[Saving, ...]:
    """What following the advice would save.

    `calls` are those to ask, `closed` the steps that ask a Pro model what a yes or a no answers.
    """
    found = []
    often = [
        one
        for one in repeated
        if len(calls) >= _FEWEST_CALLS and one.calls * 2 > len(calls) and one.cost is not None
    ]
    if often:
        files = sum(len(one.files) for one in often)
        cost = sum((one.cost or Decimal(0)) * (one.calls - 1) / one.calls for one in often)
        times = max(one.calls for one in often)
        advice = f"send {quantity(files, 'file')} once instead of {times} times"
        found.append(Saving("OP701", advice, Decimal(cost).quantize(CENT_FRACTION)))
    pro = [one for one in calls if one.step_id in closed and (one.model or "").endswith(_PRO)]
    price = price_of(_SMALLER_MODEL, own)
    if pro and price is not None:
        smaller = expected_answer(_SMALLER_MODEL, history.like(_SMALLER_MODEL, None))
        less = sum(
            one.cost.likely - price.price.cost(one.input_tokens or 0, smaller.likely)
            for one in pro
            if one.cost is not None
        )
        advice = f"ask {_SMALLER_MODEL} in {quantity(len(pro), 'call')} that a yes or a no answers"
        found.append(Saving("OP703", advice, Decimal(less)))
    return tuple(one for one in found if one.cost > 0)


def simulated(
    plan: Plan, seconds: Mapping[str, float], limit: MaxParallel
) -> tuple[float, tuple[StepId, ...]]:
    """How long the steps take with so many at once, and the chain of steps that ends last."""
    progress = Progress()
    running: list[tuple[float, StepId]] = []
    before: dict[StepId, StepId | None] = {}
    now, last = 0.0, None
    while True:
        for step_id in ready(plan, progress, limit, OnFailure.KEEP_GOING):
            before[step_id] = last
            heappush(running, (now + seconds.get(step_id, 0.0), step_id))
            progress = msgspec.structs.replace(progress, running=progress.running | {step_id})
        if not running:
            break
        now, last = heappop(running)
        progress = msgspec.structs.replace(
            progress, running=progress.running - {last}, finished=progress.finished | {last}
        )
    chain: list[StepId] = []
    while last is not None:
        chain.append(last)
        last = before[last]
    return now, tuple(reversed(chain))


def assumptions_of(calls: Iterable[PlannedCall], history: AnswerHistory) -> tuple[str, ...]:
    """The assumptions of the forecast, in words."""
    timed = [call for call in calls if call.seconds]
    browser = sum(call.provider == BROWSER for call in timed)
    assumptions = []
    if browser:
        number = quantity(browser, "call")
        assumptions.append(f"through the browser, which has no price per token: {number}")
    for model in sorted({call.model for call in timed if call.model}):
        sizes = {call.input_tokens for call in timed if call.model == model}
        each = [expected_answer(model, history.like(model, size)) for size in sizes]
        likely = sorted(one.likely for one in each)
        seconds = sorted(one.seconds for one in each)
        past = max(one.sample for one in each)
        basis = "assumed, no past answers"
        if past:
            basis = f"assumed, blended with {quantity(past, 'past answer')} of similar size"
        assumptions.append(
            f"{model}: likely {_between(likely)} output tokens a call, from "
            f"{min(one.low for one in each):,} to {max(one.high for one in each):,}, and "
            f"{_between(seconds)} s ({basis})"
        )
    return tuple(assumptions)


def _between(ordered: Sequence[float]) -> str:
    first, last = f"{ordered[0]:,g}", f"{ordered[-1]:,g}"
    return first if first == last else f"{first} to {last}"
