"""The answer of an earlier call: from its session, from oracle's log or from the promised file."""

import posixpath
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from oraclepack.calls import answer_files
from oraclepack.calls.adoption_rules import (
    answer_in_log,
    matching,
)
from oraclepack.calls.context import CallContext
from oraclepack.calls.path_writers import others_wrote
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.stored_answers import is_true, missing_in
from oraclepack.calls.truth import COMPLETED
from oraclepack.calls.unmet_answers import PaidAnswer, is_an_answer, looks_cut
from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import BACKUPS
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.system import files
from oraclepack.system.clock import rfc3339
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import read_content, stays_inside
from oraclepack.tools.oracle_sessions import (
    OracleSessions,
    SessionRecord,
)


def session_of(
    context: CallContext, prepared: PreparedCall, sessions: OracleSessions, invocation: Invocation
) -> SessionRecord | None:
    """The session of an earlier call of the same question.

    Oracle's record identifies it only by prompt and path. The same question may have been asked
    about other files since, so sessions that started after a later call, or that belong to
    another call, are ignored.
    """
    if invocation.outcome is not None and invocation.outcome.session is not None:
        return sessions.record(invocation.outcome.session)
    intent = invocation.intent
    if intent is None:
        return None
    path = str(context.root.resolve() / intent.output_path) if intent.output_path else None
    until = min(_later(context, intent), default="")
    question = (prepared.question.prompt, path, intent.at, until)
    ended = _of_others(context)
    records = [
        one for one in sessions.records() if one.id not in ended and matching([one], *question)
    ]
    cache = context.store.cache
    others = cache.answered_another([one.id for one in records], prepared.key_value)
    return matching([one for one in records if one.id not in others], *question)


def harvest(
    context: CallContext,
    prepared: PreparedCall,
    sessions: OracleSessions,
    invocation: Invocation,
    record: SessionRecord | None,
) -> bytes | None:
    """The answer of an earlier call, if one is found that certainly belongs to it."""
    answers = _answers(context, sessions, invocation, record)
    return next((data for data in answers if is_true(context, prepared, data, record)), None)


def harvest_unmet(
    context: CallContext,
    prepared: PreparedCall,
    sessions: OracleSessions,
    invocation: Invocation,
    record: SessionRecord,
) -> PaidAnswer | None:
    """The whole answer of an earlier call that misses its contract: it was paid for as well.

    A session without tokens was cut off or empty: that is asked again, as in the call itself.
    """
    if record.output_tokens == 0:
        return None
    for data in _answers(context, sessions, invocation, record):
        if data.strip() and not looks_cut(prepared, data):
            return PaidAnswer(data, missing=missing_in(context, prepared, data))
    return None


def _answers(
    context: CallContext,
    sessions: OracleSessions,
    invocation: Invocation,
    record: SessionRecord | None,
) -> tuple[bytes, ...]:
    """What is sure to come from an earlier call, the best first."""
    sha256 = invocation.outcome.sha256 if invocation.outcome and invocation.outcome.ok else None
    if record is not None and record.status != COMPLETED:
        record = None
    log = answer_in_log(sessions.log(record.id)) if record else None
    logged = None if log is None else log.encode()
    if sha256 is not None:
        written = [data for data in _written(context, invocation) if sha256_bytes(data) == sha256]
    elif logged is not None:
        written = [data for data in _written(context, invocation) if data.strip() == logged.strip()]
    elif record is not None and not _is_replaced(context, invocation):
        written = list(_written(context, invocation, fresh=True))
    else:
        return ()
    return (*written, *(() if logged is None else (logged,)))


def promised_file(
    context: CallContext, prepared: PreparedCall, invocation: Invocation
) -> PaidAnswer | None:
    """The answer of a call whose session record is missing or unfinished: the promised file.

    The file is the only evidence, so every condition must hold: the call is one of this
    run and its tool was started; the file was written after that, and is none of those that were
    moved or copied away before; no other call, step or run writes there; the contract
    demands sections; and the file is whole to its very end. Where it lacks some of the sections it
    is an answer that misses its contract. A clock that was set back in between makes it look older
    than the call: then nothing is sure, and the question is asked.
    """
    intent = invocation.intent
    if intent is None or intent.key is None or intent.process is None or intent.output_path is None:
        return None
    if not context.options.verify or not prepared.contracts[0].sections:
        return None
    others = _writers(context, intent.output_path) - {intent.step}
    if others or any(_later(context, intent)) or _is_replaced(context, invocation):
        return None
    displaced = set(_moved_away(context, intent))
    fresh_files = (
        data
        for data in _written(context, invocation, fresh=True)
        if sha256_bytes(data) not in displaced
    )
    whole = [data for data in fresh_files if is_an_answer(prepared, data)]
    for data in whole:
        if is_true(context, prepared, data, None):
            return PaidAnswer(data)
    for data in whole:
        if missing := missing_in(context, prepared, data):
            return PaidAnswer(data, missing=missing)
    return None


