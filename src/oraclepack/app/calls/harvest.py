"""What there still is of an earlier call: its session, and its answer wherever that lies."""

import posixpath
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from oraclepack.app.calls import answer_files
from oraclepack.app.calls.prepared import Prepared
from oraclepack.app.calls.store import is_true, missing_in
from oraclepack.app.calls.unmet import PaidAnswer, is_an_answer, looks_cut
from oraclepack.app.calls.world import CallWorld
from oraclepack.errors import OraclePackError
from oraclepack.intercept.adoption import answer_in_log, matching
from oraclepack.intercept.truth import COMPLETED
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import BACKUPS
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.system import files
from oraclepack.system.clock import rfc3339
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import read_content, stays_inside
from oraclepack.tools.oracle_sessions import OracleSessions, SessionRecord


def session_of(
    world: CallWorld, prepared: Prepared, sessions: OracleSessions, made: Invocation
) -> SessionRecord | None:
    """The session of an earlier call of the same question.

    Oracle knows it by its prompt and its path alone. The same may have been asked about other
    files since: what began after a later call of ours, or is known to be another's, is not it.
    """
    if made.outcome is not None and made.outcome.session is not None:
        return sessions.record(made.outcome.session)
    intent = made.intent
    if intent is None:
        return None
    path = str(world.root.resolve() / intent.output_path) if intent.output_path else None
    others = _of_others(world, prepared)
    records = (record for record in sessions.records() if record.id not in others)
    until = min(_later(world, intent), default="")
    return matching(records, prepared.question.prompt, path, intent.at, until)


def harvest(
    world: CallWorld,
    prepared: Prepared,
    sessions: OracleSessions,
    made: Invocation,
    record: SessionRecord | None,
) -> bytes | None:
    """The answer of an earlier call, if it can be found and is sure to be that."""
    found = _answers(world, sessions, made, record)
    return next((data for data in found if is_true(world, prepared, data, record)), None)


def harvest_unmet(
    world: CallWorld,
    prepared: Prepared,
    sessions: OracleSessions,
    made: Invocation,
    record: SessionRecord,
) -> PaidAnswer | None:
    """The whole answer of an earlier call that misses its contract: it was paid for as well."""
    for data in _answers(world, sessions, made, record):
        if data.strip() and not looks_cut(prepared, data):
            return PaidAnswer(data, missing=missing_in(world, prepared, data))
    return None


def _answers(
    world: CallWorld, sessions: OracleSessions, made: Invocation, record: SessionRecord | None
) -> tuple[bytes, ...]:
    """What is sure to come from an earlier call, the best first."""
    sha256 = made.outcome.sha256 if made.outcome and made.outcome.ok else None
    if record is not None and record.status != COMPLETED:
        record = None
    log = answer_in_log(sessions.log(record.id)) if record else None
    told = None if log is None else log.encode()
    if sha256 is not None:
        found = [data for data in _written(world, made) if sha256_bytes(data) == sha256]
    elif told is not None:
        found = [data for data in _written(world, made) if data.strip() == told.strip()]
    elif record is not None:
        found = list(_written(world, made, fresh=True))
    else:
        return ()
    return (*found, *(() if told is None else (told,)))


def promised_file(world: CallWorld, prepared: Prepared, made: Invocation) -> PaidAnswer | None:
    """The answer of a call that left no session record: the file that it promised.

    Nothing but the file speaks for it, so everything about that has to: the call is one of this
    run and its tool was started; the file was written after that, and is none of those that were
    moved or copied away before; no other call and no other step writes there; the contract
    demands sections; and the file is whole to its very end. Where it lacks some of the sections it
    is an answer that misses its contract. A clock that was set back in between makes it look older
    than the call: then nothing is sure, and the question is asked.
    """
    intent = made.intent
    if intent is None or intent.key is None or intent.process is None or intent.output_path is None:
        return None
    if not world.options.verify or not prepared.contracts[0].sections:
        return None
    if any(_later(world, intent)) or _writers(world, intent.output_path) - {intent.step}:
        return None
    older = set(_moved_away(world, intent))
    found = (data for data in _written(world, made, fresh=True) if sha256_bytes(data) not in older)
    whole = [data for data in found if is_an_answer(prepared, data)]
    for data in whole:
        if is_true(world, prepared, data, None):
            return PaidAnswer(data)
    for data in whole:
        if missing := missing_in(world, prepared, data):
            return PaidAnswer(data, missing=missing)
    return None


