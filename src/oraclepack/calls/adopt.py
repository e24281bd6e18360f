"""Adopt an earlier call without a stored answer, after a crash, instead of paying again."""

import posixpath
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls import answer_files, ledger
from oraclepack.calls.adoption_rules import (
    Adoption,
    LiveProcesses,
    OnUnknown,
    adoption,
    answer_in_log,
    is_given_up,
    matching,
)
from oraclepack.calls.ask import stay_with, still_running
from oraclepack.calls.call_budget import settle_call
from oraclepack.calls.context import CallContext
from oraclepack.calls.decisions import RETRY, decide
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.stored_answers import is_true, keep, may_reuse, missing_in
from oraclepack.calls.truth import COMPLETED
from oraclepack.calls.unmet_answers import PaidAnswer, is_an_answer, looks_cut
from oraclepack.calls.waiting import WaitDeadline, recorded_wait, settle_unkeyed
from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import BACKUPS
from oraclepack.journal.statuses import Cache, Wait
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system import files
from oraclepack.system.clock import rfc3339
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.machine import ProcessLocation, process_location, this_machine
from oraclepack.system.path_jail import read_content, stays_inside
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_sessions import (
    UNFINISHED,
    OracleSessions,
    SessionRecord,
    is_alive,
    worker_is_alive,
)
from oraclepack.tools.tool_names import ORACLE


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
    elif record is not None:
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
    moved or copied away before; no other call and no other step writes there; the contract
    demands sections; and the file is whole to its very end. Where it lacks some of the sections it
    is an answer that misses its contract. A clock that was set back in between makes it look older
    than the call: then nothing is sure, and the question is asked.
    """
    intent = invocation.intent
    if intent is None or intent.key is None or intent.process is None or intent.output_path is None:
        return None
    if not context.options.verify or not prepared.contracts[0].sections:
        return None
    if any(_later(context, intent)) or _writers(context, intent.output_path) - {intent.step}:
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
    """Hashes of what stood at the path before the call, or was left there by a try that failed."""
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


_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two looks at the process of an earlier call: it may be about to end, or not."""


class AdoptionResult(msgspec.Struct, frozen=True):
    """The result of looking for an earlier call."""

    answer: bytes | None = None
    record: SessionRecord | None = None
    call: Invocation | None = None
    """Whose answer it is, if that call is still to be closed."""
    by_file: bool = False
    """There is no session record for the answer, so it is not shared with other runs."""
    unmet: PaidAnswer | None = None
    """In place of `answer`: it is whole, and misses its contract."""
    force: bool = False
    """Ask with the tool's force flag, since it would refuse a repeated question."""
    decided: str = ""
    """Who decided to ask although an earlier call has no known end."""
    undecided: bool = False
    stopped: bool = False


def adopt(
    context: CallContext,
    prepared: PreparedCall,
    shim: Shim,
    open_call: j.InvocationIntent | None = None,
) -> AdoptionResult:
    """Adopt or close the calls of the same question that an interrupted command left open.

    `open_call` is the last recorded one, perhaps of another run.
    """
    force, decided = False, ""
    for earlier in _earlier(context, prepared, open_call):
        if open_call is None and _is_known_to_have_ended(context, earlier):
            _close(context, prepared, earlier, AdoptionResult())
            continue
        adoption = _settle(context, prepared, shim, earlier)
        if adoption.undecided or adoption.stopped:
            return adoption
        if adoption.answer is not None or adoption.unmet is not None:
            return replace(adoption, call=earlier)
        _close(context, prepared, earlier, adoption)
        force, decided = force or adoption.force, decided or adoption.decided
    return _answered(context, prepared) or AdoptionResult(force=force, decided=decided)


def take_over(
    context: CallContext, prepared: PreparedCall, shim: Shim, adoption: AdoptionResult
) -> int:
    """Make the answer of an earlier call the answer of this one."""
    assert adoption.answer is not None
    answer_files.publish(prepared.outputs[0], adoption.answer)
    keep(context, prepared, shim, adoption.answer, adoption.record, shared=not adoption.by_file)
    ledger.conclude(
        context,
        prepared,
        ledger.Tally(context),
        cache=Cache.OFF,
        session=adoption.record.id if adoption.record else None,
        answer=adoption.answer,
        usage=adoption.record.usage if adoption.record else None,
        adopted=True,
    )
    close_earlier(context, prepared, adoption)
    return 0


def close_earlier(context: CallContext, prepared: PreparedCall, adoption: AdoptionResult) -> None:
    """Close last: if we are killed earlier, the next run adopts the call again."""
    if adoption.call is not None:
        _close(context, prepared, adoption.call, adoption)


