"""One question while it is answered: what is known of it, and an answer of before made its own."""

import msgspec
from msgspec.structs import replace

from oraclepack.calls import ledger
from oraclepack.calls.call_budget import settle_call
from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import Shim
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.publication import publish
from oraclepack.calls.stored_answers import keep, keep_unmet
from oraclepack.calls.unmet_answers import record_acceptance
from oraclepack.calls.waiting import settle_unkeyed
from oraclepack.errors import ExitCode, StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import INTERRUPTED, Cache, OutputRetry
from oraclepack.journal.step_state import Invocation
from oraclepack.store.claims import Claim
from oraclepack.tools.oracle_failures import Failure
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.usage import Usage

STOPPED = StepError(code=INTERRUPTED, message="stopped before its end", transient=True)
STOPPED_EXIT = int(ExitCode.INTERRUPTED)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was paid for, or that a person took as it is."""

    data: bytes
    note: str = ""
    """How it came about, in words that follow the path of its file."""
    missing: tuple[str, ...] = ()
    """The sections it lacks: the call fails, and is not asked again."""
    record: SessionRecord | None = None
    """Of the session that answered, with its usage."""
    earlier: Invocation | None = None
    """Whose answer it is, if that call is still to be closed."""
    is_new: bool = False
    """No call has ended with it, so that its cost counts."""
    is_stored: bool = False
    """The cache or the run has it."""
    is_proven: bool = True
    """It is sure to be whole, so that it may be shared with other runs."""
    cache: Cache = Cache.OFF
    saved: Usage | None = None
    """What it had used when it was paid for."""
    run_id: str | None = None
    """The run that paid for it, where that is another one."""
    acceptance: j.OutputRevised | None = None
    """The event by which a person took it, where it lacks something."""


class Held(msgspec.Struct, frozen=True):
    """Why a question is neither answered nor asked now."""

    error: StepError
    exit_code: int = 1


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier call has ended without an answer, so that its question may be asked."""

    force: bool = False
    """Ask with the tool's force flag, since it would refuse a repeated question."""
    decided: str = ""
    """Who decided to ask although it has no known end."""
    verdict: Failure | None = None
    """What its provider says about it."""


class Call(msgspec.Struct):
    """A question that was read, its claim, and what was learned about earlier calls of it."""

    context: CallContext
    prepared: PreparedCall
    shim: Shim
    claim: Claim
    retry: OutputRetry | None = None
    """At which retry it is, where its answers missed their contract so far."""
    short: Found | None = None
    """The last of these answers: it is asked for again."""
    force: bool = False
    because: str = ""
    """Why it is asked although an earlier call was cut off."""

    def say(self, text: str) -> None:
        """A line for the person who watches the step."""
        self.shim.write_stderr(self.context.redactor.clean(f"oraclepack: {text}\n"))

    def end(self, error: StepError, exit_code: int) -> int:
        """Nothing was found or asked."""
        tally = ledger.Tally(self.context)
        ledger.conclude(self.context, self.prepared, tally, error=error, exit_code=exit_code)
        return exit_code

    def asks_again(self, found: Found) -> bool:
        """Whether an answer lacks something and one more retry is due for that."""
        most = self.context.options.output_retries
        return bool(found.missing) and self.retry is not None and self.retry.number <= most

    def take(self, found: Found) -> int:
        """Make an answer of before the answer of this call."""
        context, prepared = self.context, self.prepared
        record, path = found.record, prepared.output_path
        error = None
        if found.missing:
            lacks = f"the answer lacks {', '.join(found.missing)}"
            error = StepError(code="CONTRACT", message=lacks)
            self.say(f"CONTRACT: {lacks}; it was paid for and is not asked again")
            keep_unmet(context, prepared, self.shim, found.data, record)
        elif not found.is_stored:
            shared = found.is_proven
            keep(context, prepared, self.shim, found.data, record, shared=shared)
        publish(context, prepared.call, prepared.outputs[0], found.data)
        if error is None:
            self.say(f"{path} {found.note}")
            if found.acceptance is not None:
                record_acceptance(context, prepared, found.data, found.acceptance, found.run_id)
        ledger.conclude(
            context,
            prepared,
            ledger.Tally(context),
            error=error,
            exit_code=0 if error is None else 1,
            cache=found.cache,
            session=record.id if record else None,
            answer=found.data if error is None else None,
            unmet=None if error is None else found.data,
            usage=record.usage if record and found.is_new else None,
            adopted=error is None and found.cache is Cache.OFF,
            source_run=_payer(context, found),
            saved=found.saved,
        )
        # Close last: if we are killed earlier, the next run finds the call again.
        if found.earlier is not None:
            self.close(found.earlier, record, ledger.TAKEN_OVER)
        self.claim.settle()
        return 0 if error is None else 1

    def close(self, earlier: Invocation, record: SessionRecord | None, why: str = "") -> None:
        """Write down how a call of this run has ended; what another run has written is its own."""
        self.settle_money(earlier, record)
        intent = earlier.intent
        if intent is None:
            return
        own = self.context.journal.state.step(intent.step).invocations
        if any(one.intent == intent for one in own):
            settle_unkeyed(self.context, intent)
            ledger.close(self.context, intent, why)

    def settle_money(self, earlier: Invocation, record: SessionRecord | None) -> None:
        """What a call used, where its session says so; otherwise its worst case counts as spent."""
        if earlier.reserved or (earlier.intent is not None and earlier.intent.reservation):
            usage = record.usage if record else None
            settle_call(self.context, earlier, ledger.with_cost(self.context, self.prepared, usage))

    def stopped(self) -> Held:
        """The call was given up while it waited."""
        return Held(STOPPED, STOPPED_EXIT)

    def completed(
        self, record: SessionRecord | None, name: str, usage: Usage | None
    ) -> SessionRecord:
        """The record of a session whose answer was had in another way than from the tool."""
        known = record or SessionRecord(name, "")
        return replace(known, status="completed", usage=usage or known.usage)


def _payer(context: CallContext, found: Found) -> str | None:
    """The run that has the cost of an answer in its records already."""
    if found.is_new or found.cache is Cache.HIT:
        return None
    return found.run_id or context.run_id
