"""The journal events of one call."""

from contextlib import suppress
from functools import reduce
from typing import TypedDict

from oraclepack.calls.context import CallContext
from oraclepack.calls.key import InvocationKey
from oraclepack.calls.live_call import LiveCall
from oraclepack.calls.overrides import redacted_argv
from oraclepack.calls.prepare import PreparedCall
from oraclepack.errors import OraclePackError, StepError
from oraclepack.journal import events as j
from oraclepack.journal.blobs import keep_blob
from oraclepack.journal.statuses import (
    BUDGET,
    BUDGET_LEDGER,
    CRASHED,
    NO_SPACE,
    OUTPUT_PATH,
    Cache,
    CallIdentity,
    OutputRetry,
    QuestionSize,
)
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.claims import Claim
from oraclepack.system.digests import sha256_bytes
from oraclepack.tools.argv import ParsedArgv, parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_sessions import PrintedIds, SessionRecord
from oraclepack.tools.prices import price_of
from oraclepack.tools.providers import BROWSER
from oraclepack.tools.usage import Usage, priced

_NOT_MADE = frozenset(
    {"ATTACHED_LINK", BUDGET, BUDGET_LEDGER, NO_SPACE, OUTPUT_PATH, "PROJECT_ENV"}
)
"""The codes of calls that were refused before they were made."""


TAKEN_OVER = "its answer was taken over by a later call"


class Tally:
    """How often a call was tried, and how long it waited."""

    def __init__(self, context: CallContext) -> None:
        self._context = context
        self.attempts = 0
        self.tries = 0
        """Like `attempts`, those included that a guard of the tool refused."""
        self.waited_ns = 0
        self.started_ns = 0
        """When the tool of the last try was started, by the steady clock."""
        self.reservation: str | None = None
        """The name of the reservation of the last try."""
        self.retry: OutputRetry | None = None
        """How often its contract was missed, also in an interrupted call that it continues."""
        self.because = ""
        """Why the question is asked although an earlier call of it was cut off."""
        self.private: str | None = None
        """The folder of the last try, relative to the project root."""
        self._used: dict[str, Usage] = {}

    def note_session(self, record: SessionRecord | None) -> None:
        """Remember what a try used: each may be billed, also one without an answer."""
        if record is not None and record.usage is not None:
            self._used[record.id] = record.usage

    def usage(self, prepared: PreparedCall) -> Usage | None:
        """What all tries used, each at its price; None where no session reports it."""
        each = (with_cost(self._context, prepared, used) for used in self._used.values())
        known = [used for used in each if used is not None]
        return reduce(Usage.plus, known) if known else None

    @property
    def waited_ms(self) -> int:
        return self.waited_ns // 1_000_000

    def now(self) -> int:
        return self._context.clock.monotonic_ns()

    def waited_since(self, start: int) -> None:
        self.waited_ns += self.now() - start


class _CallNumbers(TypedDict):
    step: str
    attempt: int
    call: int
    tool: str
    began_at: str | None


def _which(call: LiveCall) -> _CallNumbers:
    """The numbers that identify a call within its run, in every event about it."""
    return _CallNumbers(
        step=call.step,
        attempt=call.attempt,
        call=call.number,
        tool=call.tool,
        began_at=call.began_at,
    )


def _redacted_argv(
    context: CallContext, parsed: ParsedArgv, argv: tuple[str, ...]
) -> tuple[str, ...]:
    # Redacted before it is cut: a part of a secret would not be recognised.
    return redacted_argv(parsed, tuple(map(context.redactor.clean, argv)))


def intend(
    context: CallContext,
    prepared: PreparedCall,
    argv: tuple[str, ...],
    process: ProcessIdentity | None = None,
    *,
    claim: Claim | None = None,
    tally: Tally | None = None,
    question: QuestionSize | None = None,
) -> None:
    """From here on the call may cost money. Recorded again as soon as its process is known.

    With the size of its question it is a rehearsed call, which costs nothing.
    """
    call, key = prepared.call, prepared.key
    recorded = context.record(
        j.InvocationIntent(
            **_which(call),
            key=prepared.key_value,
            key_parts=dict(key.parts) if isinstance(key, InvocationKey) else {},
            provider=prepared.provider if question is None else REHEARSAL,
            model=prepared.model,
            output_path=prepared.output_path,
            argv=_redacted_argv(context, parse_argv(table_of(call.tool), argv), argv),
            process=process,
            retry=tally.retry if tally else None,
            because=tally.because if tally else "",
            question=question,
            reservation=tally.reservation if tally else None,
            private=tally.private if tally and process is not None else None,
            identity=_identity(prepared, PrintedIds()) if process is not None else None,
        )
    )
    if claim is not None and isinstance(recorded, j.InvocationIntent):
        claim.note(recorded)


def _identity(prepared: PreparedCall, ids: PrintedIds) -> CallIdentity:
    """What a tool has printed about itself, and where a response of it can be asked for."""
    route = prepared.route
    if route is None or not route.responses:
        return CallIdentity(session=ids.session)
    return CallIdentity(
        session=ids.session,
        response=ids.response,
        provider=route.provider,
        endpoint=route.responses,
    )


