"""What a call waits for before it may ask: the right to its question, a slot of its provider."""

from collections.abc import Iterator
from contextlib import contextmanager

from oraclepack.calls.call import Call
from oraclepack.calls.context import CallContext, Place
from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Wait
from oraclepack.store.claims import Claim
from oraclepack.store.database import StoreError
from oraclepack.store.limits import Slot, limit_for, slot_reason
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.machine import Machine, ProcessLocation, process_location, this_machine
from oraclepack.tools.tool_names import ORACLE

_POLL_SECONDS = 0.2
"""Seconds between two checks whether a paused run has been resumed."""


@contextmanager
def claimed(call: Call) -> Iterator[bool]:
    """The claim of a question is ours, so that no other process asks it.

    False: the call was given up while it waited.
    """
    claims, key = call.context.store.claims, call.key_value
    if key is None and not claims.spans_machines:
        yield True
        return
    # No other call has a name without a key, but a runner that was taken for dead must not spend.
    message = "the same question is being asked already; waiting for its answer"
    reason = "same question asked by another call"
    with call.wait(Wait.SAME_QUESTION, message, reason) as pause:
        claim = claims.acquire(key or _unkeyed_name(call.context, call.place), pause)
    if claim is None:
        yield False
        return
    call.claim = claim
    try:
        yield True
    finally:
        claim.release()


def slot_of(call: Call) -> Slot | None:
    """The right to call a provider or a tool; None when the call is given up meanwhile.

    While the run is paused no call gets one.
    """
    context, name = call.context, call.limit
    limit = limit_for(name, context.options.limits)
    reason = slot_reason(name, limit)
    code = Wait.SLOT if limit.max_concurrent is not None else Wait.RATE_LIMIT
    while _goes_on_after_pause(call):
        with call.wait(code, f"waiting for a {reason}", reason) as pause:
            slot = context.store.limits.acquire(name, limit, pause)
        if slot is None or not context.is_paused():
            return slot
        slot.release()  # paused meanwhile: another run may use it
    return None


def _goes_on_after_pause(call: Call) -> bool:
    """Until the run goes on; False when the call is given up meanwhile."""
    reason = "the run is paused"
    with call.wait(Wait.PAUSED, reason, reason) as pause:
        while call.context.is_paused():
            if not pause(_POLL_SECONDS):
                return False
    return True


def _unkeyed_name(context: CallContext, place: Place, machine: Machine | None = None) -> str:
    """The name of the claim of a call whose question has no key; no other call has it."""
    maker = machine or this_machine()
    root = f"{maker.id or maker.host}:{context.root}".encode("utf-8", "backslashreplace")
    run = f"{context.run_id}:{sha256_bytes(root)[:12]}"
    step, attempt, number = place
    return f"unkeyed:{run}:{step}:{attempt}:{number}"


@contextmanager
def unkeyed_claim(call: Call) -> Iterator[Claim]:
    """The claim of a call of another tool, which costs money too. Raises StoreError."""
    claim: Claim | None = Claim()
    claims = call.context.store.claims
    if claims.spans_machines:
        claim = claims.acquire(_unkeyed_name(call.context, call.place), lambda _: False)
    if claim is None:
        raise StoreError("another runner makes this call", hint="see `oraclepack fleet unknown`")
    try:
        yield claim
    except OraclePackError:
        claim.withdraw()  # only what precedes the start of the tool raises it
        raise
    finally:
        claim.release()


def settle_unkeyed(context: CallContext, intent: j.InvocationIntent) -> None:
    """Settle a call without a key that an earlier command made: its end is known."""
    if intent.key is None and context.store.claims.spans_machines:
        maker = intent.process.machine if intent.process else None
        place = (intent.step, intent.attempt, intent.call)
        name = _unkeyed_name(context, place, maker)
        claim = context.store.claims.acquire(name, lambda _: False)
        if claim is not None:
            claim.settle()


def settle_ended_tools(context: CallContext) -> None:
    """Settle the calls of other tools that an earlier command made here: they were ended since."""
    for step in context.journal.state.steps.values():
        for call in step.invocations:
            intent = call.intent
            if not call.is_open or intent is None or intent.process is None:
                continue
            is_here = process_location(intent.process.machine) is ProcessLocation.HERE
            if intent.tool != ORACLE and is_here:
                settle_unkeyed(context, intent)
