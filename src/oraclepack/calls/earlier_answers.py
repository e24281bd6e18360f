"""What an earlier call of a question has left: its session, and its answer."""

from collections.abc import Iterator
from pathlib import Path

from oraclepack.calls.adoption_rules import answer_in_log, matching, session_id
from oraclepack.calls.call_folder import CallFolder
from oraclepack.calls.context import CallContext
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.stored_answers import is_true, missing_in
from oraclepack.calls.truth import COMPLETED, has_saved
from oraclepack.calls.unmet_answers import PaidAnswer, is_an_answer, looks_cut, with_hash
from oraclepack.journal.events import InvocationIntent
from oraclepack.journal.step_state import Invocation
from oraclepack.system.clock import rfc3339
from oraclepack.system.path_jail import AllowedPath, jail, read_content
from oraclepack.tools.oracle_sessions import OracleSessions, SessionRecord


def session_in(sessions: OracleSessions, folder: CallFolder) -> SessionRecord | None:
    """The session of a try: the one that writes to its folder, by the name that it has printed."""
    named = session_id(folder.printed())
    record = sessions.record(named) if named else None
    if record is not None and (record.output_path is None or folder.is_of(record.output_path)):
        return record
    return next((one for one in sessions.records() if folder.is_of(one.output_path)), None)


def session_of(
    context: CallContext, prepared: PreparedCall, sessions: OracleSessions, invocation: Invocation
) -> SessionRecord | None:
    """The session of an earlier call of the same question."""
    if invocation.outcome is not None and invocation.outcome.session is not None:
        return sessions.record(invocation.outcome.session)
    intent = invocation.intent
    if intent is None:
        return None
    if intent.private is not None:
        return session_in(sessions, CallFolder(context.root, intent.private))
    # Of oraclepack 0.2, whose tools wrote to the declared path.
    path = str(context.root.resolve() / intent.output_path) if intent.output_path else None
    return matching(sessions.records(), prepared.question.prompt, path, intent.at)


def has_begun(context: CallContext, intent: InvocationIntent | None) -> bool:
    """Whether the tool of a call is known to have begun a session: it has printed its name."""
    if intent is None or intent.private is None:
        return False
    if intent.identity is not None and intent.identity.session is not None:
        return True
    return session_id(CallFolder(context.root, intent.private).printed()) is not None


def harvest(
    context: CallContext,
    prepared: PreparedCall,
    sessions: OracleSessions,
    invocation: Invocation,
    record: SessionRecord | None,
) -> PaidAnswer | None:
    """The whole answer of an earlier call, with the sections that it lacks; None where none is.

    A session without tokens was cut off or empty: that is asked again, as in the call itself.
    """
    if record is not None and record.output_tokens == 0:
        return None
    answers = list(_answers(context, sessions, invocation, record))
    for data in answers:
        if is_true(context, prepared, data, record):
            return PaidAnswer(data)
    for data in answers:
        if data.strip() and not looks_cut(prepared, data):
            return PaidAnswer(data, missing=missing_in(context, prepared, data))
    return None


def _answers(
    context: CallContext,
    sessions: OracleSessions,
    invocation: Invocation,
    record: SessionRecord | None,
) -> Iterator[bytes]:
    """What is sure to come from an earlier call, the best first."""
    outcome, intent = invocation.outcome, invocation.intent
    if outcome is not None and outcome.ok and outcome.output_path is not None:
        step = context.journal.state.step(outcome.step)
        kept = with_hash(context, step, outcome.output_path, outcome.sha256)
        if kept is not None:
            yield kept
    if record is None or record.status != COMPLETED:
        return
    if intent is not None and intent.private is None and outcome is None:
        written = _written_before_private_outputs(context, intent)
    else:
        written = _written(context, intent)
    if written is not None:
        yield written
    logged = _printed(context, intent) or answer_in_log(sessions.log(record.id))
    if logged is not None:
        yield logged.encode()


def finished_file(
    context: CallContext,
    prepared: PreparedCall,
    intent: InvocationIntent | None,
    record: SessionRecord | None,
) -> tuple[PaidAnswer, bool] | None:
    """The answer of a call whose session record is missing or unfinished; whether it is proven.

    The file lies in the folder of the call alone, so it is its answer. It is whole if the tool has
    said so; otherwise it must have the sections that its contract demands, and no sign of a cut.
    One that lacks a section beside an unfinished session may be cut off.
    """
    if intent is None or intent.private is None:
        return None
    data, printed = _written(context, intent), _printed(context, intent)
    is_proven = printed is not None or has_saved(CallFolder(context.root, intent.private).printed())
    if data is None or not data.strip():
        data = None if printed is None else printed.encode()
    is_judged = context.options.verify and bool(prepared.contracts[0].sections)
    if data is None or not (is_proven or (is_judged and is_an_answer(prepared, data))):
        return None
    missing = missing_in(context, prepared, data)
    if missing and record is not None and not is_proven:
        return None
    return PaidAnswer(data, missing=missing), is_proven


def _written(context: CallContext, intent: InvocationIntent | None) -> bytes | None:
    """What the tool of a call has written in its folder."""
    if intent is None or intent.private is None or intent.output_path is None:
        return None
    output = AllowedPath(context.root / intent.output_path, intent.output_path)
    return CallFolder(context.root, intent.private).read(output)


def _printed(context: CallContext, intent: InvocationIntent | None) -> str | None:
    """The whole answer as the tool of a call has printed it."""
    if intent is None or intent.private is None:
        return None
    return answer_in_log(CallFolder(context.root, intent.private).printed())


def _written_before_private_outputs(context: CallContext, intent: InvocationIntent) -> bytes | None:
    """The file at the declared path, if it was written since a call of oraclepack 0.2 began."""
    place = jail(context.root, intent.output_path or "")
    if not isinstance(place, AllowedPath):
        return None
    data = read_content(place.path).data
    return data if data is not None and _moment(place.path) >= intent.at[:19] else None


def _moment(path: Path) -> str:
    from datetime import UTC, datetime

    return rfc3339(datetime.fromtimestamp(path.stat().st_mtime, UTC))