def settle_earlier(
    context: CallContext, prepared: PreparedCall, open_call: j.InvocationIntent | None
) -> None:
    """Settle the money of earlier calls: their question is answered, so they have ended."""
    for earlier in _earlier(context, prepared, open_call):
        _settle_money(context, prepared, earlier)


def _settle_money(
    context: CallContext,
    prepared: PreparedCall,
    earlier: Invocation,
    record: SessionRecord | None = None,
) -> None:
    """What a call used, where its session says so; otherwise its worst case counts as spent."""
    if not earlier.reserved and (earlier.intent is None or earlier.intent.reservation is None):
        return
    if record is None:
        sessions = OracleSessions(oracle_home(prepared.call.env))
        record = session_of(context, prepared, sessions, earlier)
    usage = ledger.with_cost(context, prepared, record.usage if record else None)
    settle_call(context, earlier, usage)


def _close(
    context: CallContext, prepared: PreparedCall, earlier: Invocation, adoption: AdoptionResult
) -> None:
    """Write down how a call of this run has ended; what another run has written is its own."""
    _settle_money(context, prepared, earlier, adoption.record)
    if earlier.intent is not None and _is_of_this_run(context, earlier.intent):
        adopted = adoption.answer is not None or adoption.unmet is not None
        settle_unkeyed(context, earlier.intent)
        ledger.close(context, earlier.intent, adopted=adopted)


def _is_of_this_run(context: CallContext, intent: j.InvocationIntent | None) -> bool:
    if intent is None:
        return False
    own = context.journal.state.step(intent.step).invocations
    return any(invocation.intent == intent for invocation in own)


def _earlier(
    context: CallContext, prepared: PreparedCall, open_call: j.InvocationIntent | None
) -> list[Invocation]:
    """Calls of the same question without a known end, the last one first."""
    calls = list(_left_open(context, prepared))
    if open_call is not None and not any(
        _is_same(invocation.intent, open_call) for invocation in calls
    ):
        calls.append(Invocation(open_call.attempt, open_call.call, open_call))
    return sorted(
        calls,
        key=lambda invocation: invocation.intent.at if invocation.intent else "",
        reverse=True,
    )


def _is_known_to_have_ended(context: CallContext, earlier: Invocation) -> bool:
    """Whether the shared store proves the end of a call that another machine made.

    It was answered, failed, or was given up with a verdict: otherwise its claim would name it.
    """
    intent = earlier.intent
    if intent is None or intent.key is None or intent.process is None:
        return False
    is_elsewhere = (
        process_location(intent.process.machine, this_machine()) is ProcessLocation.ELSEWHERE
    )
    return is_elsewhere and context.store.claims.spans_machines


def _is_same(one: j.InvocationIntent | None, other: j.InvocationIntent) -> bool:
    return one is not None and (one.seq, one.at) == (other.seq, other.at)


def _left_open(context: CallContext, prepared: PreparedCall) -> Iterator[Invocation]:
    """The open calls of this run; only calls with one output file can be identified."""
    if len(prepared.outputs) != 1:
        return
    for step in context.journal.state.steps.values():
        for invocation in step.invocations:
            intent = invocation.intent
            if intent is None or not invocation.is_open or intent.tool != ORACLE:
                continue
            if (intent.step, intent.attempt, intent.call) in context.shared.live:
                continue
            if intent.key == prepared.key_value and (
                intent.key is not None or intent.output_path == prepared.output_path
            ):
                yield invocation


def _answered(context: CallContext, prepared: PreparedCall) -> AdoptionResult | None:
    """An answer to the same question that this run had and could not store.

    The disk was full, for example, or the cache was removed; its file or oracle's session has it.
    """
    key = prepared.key_value
    if key is None or not may_reuse(context, key) or len(prepared.outputs) != 1:
        return None
    sessions = OracleSessions(oracle_home(prepared.call.env))
    for step in context.journal.state.steps.values():
        for invocation in reversed(step.invocations):
            if (
                invocation.outcome is None
                or not invocation.outcome.ok
                or invocation.outcome.key != key
            ):
                continue
            record = session_of(context, prepared, sessions, invocation)
            answer = harvest(context, prepared, sessions, invocation, record)
            if answer is not None:
                return AdoptionResult(answer, record)
    return None