def identify(
    context: CallContext, prepared: PreparedCall, ids: PrintedIds, claim: Claim | None
) -> None:
    """The tool has printed under which names its call can be found again."""
    call, identity = prepared.call, _identity(prepared, ids)
    context.record(
        j.CallIdentified(step=call.step, attempt=call.attempt, call=call.number, identity=identity)
    )
    place = (call.attempt, call.number)
    calls = context.journal.state.step(call.step).invocations
    intent = next((one.intent for one in calls if (one.attempt, one.call) == place), None)
    if claim is not None and intent is not None:
        claim.identify(intent)


def begin_try(context: CallContext, call: LiveCall, number: int) -> None:
    """The call has its slot; its intent is in the journal already."""
    context.record(
        j.TryStarted(step=call.step, attempt=call.attempt, call=call.number, number=number)
    )


def end_try(
    context: CallContext,
    call: LiveCall,
    number: int,
    *,
    exit_code: int,
    error: StepError | None,
    session: str | None = None,
    left: bytes | None = None,
) -> None:
    """One try ended, and what it left was judged."""
    context.record(
        j.TryFinished(
            step=call.step,
            attempt=call.attempt,
            call=call.number,
            number=number,
            ok=error is None,
            exit_code=exit_code,
            error=error,
            session=session,
            left_sha256=_kept(context, left) if left else None,
        )
    )


def conclude(  # noqa: PLR0913 - each is a field of the event, given by name
    context: CallContext,
    prepared: PreparedCall,
    tally: Tally,
    *,
    error: StepError | None = None,
    exit_code: int | None = 0,
    cache: Cache = Cache.OFF,
    session: str | None = None,
    answer: bytes | None = None,
    usage: Usage | None = None,
    adopted: bool = False,
    provider: str | None = None,
    unmet: bytes | None = None,
    source_run: str | None = None,
    saved: Usage | None = None,
    cancelled: bool = False,
) -> None:
    """What became of the call; `answer` is what was verified, `unmet` misses its contract."""
    call = prepared.call
    kept = _kept if cache is not Cache.HIT else _hash
    context.record(
        j.InvocationOutcome(
            **_which(call),
            ok=error is None,
            key=prepared.key_value,
            provider=provider or prepared.provider,
            model=prepared.model,
            output_path=prepared.output_path,
            cache=cache,
            attempts=tally.attempts,
            waited_ms=tally.waited_ms,
            exit_code=exit_code,
            session=session,
            sha256=None if answer is None else kept(context, answer),
            usage=with_cost(context, prepared, usage),
            adopted=adopted,
            error=error,
            unmet_sha256=None if unmet is None else kept(context, unmet),
            source_run=source_run,
            saved=with_cost(context, prepared, saved),
            cancelled=cancelled,
        )
    )


def _kept(context: CallContext, data: bytes) -> str:
    """Keep a byte string in the run; its hash. Failing to keep it is not an error here."""
    with suppress(OraclePackError):
        return keep_blob(context.run_dir, data)
    return sha256_bytes(data)


def _hash(_context: CallContext, data: bytes) -> str:
    """For an answer of the cache, which keeps it."""
    return sha256_bytes(data)


def with_cost(context: CallContext, prepared: PreparedCall, usage: Usage | None) -> Usage | None:
    """What the tool reports, with its cost at our prices; the browser has no price per token."""
    if usage is None or prepared.provider == BROWSER:
        return priced(usage, None)
    return priced(usage, price_of(prepared.model, context.options.prices))


def conclude_other(
    context: CallContext,
    call: LiveCall,
    provider: str | None,
    error: StepError | None,
    exit_code: int,
    output_path: str | None = None,
) -> None:
    """What became of a call that asks nothing of a key: another tool, or one that was refused."""
    context.record(
        j.InvocationOutcome(
            **_which(call),
            ok=error is None,
            provider=provider,
            output_path=output_path,
            exit_code=exit_code,
            attempts=0 if error is not None and error.code in _NOT_MADE else 1,
            error=error,
        )
    )


def intend_other(
    context: CallContext,
    call: LiveCall,
    provider: str | None,
    parsed: ParsedArgv,
    process: ProcessIdentity | None = None,
    reservation: str | None = None,
    claim: Claim | None = None,
) -> None:
    """Another tool is about to be called."""
    recorded = context.record(
        j.InvocationIntent(
            **_which(call),
            provider=provider,
            argv=_redacted_argv(context, parsed, call.argv),
            process=process,
            reservation=reservation,
        )
    )
    if claim is not None and isinstance(recorded, j.InvocationIntent):
        claim.note(recorded)


def close(context: CallContext, intent: j.InvocationIntent, why: str = "") -> None:
    """Record the end of an interrupted call, now that it is known."""
    context.record(
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
            adopted=why == TAKEN_OVER,
            error=StepError(
                code=CRASHED,
                message=why or "the call was cut off; it was asked again",
                transient=True,
            ),
        )
    )