def _writers(world: CallWorld, path: str) -> set[str]:
    """The steps that declare an output, or were seen to write it."""
    declared = {
        str(step.id)
        for step in world.pack.steps
        for output in step.outputs
        if output.path.value is not None
        and posixpath.normpath(output.path.value) == posixpath.normpath(path)
    }
    called = {
        name
        for name, step in world.journal.state.steps.items()
        for made in step.invocations
        if made.intent is not None and made.intent.output_path == path
    }
    return declared | called


def _moved_away(world: CallWorld, intent: j.InvocationIntent) -> Iterator[str]:
    """Hashes of what stood at the path before the call, or was left there by a try that failed."""
    name = f"{intent.step}.{intent.attempt}"
    kept = world.run_dir / BACKUPS / name / (intent.output_path or "")
    aside = answer_files.aside_folder(world, intent.step, intent.attempt)
    for path in (kept, *(aside.iterdir() if aside.is_dir() else ())):
        data = read_content(path).data if path.is_file() else None
        if data is not None:
            yield sha256_bytes(data)


def _of_others(world: CallWorld, prepared: Prepared) -> set[str]:
    """Sessions that are known to have answered something else, or somebody else."""
    ended = {made.outcome.session for made in _all(world) if made.outcome}
    retries = (made.intent.retry for made in _all(world) if made.intent and made.intent.retry)
    ended |= {session for retry in retries for session in retry.sessions}
    ours = (one.entry for one in world.cache.entries() if one.foreign is None)
    kept = {entry.session for entry in ours if entry.key != prepared.key_value}
    return {session for session in ended | kept if session is not None}


def _later(world: CallWorld, intent: j.InvocationIntent) -> Iterator[str]:
    """When later calls for the same file began."""
    for made in _all(world):
        other = made.intent
        if other and other.output_path == intent.output_path and other.at > intent.at:
            yield other.at


def _all(world: CallWorld) -> Iterator[Invocation]:
    for step in world.journal.state.steps.values():
        yield from step.invocations


def _written(world: CallWorld, made: Invocation, *, fresh: bool = False) -> Iterator[bytes]:
    """What is at the path of an answer, was moved from there to quarantine, or copied to the run.

    With `fresh` only what was written since the call began: an older file may be back in its place.
    Nor is it what a rehearsal in the project itself has put there meanwhile.
    """
    call = made.intent or made.outcome
    assert call is not None
    for path in _places(world, call):
        try:
            data = files.read(path) if path.is_file() and stays_inside(world.root, path) else None
            if data is not None and not (fresh and _is_another(path, data, call.at)):
                yield data
        except (OraclePackError, OSError):
            continue


def _places(world: CallWorld, call: j.InvocationIntent | j.InvocationOutcome) -> Iterator[Path]:
    step = world.journal.state.step(call.step)
    if call.output_path is None:
        return
    yield world.root / call.output_path
    moved = [move for event in step.quarantined for move in event.moves]
    for move in reversed(moved):
        if move.source == call.output_path:
            yield world.root / move.target
    for output in step.outputs:
        if output.declared_path == call.output_path:
            yield world.run_dir / output.path


def _is_another(path: Path, data: bytes, began: str) -> bool:
    """A file is not the answer of a call that began then."""
    return _moment(path) < began[:19] or is_rehearsed(data.decode("utf-8", "replace"))


def _moment(path: Path) -> str:
    return rfc3339(datetime.fromtimestamp(path.stat().st_mtime, UTC))
