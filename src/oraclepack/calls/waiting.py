"""Waits that a person should know of: told once each, when they begin."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from oraclepack.calls.claims import ENDING, Claim, claim
from oraclepack.calls.context import CallContext
from oraclepack.calls.limits import Slot, limit_for, slot_reason
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.stored_answers import answers_of
from oraclepack.errors import MachineError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import CallWait, Wait
from oraclepack.system.ownership import folder_tracks

_SHORTEST, _LONGEST = 0.05, 0.5


def telling_pause(
    world: CallContext, call: LiveCall, shim: Shim, code: Wait, message: str, wait: CallWait
) -> Callable[[float], bool]:
    """The shim's pause; the first time it is used the wait is told of."""
    told = False

    def pause(seconds: float) -> bool:
        nonlocal told
        if not told:
            told = True
            shim.tell(world.redactor.clean(f"oraclepack: {message}\n"))
            world.tell(j.WarningRecorded(step=call.step, code=code, message=message, wait=wait))
        return shim.pause(seconds)

    return pause


def wait_for_slot(world: CallContext, call: LiveCall, shim: Shim, name: str) -> Slot | None:
    """The right to call a provider or a tool; None when the call is given up meanwhile."""
    limit = limit_for(name, world.options.limits)
    wait = CallWait(call=call.number, reason=slot_reason(name, limit))
    pause = telling_pause(world, call, shim, Wait.SLOT, f"waiting for a {wait.reason}", wait)
    return world.limits.acquire(name, limit, pause)


class WaitDeadline:
    """How long a call may take that somebody else makes for us: as long as one of our own."""

    def __init__(self, world: CallContext) -> None:
        self._clock = world.clock
        limit = world.options.call_timeout
        self._end = None if limit is None else world.clock.monotonic_ns() + int(limit * 1e9)

    @property
    def is_at_its_end(self) -> bool:
        return self._end is not None and self._clock.monotonic_ns() > self._end


class AskTurn(msgspec.Struct, frozen=True):
    """Our turn to ask, or none: the call was given up while it waited."""

    is_ours: bool
    claim: Claim | None = None
    """None where there is no key to go by, or no place for the lock: an answer is worth more."""

    @property
    def left(self) -> j.InvocationIntent | None:
        """The call of an earlier asker who was killed."""
        return self.claim.left if self.claim else None

    def settle(self) -> None:
        if self.claim is not None:
            self.claim.settle()


@contextmanager
def asking_alone(world: CallContext, prepared: PreparedCall, shim: Shim) -> Iterator[AskTurn]:
    """Nobody else, in whatever process, asks this question meanwhile."""
    turn = _turn(world, prepared, shim)
    try:
        yield turn
    finally:
        if turn.claim is not None:
            turn.claim.release()


def _turn(world: CallContext, prepared: PreparedCall, shim: Shim) -> AskTurn:
    key = prepared.key_value
    if key is None:
        return AskTurn(is_ours=True)
    message = "the same question is being asked already; waiting for its answer"
    asked = CallWait(call=prepared.call.number, reason="same question asked by another call")
    pause = telling_pause(world, prepared.call, shim, Wait.SAME_QUESTION, message, asked)
    wait = _SHORTEST
    folder = answers_of(world)[0].directory
    if folder_tracks(world.root, folder, f"{key}{ENDING}"):
        return AskTurn(is_ours=True)  # not ours to write to or to remove
    try:
        while (held := claim(folder, key)) is None:
            if not pause(wait):
                return AskTurn(is_ours=False)
            wait = min(wait * 2, _LONGEST)
    except MachineError:
        return AskTurn(is_ours=True)
    return AskTurn(is_ours=True, claim=held)