def _is_replaced(context: CallContext, invocation: Invocation) -> bool:
    """Whether a run of another pack may have written to the file of a call since."""
    intent = invocation.intent
    if intent is None or not intent.output_path:
        return False
    return others_wrote(context.root, context.run_id, intent.output_path, intent.at)


def _writers(context: CallContext, path: str) -> set[str]:
    """The steps that declare an output, or were seen to write it."""
    declared = {
        str(step.id)
        for step in context.pack.steps
        for output in step.outputs
        if output.path.value is not None
        and posixpath.normpath(output.path.value) == posixpath.normpath(path)
    }
    called = {
        name
        for name, step in context.journal.state.steps.items()
        for invocation in step.invocations
        if invocation.intent is not None and invocation.intent.output_path == path
    }
    return declared | called


def _moved_away(context: CallContext, intent: j.InvocationIntent) -> Iterator[str]:
    """Hashes of what was at the path before the call, or was left there by a try that failed."""
    name = f"{intent.step}.{intent.attempt}"
    backup = context.run_dir / BACKUPS / name / (intent.output_path or "")
    folder = answer_files.displaced_folder(context, intent.step, intent.attempt)
    if intent.retry is not None and intent.retry.unmet_sha256 is not None:
        yield intent.retry.unmet_sha256  # it may be back in its place
    for path in (backup, *(folder.iterdir() if folder.is_dir() else ())):
        data = read_content(path).data if path.is_file() else None
        if data is not None:
            yield sha256_bytes(data)


def _of_others(context: CallContext) -> set[str]:
    """Sessions that are known to have answered another call of this run."""
    ended = {invocation.outcome.session for invocation in _all(context) if invocation.outcome}
    retries = (
        invocation.intent.retry
        for invocation in _all(context)
        if invocation.intent and invocation.intent.retry
    )
    ended |= {session for retry in retries for session in retry.sessions}
    return {session for session in ended if session is not None}


def _later(context: CallContext, intent: j.InvocationIntent) -> Iterator[str]:
    """When later calls for the same file began."""
    for invocation in _all(context):
        other = invocation.intent
        if other and other.output_path == intent.output_path and other.at > intent.at:
            yield other.at


def _all(context: CallContext) -> Iterator[Invocation]:
    for step in context.journal.state.steps.values():
        yield from step.invocations


def _written(
    context: CallContext, invocation: Invocation, *, fresh: bool = False
) -> Iterator[bytes]:
    """What is at the path of an answer, was moved from there to quarantine, or copied to the run.

    With `fresh` only what was written since the call began: an older file may be back in its place.
    Nor is it what a rehearsal in the project itself has put there meanwhile.
    """
    call = invocation.intent or invocation.outcome
    assert call is not None
    for path in _places(context, call):
        try:
            data = files.read(path) if path.is_file() and stays_inside(context.root, path) else None
            if data is not None and not (fresh and _is_another(path, data, call.at)):
                yield data
        except (OraclePackError, OSError):
            continue


def _places(context: CallContext, call: j.InvocationIntent | j.InvocationOutcome) -> Iterator[Path]:
    step = context.journal.state.step(call.step)
    if call.output_path is None:
        return
    yield context.root / call.output_path
    moved = [move for event in step.quarantined for move in event.moves]
    for move in reversed(moved):
        if move.source == call.output_path:
            yield context.root / move.target
    rollback = context.journal.state.rollback
    for undone in reversed(rollback.undone) if rollback else ():
        if undone.path == call.output_path and undone.quarantined_as is not None:
            yield context.root / undone.quarantined_as
    for output in step.outputs:
        if output.declared_path == call.output_path:
            yield context.run_dir / output.path


def _is_another(path: Path, data: bytes, began: str) -> bool:
    """A file is not the answer of a call that began then."""
    return _moment(path) < began[:19] or is_rehearsed(data.decode("utf-8", "replace"))


def _moment(path: Path) -> str:
    return rfc3339(datetime.fromtimestamp(path.stat().st_mtime, UTC))
