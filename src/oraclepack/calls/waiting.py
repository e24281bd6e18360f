"""Waits of calls, announced once each when they begin."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.prepare import PreparedCall
from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import CallWait, Wait
from oraclepack.store.claims import Claim, Unclaimed
from oraclepack.store.database import StoreError
from oraclepack.store.limits import Slot, limit_for, slot_reason
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.machine import Machine, ProcessLocation, process_location, this_machine
from oraclepack.tools.tool_names import ORACLE

_POLL_SECONDS = 0.2
"""Seconds between two checks whether a paused run has been resumed."""


@contextmanager
def recorded_wait(
    context: CallContext, call: LiveCall, shim: Shim, code: Wait, message: str, wait: CallWait
) -> Iterator[Callable[[float], bool]]:
    """The shim's pause. The first use records the beginning of the wait, leaving it the end."""
    number = 0

    def pause(seconds: float) -> bool:
        nonlocal number
        if not number:
            shim.write_stderr(context.redactor.clean(f"oraclepack: {message}\n"))
            context.record(j.WarningRecorded(step=call.step, code=code, message=message, wait=wait))
            number = begin_wait(context, call, code, wait.reason, wait.seconds)
        return shim.pause(seconds)

    try:
        yield pause
    finally:
        if number:
            end_wait(context, call, number)


def begin_wait(
    context: CallContext, call: LiveCall, code: Wait, detail: str, seconds: float | None = None
) -> int:
    """Record that a call waits; the number of the wait."""
    number = context.shared.next_wait((call.step, call.attempt, call.number))
    context.record(
        j.WaitStarted(
            step=call.step,
            attempt=call.attempt,
            call=call.number,
            wait=number,
            reason=code,
            detail=detail,
            seconds=seconds,
        )
    )
    return number


def end_wait(context: CallContext, call: LiveCall, number: int) -> None:
    context.record(
        j.WaitFinished(step=call.step, attempt=call.attempt, call=call.number, wait=number)
    )


def wait_for_slot(context: CallContext, call: LiveCall, shim: Shim, name: str) -> Slot | None:
    """The right to call a provider or a tool; None when the call is given up meanwhile.

    While the run is paused no call gets one.
    """
    limit = limit_for(name, context.options.limits)
    wait = CallWait(call=call.number, reason=slot_reason(name, limit))
    code = Wait.SLOT if limit.max_concurrent is not None else Wait.RATE_LIMIT
    message = f"waiting for a {wait.reason}"
    while _wait_while_paused(context, call, shim):
        with recorded_wait(context, call, shim, code, message, wait) as pause:
            slot = context.store.limits.acquire(name, limit, pause)
        if slot is None or not context.is_paused():
            return slot
        slot.release()  # paused meanwhile: another run may use it
    return None


def _wait_while_paused(context: CallContext, call: LiveCall, shim: Shim) -> bool:
    """Until the run goes on; False when the call is given up meanwhile."""
    if not context.is_paused():
        return True
    wait = CallWait(call=call.number, reason="the run is paused")
    with recorded_wait(context, call, shim, Wait.PAUSED, wait.reason, wait) as pause:
        while context.is_paused():
            if not pause(_POLL_SECONDS):
                return False
    return True


class WaitDeadline:
    """The deadline of a wait for another call: as long as a call of our own may take."""

    def __init__(self, context: CallContext) -> None:
        self._clock = context.clock
        limit = context.options.call_timeout
        self._end = None if limit is None else context.clock.monotonic_ns() + int(limit * 1e9)

    @property
    def is_at_its_end(self) -> bool:
        return self._end is not None and self._clock.monotonic_ns() > self._end

    @property
    def seconds_left(self) -> float:
        left = float("inf") if self._end is None else self._end - self._clock.monotonic_ns()
        return max(0.0, left / 1e9)


def unkeyed_claim(
    context: CallContext, step: str, attempt: int, number: int, machine: Machine | None = None
) -> str:
    """The name of the claim of a call whose question has no key; no other call has it."""
    maker = machine or this_machine()
    place = f"{maker.id or maker.host}:{context.root}".encode("utf-8", "backslashreplace")
    run = f"{context.run_id}:{sha256_bytes(place)[:12]}"
    return f"unkeyed:{run}:{step}:{attempt}:{number}"


def settle_unkeyed(context: CallContext, intent: j.InvocationIntent) -> None:
    """Settle a call without a key that an earlier command made: its end is known."""
    if intent.key is None and context.store.claims.spans_machines:
        maker = intent.process.machine if intent.process else None
        name = unkeyed_claim(context, intent.step, intent.attempt, intent.call, maker)
        claim = context.store.claims.acquire(name, lambda _: False)
        if claim is not None:
            claim.settle()


@contextmanager
def asking_unkeyed(context: CallContext, call: LiveCall) -> Iterator[Claim]:
    """The claim of a call of another tool, which costs money too. Raises StoreError."""
    claim: Claim | None = Unclaimed()
    if context.store.claims.spans_machines:
        name = unkeyed_claim(context, call.step, call.attempt, call.number)
        claim = context.store.claims.acquire(name, lambda _: False)
    if claim is None:
        raise StoreError("another runner makes this call", hint="see `oraclepack fleet unknown`")
    try:
        yield claim
    except OraclePackError:
        claim.withdraw()  # only what precedes the start of the tool raises it
        raise
    finally:
        claim.release()


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


@contextmanager
def asking_alone(
    context: CallContext, prepared: PreparedCall, shim: Shim
) -> Iterator[Claim | None]:
    """Hold the claim of a question, so that no other process asks it.

    None: the call was given up while it waited.
    """
    key, call = prepared.key_value, prepared.call
    if key is None:
        if not context.store.claims.spans_machines:
            yield Unclaimed()
            return
        # No other call asks the same, but a runner that was taken for dead must not spend.
        key = unkeyed_claim(context, call.step, call.attempt, call.number)
    message = "the same question is being asked already; waiting for its answer"
    wait = CallWait(call=call.number, reason="same question asked by another call")
    with recorded_wait(context, call, shim, Wait.SAME_QUESTION, message, wait) as pause:
        claim = context.store.claims.acquire(key, pause)
    try:
        yield claim
    finally:
        if claim is not None:
            claim.release()
