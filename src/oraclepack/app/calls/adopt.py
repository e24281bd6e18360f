"""Adopting: an earlier call, cut off by a crash or kept nowhere, is not paid for again."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from oraclepack.app.calls import answer_files, notes
from oraclepack.app.calls.harvest import harvest, harvest_unmet, promised_file, session_of
from oraclepack.app.calls.prepared import Prepared
from oraclepack.app.calls.store import keep, may_reuse
from oraclepack.app.calls.trying import stay_with, still_running
from oraclepack.app.calls.unmet import PaidAnswer
from oraclepack.app.calls.waiting import Patience, telling_pause
from oraclepack.app.calls.world import CallWorld
from oraclepack.core.invocation import Shim
from oraclepack.intercept.adoption import Adoption, Lives, OnUnknown, adoption
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Cache, Wait
from oraclepack.journal.step_state import Invocation
from oraclepack.shell.attempt import Process
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_sessions import (
    OracleSessions,
    SessionRecord,
    is_alive,
    worker_is_alive,
)
from oraclepack.tools.tool_names import ORACLE

_LOOK_AGAIN = 0.5


class Adopted(msgspec.Struct, frozen=True):
    """What looking for an earlier call came to."""

    answer: bytes | None = None
    record: SessionRecord | None = None
    call: Invocation | None = None
    """Whose answer it is, if that call is still to be closed."""
    by_file: bool = False
    """No session record speaks for the answer: it stays in its run."""
    unmet: PaidAnswer | None = None
    """In place of `answer`: it is whole, and misses its contract."""
    force: bool = False
    """Ask, and tell the tool that we mean it."""
    undecided: bool = False
    stopped: bool = False


def adopt(
    world: CallWorld, prepared: Prepared, shim: Shim, left: j.InvocationIntent | None = None
) -> Adopted:
    """See to the calls of the same question that an earlier command did not live to finish.

    `left` is the last of them that anybody wrote down, perhaps in another run.
    """
    force = False
    for earlier in _earlier(world, prepared, left):
        found = _settle(world, prepared, shim, earlier)
        if found.undecided or found.stopped:
            return found
        if found.answer is not None or found.unmet is not None:
            return replace(found, call=earlier)
        _close(world, earlier, found)
        force = force or found.force
    return _answered(world, prepared) or Adopted(force=force)


def take_over(world: CallWorld, prepared: Prepared, shim: Shim, found: Adopted) -> int:
    """Make the answer of an earlier call the answer of this one."""
    assert found.answer is not None
    answer_files.publish(prepared.outputs[0], found.answer)
    keep(world, prepared, shim, found.answer, found.record, shared=not found.by_file)
    notes.conclude(
        world,
        prepared,
        notes.Tally(world),
        cache=Cache.OFF,
        session=found.record.id if found.record else None,
        answer=found.answer,
        usage=found.record.usage if found.record else None,
        adopted=True,
    )
    close_earlier(world, found)
    return 0


def close_earlier(world: CallWorld, found: Adopted) -> None:
    """Last: whoever dies before this finds the call open, and its answer, once more."""
    if found.call is not None:
        _close(world, found.call, found)


def _close(world: CallWorld, earlier: Invocation, found: Adopted) -> None:
    """Write down how a call of this run has ended; what another run has written is its own."""
    if earlier.intent is not None and _is_ours(world, earlier.intent):
        adopted = found.answer is not None or found.unmet is not None
        notes.close(world, earlier.intent, adopted=adopted)


def _is_ours(world: CallWorld, intent: j.InvocationIntent | None) -> bool:
    if intent is None:
        return False
    own = world.journal.state.step(intent.step).invocations
    return any(made.intent == intent for made in own)


def _earlier(
    world: CallWorld, prepared: Prepared, left: j.InvocationIntent | None
) -> list[Invocation]:
    """Calls of the same question without a known end, the last one first."""
    found = list(_left_open(world, prepared))
    if left is not None and not any(_is_same(made.intent, left) for made in found):
        found.append(Invocation(left.attempt, left.call, left))
    return sorted(found, key=lambda made: made.intent.at if made.intent else "", reverse=True)


def _is_same(one: j.InvocationIntent | None, other: j.InvocationIntent) -> bool:
    return one is not None and (one.seq, one.at) == (other.seq, other.at)


def _left_open(world: CallWorld, prepared: Prepared) -> Iterator[Invocation]:
    """Those of this run; only one file can be told apart from others."""
    if len(prepared.outputs) != 1:
        return
    for step in world.journal.state.steps.values():
        for made in step.invocations:
            intent = made.intent
            if intent is None or not made.is_open or intent.tool != ORACLE:
                continue
            if (intent.step, intent.attempt, intent.call) in world.shared.live:
                continue
            if intent.key == prepared.key_value and (
                intent.key is not None or intent.output_path == prepared.output_path
            ):
                yield made


def _answered(world: CallWorld, prepared: Prepared) -> Adopted | None:
    """The answer to the same question that this run has had, though nothing could be kept of it.

    The disk was full, say, or the cache was removed; its file or the tool's session has it still.
    """
    key = prepared.key_value
    if key is None or not may_reuse(world, key) or len(prepared.outputs) != 1:
        return None
    sessions = OracleSessions(oracle_home(prepared.call.env))
    for step in world.journal.state.steps.values():
        for made in reversed(step.invocations):
            if made.outcome is None or not made.outcome.ok or made.outcome.key != key:
                continue
            record = session_of(world, prepared, sessions, made)
            answer = harvest(world, prepared, sessions, made, record)
            if answer is not None:
                return Adopted(answer, record)
    return None


def _settle(world: CallWorld, prepared: Prepared, shim: Shim, earlier: Invocation) -> Adopted:
    found = _by_session(world, prepared, shim, earlier)
    if found != Adopted() or not _is_ours(world, earlier.intent):
        return found
    process = earlier.intent.process if earlier.intent else None
    sessions = OracleSessions(oracle_home(prepared.call.env))
    is_over = process is not None and is_alive(process) is False
    if not is_over or session_of(world, prepared, sessions, earlier) is not None:
        return found
    promised = promised_file(world, prepared, earlier)
    if promised is None:
        return found
    if promised.missing:
        return Adopted(unmet=promised, by_file=True)
    return Adopted(promised.data, by_file=True)


def _by_session(world: CallWorld, prepared: Prepared, shim: Shim, earlier: Invocation) -> Adopted:
    """What the session record of an earlier call, and its process, come to."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    patience = Patience(world)
    process = earlier.intent.process if earlier.intent else None
    while True:
        record = session_of(world, prepared, sessions, earlier)
        match adoption(record, _lives(record, process), waits=not patience.is_at_its_end):
            case Adoption.HARVEST if record is not None:
                return _harvested(world, prepared, sessions, earlier, record)
            case Adoption.WAIT:
                note = "an earlier call of this question still runs; waiting for it"
                wait = still_running(prepared.call, process.pid if process else None)
                pause = telling_pause(world, prepared.call, shim, Wait.EARLIER_CALL, note, wait)
                if not _wait(pause, patience, process):
                    return Adopted(stopped=True)
            case Adoption.ATTACH if record is not None:
                note = f"session {record.id} still works on this question; waiting for it"
                wait = still_running(prepared.call, record.worker_pid)
                pause = telling_pause(world, prepared.call, shim, Wait.EARLIER_CALL, note, wait)
                if stay_with(prepared, pause, patience, record) is None:
                    return Adopted(stopped=True)
            case Adoption.UNKNOWN:
                return _undecided(world, shim, record)
            case Adoption.FORCE:
                return Adopted(force=True)
            case _:
                return Adopted()


