"""Waits that a person should know of: told once each, when they begin."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from oraclepack.calls.context import CallContext
from oraclepack.calls.limits import limit_for, slot_reason
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.store import Claim, Slot, Unclaimed
from oraclepack.journal import events as j
from oraclepack.journal.statuses import CallWait, Wait


def announced_pause(
    context: CallContext, call: LiveCall, shim: Shim, code: Wait, message: str, wait: CallWait
) -> Callable[[float], bool]:
    """The shim's pause; the first time it is used the wait is told of."""
    announced = False

    def pause(seconds: float) -> bool:
        nonlocal announced
        if not announced:
            announced = True
            shim.write_stderr(context.redactor.clean(f"oraclepack: {message}\n"))
            context.record(j.WarningRecorded(step=call.step, code=code, message=message, wait=wait))
        return shim.pause(seconds)

    return pause


def wait_for_slot(context: CallContext, call: LiveCall, shim: Shim, name: str) -> Slot | None:
    """The right to call a provider or a tool; None when the call is given up meanwhile."""
    limit = limit_for(name, context.options.limits)
    wait = CallWait(call=call.number, reason=slot_reason(name, limit))
    pause = announced_pause(context, call, shim, Wait.SLOT, f"waiting for a {wait.reason}", wait)
    return context.store.limits.acquire(name, limit, pause)


class WaitDeadline:
    """How long a call may take that somebody else makes for us: as long as one of our own."""

    def __init__(self, context: CallContext) -> None:
        self._clock = context.clock
        limit = context.options.call_timeout
        self._end = None if limit is None else context.clock.monotonic_ns() + int(limit * 1e9)

    @property
    def is_at_its_end(self) -> bool:
        return self._end is not None and self._clock.monotonic_ns() > self._end


@contextmanager
def asking_alone(
    context: CallContext, prepared: PreparedCall, shim: Shim
) -> Iterator[Claim | None]:
    """Nobody else, in whatever process, asks this question meanwhile.

    None: the call was given up while it waited.
    """
    key, call = prepared.key_value, prepared.call
    if key is None:
        yield Unclaimed()
        return
    message = "the same question is being asked already; waiting for its answer"
    wait = CallWait(call=call.number, reason="same question asked by another call")
    pause = announced_pause(context, call, shim, Wait.SAME_QUESTION, message, wait)
    claim = context.store.claims.acquire(key, pause)
    try:
        yield claim
    finally:
        if claim is not None:
            claim.release()
