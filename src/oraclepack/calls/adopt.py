"""Adopt an earlier call without a stored answer, after a crash, instead of paying again."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from oraclepack.calls import ledger
from oraclepack.calls.adoption_rules import (
    Adoption,
    LiveProcesses,
    OnUnknown,
    adoption,
    is_given_up,
)
from oraclepack.calls.ask import stay_with, still_running
from oraclepack.calls.call_budget import settle_call
from oraclepack.calls.context import CallContext
from oraclepack.calls.decisions import RETRY, decide
from oraclepack.calls.earlier_answers import finished_file, harvest, has_begun, session_of
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.publication import publish
from oraclepack.calls.stored_answers import keep, may_reuse
from oraclepack.calls.unmet_answers import PaidAnswer
from oraclepack.calls.waiting import WaitDeadline, recorded_wait, settle_unkeyed
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Cache, Wait
from oraclepack.journal.step_state import Invocation
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system.machine import ProcessLocation, process_location, this_machine
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_sessions import (
    UNFINISHED,
    OracleSessions,
    SessionRecord,
    is_alive,
    worker_is_alive,
)
from oraclepack.tools.tool_names import ORACLE

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
    keep(context, prepared, shim, adoption.answer, adoption.record, shared=not adoption.by_file)
    publish(context, prepared.call, prepared.outputs[0], adoption.answer)
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
            found = harvest(context, prepared, sessions, invocation, record)
            if found is not None and not found.missing:
                return AdoptionResult(found.data, record)
    return None


def _settle(
    context: CallContext, prepared: PreparedCall, shim: Shim, earlier: Invocation
) -> AdoptionResult:
    """What has become of an earlier call, by its session, its process and its own folder."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    patience = WaitDeadline(context)
    process = earlier.intent.process if earlier.intent else None
    while True:
        record = session_of(context, prepared, sessions, earlier)
        processes = _live_processes(record, process)
        if not processes.caller or patience.is_at_its_end:
            found = _answer_of(context, prepared, sessions, earlier, record, processes)
            if found is not None:
                return found
        decision = adoption(
            record,
            processes,
            waits=not patience.is_at_its_end,
            has_begun=has_begun(context, earlier.intent),
        )
        if decision is Adoption.UNKNOWN:
            return _undecided(context, prepared.call, shim, record, earlier)
        if decision not in {Adoption.WAIT, Adoption.ATTACH}:
            return AdoptionResult(force=decision is Adoption.FORCE)
        if not _waited(context, prepared, shim, decision, record, process, patience):
            return AdoptionResult(stopped=True)


def _answer_of(
    context: CallContext,
    prepared: PreparedCall,
    sessions: OracleSessions,
    earlier: Invocation,
    record: SessionRecord | None,
    processes: LiveProcesses,
) -> AdoptionResult | None:
    """The answer of an earlier call, whether it meets its contract or not; None without one."""
    if record is not None and record.status not in UNFINISHED:
        answer = harvest(context, prepared, sessions, earlier, record)
        return None if answer is None else _adopted(answer, record)
    # Oracle writes the file some milliseconds before its record says so.
    is_over = processes.is_named and processes.caller is False
    finished = finished_file(context, prepared, earlier.intent, record) if is_over else None
    if finished is None:
        return None
    answer, is_proven = finished
    return _adopted(answer, record, by_file=not is_proven)


def _adopted(
    paid: PaidAnswer, record: SessionRecord | None, *, by_file: bool = False
) -> AdoptionResult:
    if paid.missing:
        return AdoptionResult(record=record, unmet=paid, by_file=by_file)
    return AdoptionResult(paid.data, record, by_file=by_file)


def _waited(
    context: CallContext,
    prepared: PreparedCall,
    shim: Shim,
    decision: Adoption,
    record: SessionRecord | None,
    process: ProcessIdentity | None,
    patience: WaitDeadline,
) -> bool:
    """Wait for the process of an earlier call, or for its worker; False when given up."""
    if decision is Adoption.ATTACH and record is not None:
        note = f"session {record.id} still works on this question; waiting for it"
        wait = still_running(prepared.call, record.worker_pid)
    else:
        note = "an earlier call of this question still runs; waiting for it"
        wait = still_running(prepared.call, process.pid if process else None)
    with recorded_wait(context, prepared.call, shim, Wait.EARLIER_CALL, note, wait) as pause:
        if decision is Adoption.ATTACH and record is not None:
            return stay_with(prepared, pause, patience, record) is not None
        return _wait(pause, patience, process)


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
