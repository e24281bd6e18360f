"""Adopting: an earlier call, cut off by a crash or kept nowhere, is not paid for again."""

from collections.abc import Callable, Iterator

import msgspec

from oraclepack.adapters import files
from oraclepack.adapters.oracle_home import oracle_home
from oraclepack.adapters.oracle_sessions import OracleSessions, is_alive, worker_is_alive
from oraclepack.app.calls import answer_files, notes
from oraclepack.app.calls.prepared import Prepared
from oraclepack.app.calls.store import is_true, keep, may_reuse
from oraclepack.app.calls.trying import stay_with
from oraclepack.app.calls.waiting import Patience, telling_pause
from oraclepack.app.calls.world import CallWorld
from oraclepack.core import journal as j
from oraclepack.core.call import ORACLE
from oraclepack.core.digest import sha256_bytes
from oraclepack.core.errors import OraclePackError
from oraclepack.core.invocation import Shim
from oraclepack.core.oracle_session import SessionRecord
from oraclepack.core.result import Cache, Wait
from oraclepack.intercept.adoption import (
    Adoption,
    Lives,
    OnUnknown,
    adoption,
    answer_in_log,
    matching,
)
from oraclepack.intercept.truth import COMPLETED

_LOOK_AGAIN = 0.5


class Adopted(msgspec.Struct, frozen=True):
    """What looking for an earlier call came to."""

    answer: bytes | None = None
    record: SessionRecord | None = None
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
    ours = tuple(_left_open(world, prepared))
    known = {(intent.seq, intent.at) for intent in ours}
    others = () if left is None or (left.seq, left.at) in known else (left,)
    for intent in sorted((*ours, *others), key=lambda intent: intent.at, reverse=True):
        found = _settle(world, prepared, shim, intent)
        if found.undecided or found.stopped:
            return found
        if intent in ours:
            notes.close(world, intent, adopted=found.answer is not None)
        if found.answer is not None:
            return found
        force = force or found.force
    return _answered(world, prepared) or Adopted(force=force)


def take_over(world: CallWorld, prepared: Prepared, shim: Shim, found: Adopted) -> int:
    """Make the answer of an earlier call the answer of this one."""
    assert found.answer is not None
    answer_files.publish(prepared.outputs[0], found.answer)
    keep(world, prepared, shim, found.answer, found.record)
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
    return 0


def _left_open(world: CallWorld, prepared: Prepared) -> Iterator[j.InvocationIntent]:
    """Calls of the same question without an end; only one file can be told apart from others."""
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
                yield intent


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
            outcome = made.outcome
            if outcome is None or not outcome.ok or outcome.key != key:
                continue
            record = sessions.record(outcome.session) if outcome.session else None
            found = _harvest(world, prepared, sessions, outcome, record, outcome.sha256)
            if found.answer is not None:
                return found
    return None


def _settle(
    world: CallWorld, prepared: Prepared, shim: Shim, intent: j.InvocationIntent
) -> Adopted:
    sessions = OracleSessions(oracle_home(prepared.call.env))
    patience = Patience(world)
    while True:
        record = _record(world, prepared, sessions, intent)
        match adoption(record, _lives(record, intent), waits=not patience.is_at_its_end):
            case Adoption.HARVEST if record is not None:
                return _harvest(world, prepared, sessions, intent, record)
            case Adoption.WAIT:
                note = "an earlier call of this question still runs; waiting for it"
                pause = telling_pause(world, prepared.call, shim, Wait.EARLIER_CALL, note)
                if not _wait(pause, patience, intent):
                    return Adopted(stopped=True)
            case Adoption.ATTACH if record is not None:
                note = f"session {record.id} still works on this question; waiting for it"
                pause = telling_pause(world, prepared.call, shim, Wait.EARLIER_CALL, note)
                if stay_with(prepared, pause, patience, record) is None:
                    return Adopted(stopped=True)
            case Adoption.UNKNOWN:
                return _undecided(world, shim, record)
            case Adoption.FORCE:
                return Adopted(force=True)
            case _:
                return Adopted()


def _record(
    world: CallWorld, prepared: Prepared, sessions: OracleSessions, intent: j.InvocationIntent
) -> SessionRecord | None:
    path = str(world.root.resolve() / intent.output_path) if intent.output_path else None
    return matching(sessions.records(), prepared.question.prompt, path, intent.at)


def _lives(record: SessionRecord | None, intent: j.InvocationIntent) -> Lives:
    worker = record.worker_pid if record else None
    return Lives(
        caller=is_alive(intent.process) if intent.process else None,
        worker=worker_is_alive(worker) if worker else None,
    )


def _wait(pause: Callable[[float], bool], patience: Patience, intent: j.InvocationIntent) -> bool:
    """Until the process of an earlier call has ended, or patience; False when given up."""
    while intent.process and is_alive(intent.process) and not patience.is_at_its_end:
        if not pause(_LOOK_AGAIN):
            return False
    return True


def _harvest(
    world: CallWorld,
    prepared: Prepared,
    sessions: OracleSessions,
    call: j.InvocationIntent | j.InvocationOutcome,
    record: SessionRecord | None,
    sha256: str | None = None,
) -> Adopted:
    """The answer of a call, if it can be found; `sha256` is its own, where it was seen whole."""
    if record is not None and record.status == COMPLETED:
        log = answer_in_log(sessions.log(record.id))
    elif sha256 is not None:
        record, log = None, None
    else:
        return Adopted()
    # A step may have edited its files since; the log is the tool's alone.
    written = (data for data in _written(world, call) if sha256 in {None, sha256_bytes(data)})
    for data in (*written, *(() if log is None else (log.encode(),))):
        if is_true(world, prepared, data, record):
            return Adopted(data, record)
    return Adopted()


def _written(world: CallWorld, call: j.InvocationIntent | j.InvocationOutcome) -> Iterator[bytes]:
    """What is at the path of a call's answer, and what was moved from there to quarantine."""
    step = world.journal.state.step(call.step)
    moved = [move for event in step.quarantined for move in event.moves]
    places = [call.output_path] if call.output_path else []
    places += [m.target for m in reversed(moved) if m.source == call.output_path]
    for place in places:
        try:
            path = world.root / place
            data = files.read(path) if path.is_file() else None
        except OraclePackError:
            continue
        if data is not None:
            yield data


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