def _settle(
    context: CallContext, prepared: PreparedCall, shim: Shim, earlier: Invocation
) -> AdoptionResult:
    adoption = _by_session(context, prepared, shim, earlier)
    is_unanswered = adoption in (AdoptionResult(), AdoptionResult(force=True))
    if not is_unanswered or not _is_of_this_run(context, earlier.intent):
        return adoption
    process = earlier.intent.process if earlier.intent else None
    sessions = OracleSessions(oracle_home(prepared.call.env))
    is_over = process is not None and is_alive(process) is False
    record = session_of(context, prepared, sessions, earlier)
    # Oracle writes the file some milliseconds before its record says so.
    if not is_over or (record is not None and record.status not in UNFINISHED):
        return adoption
    promised = promised_file(context, prepared, earlier)
    # A file that misses its contract may be cut off: only a completed session could tell.
    if promised is None or (record is not None and promised.missing):
        return adoption
    if promised.missing:
        return AdoptionResult(unmet=promised, by_file=True)
    return AdoptionResult(promised.data, by_file=True)


def _by_session(
    context: CallContext, prepared: PreparedCall, shim: Shim, earlier: Invocation
) -> AdoptionResult:
    """What follows from the session record of an earlier call and from its process."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    patience = WaitDeadline(context)
    process = earlier.intent.process if earlier.intent else None
    while True:
        record = session_of(context, prepared, sessions, earlier)
        match adoption(record, _live_processes(record, process), waits=not patience.is_at_its_end):
            case Adoption.HARVEST if record is not None:
                return _harvested(context, prepared, sessions, earlier, record)
            case Adoption.WAIT:
                note = "an earlier call of this question still runs; waiting for it"
                wait = still_running(prepared.call, process.pid if process else None)
                with recorded_wait(
                    context, prepared.call, shim, Wait.EARLIER_CALL, note, wait
                ) as pause:
                    goes_on = _wait(pause, patience, process)
                if not goes_on:
                    return AdoptionResult(stopped=True)
            case Adoption.ATTACH if record is not None:
                note = f"session {record.id} still works on this question; waiting for it"
                wait = still_running(prepared.call, record.worker_pid)
                with recorded_wait(
                    context, prepared.call, shim, Wait.EARLIER_CALL, note, wait
                ) as pause:
                    ended = stay_with(prepared, pause, patience, record)
                if ended is None:
                    return AdoptionResult(stopped=True)
            case Adoption.UNKNOWN:
                return _undecided(context, prepared.call, shim, record, earlier)
            case Adoption.FORCE:
                return AdoptionResult(force=True)
            case _:
                return AdoptionResult()


def _harvested(
    context: CallContext,
    prepared: PreparedCall,
    sessions: OracleSessions,
    earlier: Invocation,
    record: SessionRecord,
) -> AdoptionResult:
    """The answer of a session that was completed, whether it meets its contract or not."""
    answer = harvest(context, prepared, sessions, earlier, record)
    if answer is not None:
        return AdoptionResult(answer, record)
    unmet = harvest_unmet(context, prepared, sessions, earlier, record)
    return AdoptionResult() if unmet is None else AdoptionResult(record=record, unmet=unmet)


def _live_processes(record: SessionRecord | None, process: ProcessIdentity | None) -> LiveProcesses:
    worker = record.worker_pid if record else None
    return LiveProcesses(
        caller=is_alive(process) if process else None,
        is_named=process is not None,
        worker=worker_is_alive(worker, process.machine if process else None) if worker else None,
    )


def _wait(
    pause: Callable[[float], bool], patience: WaitDeadline, process: ProcessIdentity | None
) -> bool:
    """Wait until an earlier call's process has ended or the time is over; False when given up."""
    seconds = _FIRST_PAUSE
    while process and is_alive(process) and not patience.is_at_its_end:
        if not pause(seconds):
            return False
        seconds = min(2 * seconds, _LONGEST_PAUSE)
    return True


def _undecided(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    record: SessionRecord | None,
    earlier: Invocation,
) -> AdoptionResult:
    name = record.id if record else "?"
    asked = earlier.intent.at if earlier.intent else ""
    if is_given_up(asked, context.clock.now(), context.options.unknown_after):
        why = f"--unknown-after {context.options.unknown_after:g}s; asked {asked}"
        return AdoptionResult(force=True, decided=why)
    doubt = f"it is unknown whether session {name} of this question will still be answered"
    match context.options.on_unknown:
        case OnUnknown.RETRY:
            return AdoptionResult(force=True, decided="--on-unknown retry")
        case OnUnknown.ASK:
            question = f"{doubt}; ask again (it may be paid for twice)?"
            decision = decide(context, call, shim, question)
            if decision == RETRY:
                return AdoptionResult(force=True, decided="the person who was asked")
            if decision is None and not shim.pause(0):
                return AdoptionResult(stopped=True)
    shim.write_stderr(
        f"oraclepack: {doubt}; see `oracle session {name}`, or pass --on-unknown retry\n"
    )
    return AdoptionResult(record=record, undecided=True)