def _harvested(
    world: CallWorld,
    prepared: Prepared,
    sessions: OracleSessions,
    earlier: Invocation,
    record: SessionRecord,
) -> Adopted:
    """The answer of a session that was completed, whether it meets its contract or not."""
    answer = harvest(world, prepared, sessions, earlier, record)
    if answer is not None:
        return Adopted(answer, record)
    unmet = harvest_unmet(world, prepared, sessions, earlier, record)
    return Adopted() if unmet is None else Adopted(record=record, unmet=unmet)


def _lives(record: SessionRecord | None, process: Process | None) -> Lives:
    worker = record.worker_pid if record else None
    return Lives(
        caller=is_alive(process) if process else None,
        is_named=process is not None,
        worker=worker_is_alive(worker) if worker else None,
    )


def _wait(pause: Callable[[float], bool], patience: Patience, process: Process | None) -> bool:
    """Until the process of an earlier call has ended, or patience; False when given up."""
    while process and is_alive(process) and not patience.is_at_its_end:
        if not pause(_LOOK_AGAIN):
            return False
    return True


def _undecided(world: CallWorld, shim: Shim, record: SessionRecord | None) -> Adopted:
    name = record.id if record else "?"
    doubt = f"nobody can tell whether session {name} of this question still comes to an answer"
    match world.options.on_unknown:
        case OnUnknown.RETRY:
            return Adopted(force=True)
        case OnUnknown.ASK if world.ask is not None:
            if world.ask(f"{doubt}; ask again (it may be paid for twice)?", shim.pause):
                return Adopted(force=True)
    shim.tell(f"oraclepack: {doubt}; see `oracle session {name}`, or pass --on-unknown retry\n")
    return Adopted(record=record, undecided=True)
