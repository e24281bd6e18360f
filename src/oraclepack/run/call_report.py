"""The calls of a step in the reply of `run`: what became of each, and what it cost."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from oraclepack.journal.costs import cost_of
from oraclepack.journal.statuses import Cache
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.tools.usage import FigureSource


class CallReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a tool. What has its usual value is left out."""

    call: int
    tool: str
    status: str
    """`ok`, `failed`, or `open` where nothing is known of its end."""
    attempt: int = 1
    """The attempt of the step that made it."""
    model: str | None = None
    provider: str | None = None
    cache: str | None = None
    """`hit`: answered from the cache; `miss`: asked."""
    adopted: bool = False
    """The answer of an earlier call, not asked for again."""
    tries: int = 0
    waited_ms: int = 0
    """Spent waiting for slots and between tries."""
    output: str | None = None
    error: str | None = None
    message: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    """US dollars; left out where it is not known or nothing was paid."""
    cost_source: str | None = None
    saved: Decimal | None = None
    """What the answer had cost when it was paid for."""


class OutputReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One output of a step."""

    path: str
    bytes: int
    sha256: str
    from_cache: bool = False


def output_reports(step: StepState) -> tuple[OutputReport, ...]:
    return tuple(
        OutputReport(
            path=one.declared_path or one.path,
            bytes=one.bytes,
            sha256=one.sha256,
            from_cache=one.from_cache,
        )
        for one in step.outputs
    )


def call_reports(step: StepState) -> tuple[CallReport, ...]:
    """The calls of all attempts: what was paid for is named, also where it was of no use."""
    return tuple(map(_call, step.invocations))


def _call(call: Invocation) -> CallReport:
    intent, outcome = call.intent, call.outcome
    record = outcome or intent
    cost = cost_of(call)
    error = outcome.error if outcome else None
    cache = outcome.cache if outcome else Cache.OFF
    return CallReport(
        call=call.call,
        tool=record.tool if record else "",
        status="open" if outcome is None else "ok" if outcome.ok else "failed",
        attempt=call.attempt,
        model=record.model if record else None,
        provider=record.provider if record else None,
        cache=None if cache is Cache.OFF else str(cache),
        adopted=outcome.adopted if outcome else False,
        tries=outcome.attempts if outcome else 0,
        waited_ms=outcome.waited_ms if outcome else 0,
        output=outcome.output_path if outcome else None,
        error=error.code if error else None,
        message=error.message if error else None,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        cost=cost.cost,
        cost_source=None if cost.source is FigureSource.UNKNOWN else str(cost.source),
        saved=cost.saved,
    )
