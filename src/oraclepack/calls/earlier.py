"""Earlier calls of a question that were cut off: by a kill, a time-out, a lost connection.

The engine says what has become of them (`Engine.settle`), waiting while the answer may still come;
what stays unknown is decided by `--on-unknown`.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from oraclepack.calls.budget import settle_call
from oraclepack.calls.call import RETRY, STOPPED, STOPPED_EXIT, Call
from oraclepack.calls.context import CallContext, OnUnknown
from oraclepack.calls.waiting import settle_unkeyed
from oraclepack.engines.engine import Answer, Engine, GivenUp, Over, Pending, Unknown
from oraclepack.engines.table import ENGINES
from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import CRASHED, UNDECIDED, UNMET, OutputRetry
from oraclepack.journal.step_state import Invocation
from oraclepack.settings.call_settings import BATCH
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.machine import ProcessLocation, process_location, this_machine
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.tool_names import ORACLE

ADOPTED = "its answer was adopted by a later call"
_ASKED_AGAIN = "the call was cut off; it was asked again"
_UNKNOWN = "it is unknown whether an earlier call of this question was paid for"


class Blocked(msgspec.Struct, frozen=True):
    """Why a question is neither answered nor asked now."""

    error: StepError
    exit_code: int = 1


def adopt(call: Call) -> tuple[Answer, Invocation] | Blocked | None:
    """The answer of a call that was cut off, and the call; those without one are closed."""
    for earlier in open_calls(call):
        if call.claim.open_call is None and _is_known_to_have_ended(call.context, earlier):
            close(call, earlier, _engine_of(call, earlier).find(call, earlier).record)
            continue
        intent = earlier.intent
        call.be_patient()
        match _engine_of(call, earlier).settle(call, earlier):
            case Answer() as answer:
                return answer, earlier
            case GivenUp():
                return Blocked(STOPPED, STOPPED_EXIT)
            case Pending(message=message, code=code):
                return Blocked(StepError(code=code, message=message, transient=True))
            case Unknown(name=name, reason=reason):
                decided = _decided(call, name, intent.at if intent else "", reason)
                if isinstance(decided, Blocked):
                    return decided
                close(call, earlier, _engine_of(call, earlier).find(call, earlier).record)
                call.force, call.because = True, call.because or decided
            case Over(force=force, verdict=verdict):
                why = f"its provider says: {verdict.message}" if verdict else ""
                close(call, earlier, _engine_of(call, earlier).find(call, earlier).record, why)
                call.force, call.because = call.force or force, call.because or why
    return None


def _engine_of(call: Call, earlier: Invocation) -> Engine:
    """The engine that knows what became of a call: a row of a batch is known to that one alone."""
    identity = earlier.intent.identity if earlier.intent else None
    return ENGINES[BATCH] if identity is not None and identity.batch else call.engine


def _decided(call: Call, name: str, asked: str, reason: str) -> str | Blocked:
    """Who decided to ask although it is unknown whether an earlier call will be answered."""
    options = call.context.options
    if is_given_up(asked, call.context.clock.now(), options.unknown_after):
        return f"--unknown-after {options.unknown_after:g}s; asked {asked}"
    doubt = f"it is unknown whether session {name} of this question will still be answered"
    doubt += f" ({reason})" if reason else ""
    match options.on_unknown:
        case OnUnknown.RETRY:
            return "--on-unknown retry"
        case OnUnknown.ASK:
            decision = call.decide(f"{doubt}; ask again (it may be paid for twice)?")
            if decision == RETRY:
                return "the person who was asked"
            if decision is None and not call.shim.pause(0):
                return Blocked(STOPPED, STOPPED_EXIT)
    call.say(f"{doubt}; see `oracle session {name}`, or pass --on-unknown retry")
    message = f"{_UNKNOWN} ({reason})" if reason else _UNKNOWN
    return Blocked(StepError(code=UNDECIDED, message=message))


def is_given_up(asked: str, now: datetime, unknown_after: float | None) -> bool:
    """Whether a call without a known end is so old that the user wants it made again."""
    if unknown_after is None:
        return False
    try:
        return (now - datetime.fromisoformat(asked)).total_seconds() >= unknown_after
    except (ValueError, TypeError):
        return False


def settle_money(call: Call, earlier: Invocation, record: SessionRecord | None) -> None:
    """What a call used, where its session says so; otherwise its worst case counts as spent."""
    if earlier.reserved or (earlier.intent is not None and earlier.intent.reservation):
        settle_call(call.context, earlier, call.with_cost(record.usage if record else None))


def settle_all_money(call: Call) -> None:
    """Settle the money of earlier calls: their question is answered, so they have ended."""
    for earlier in open_calls(call):
        settle_money(call, earlier, _engine_of(call, earlier).find(call, earlier).record)


def close(
    call: Call, earlier: Invocation, record: SessionRecord | None, why: str = _ASKED_AGAIN
) -> None:
    """Write down how a call of this run has ended; what another run has written is its own."""
    settle_money(call, earlier, record)
    intent = earlier.intent
    if intent is None:
        return
    own = call.context.journal.state.step(intent.step).invocations
    if not any(one.intent == intent for one in own):
        return
    settle_unkeyed(call.context, intent)
    error = StepError(code=CRASHED, message=why or _ASKED_AGAIN, transient=True)
    call.record(
        j.InvocationOutcome(
            step=intent.step,
            attempt=intent.attempt,
            call=intent.call,
            tool=intent.tool,
            ok=False,
            key=intent.key,
            provider=intent.provider,
            model=intent.model,
            output_path=intent.output_path,
            adopted=why == ADOPTED,
            error=error,
        )
    )


def open_calls(call: Call) -> list[Invocation]:
    """Calls of the same question without a known end, the last one first.

    Those of this run, and the one that the claim names, perhaps of another run.
    """
    calls = list(_left_open(call))
    noted = call.claim.open_call
    if noted is not None and not any(
        one.intent and (one.intent.seq, one.intent.at) == (noted.seq, noted.at) for one in calls
    ):
        calls.append(Invocation(noted.attempt, noted.call, noted))
    return sorted(calls, key=lambda one: one.intent.at if one.intent else "", reverse=True)


def _left_open(call: Call) -> Iterator[Invocation]:
    """The open calls of this run; only calls with an output file can be identified."""
    if call.output_path is None:
        return
    for step in call.context.journal.state.steps.values():
        for one in step.invocations:
            if (
                one.is_open
                and one.intent
                and one.intent.tool == ORACLE
                and _asks_the_same(call, one)
            ):
                yield one


def _asks_the_same(call: Call, invocation: Invocation) -> bool:
    """Whether a call of this run, but not one of now, asked the same as this one."""
    made = invocation.intent or invocation.outcome
    if made is None or (made.step, made.attempt, made.call) in call.context.shared.live:
        return False
    is_named = made.key is not None or made.output_path == call.output_path
    return made.tool == call.made.tool and made.key == call.key_value and is_named


def _is_known_to_have_ended(context: CallContext, earlier: Invocation) -> bool:
    """Whether the shared store proves the end of a call that another machine made.

    It was answered, failed, or was given up with a verdict: otherwise its claim would name it.
    """
    intent = earlier.intent
    if intent is None or intent.key is None or intent.process is None:
        return False
    where = process_location(intent.process.machine, this_machine())
    return where is ProcessLocation.ELSEWHERE and context.store.claims.spans_machines


def next_retry(
    before: OutputRetry | None, answer: bytes | None, record: SessionRecord | None
) -> OutputRetry:
    """The retry that follows one more answer that misses its contract."""
    return OutputRetry(
        number=(before.number if before else 0) + 1,
        unmet_sha256=None if answer is None else sha256_bytes(answer),
        sessions=(*(before.sessions if before else ()), *((record.id,) if record else ())),
    )


def interrupted_retry(call: Call) -> OutputRetry | None:
    """The retry at which the last call of the same question was cut off or failed.

    None where it had not asked again, or its retries came to their end. With `--refresh` only a
    call without a known end counts: what has ended is not to be continued.
    """
    calls = (one for step in call.context.journal.state.steps.values() for one in step.invocations)
    same = [one for one in calls if _asks_the_same(call, one)]
    last = max(same, key=_moment, default=None)
    retries = [call.claim.open_call.retry] if call.claim.open_call is not None else []
    if last is not None and last.intent is not None:
        error = last.outcome.error if last.outcome else None
        failed = error is not None and error.code not in UNMET and not call.context.options.refresh
        if last.is_open or failed:
            retries.append(last.intent.retry)
    return max((one for one in retries if one), key=lambda one: one.number, default=None)


def _moment(invocation: Invocation) -> int:
    """When a call began; one that adopted an answer has no intent."""
    made = invocation.intent or invocation.outcome
    return made.seq if made else 0
