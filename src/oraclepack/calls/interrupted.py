"""What became of a call that was cut off: by a kill, a time-out, a lost connection.

Its answer is taken from the folder of the call, from oracle's record of the session, from the
provider by the id of the response, or from the conversation in the browser. While it may still
come it is waited for; what nobody can tell is decided by `--on-unknown`.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from oraclepack.calls.adoption_rules import (
    Adoption,
    LiveProcesses,
    OnUnknown,
    adoption,
    answer_in_log,
    is_given_up,
    matching,
    session_id,
)
from oraclepack.calls.call import Call, Ended, Found, Held
from oraclepack.calls.call_folder import CallFolder
from oraclepack.calls.context import CallContext
from oraclepack.calls.decisions import RETRY, decide
from oraclepack.calls.live_call import LiveCall, ToolRun
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.stored_answers import is_true, missing_in
from oraclepack.calls.truth import COMPLETED, has_saved
from oraclepack.calls.unmet_answers import is_an_answer, looks_cut, next_retry, with_hash
from oraclepack.calls.waiting import WaitDeadline, recorded_wait
from oraclepack.engines import responses
from oraclepack.engines.responses import ResponseState, UnknownResponse
from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import AWAITED, UNDECIDED, CallIdentity, CallWait, Wait
from oraclepack.journal.step_state import Invocation
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system.clock import rfc3339
from oraclepack.system.machine import ProcessLocation, process_location, this_machine
from oraclepack.system.path_jail import AllowedPath, jail, read_content
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_failures import Failure, FailureClass, classify
from oraclepack.tools.oracle_sessions import (
    UNFINISHED,
    OracleSessions,
    SessionRecord,
    is_alive,
    printed_ids,
    worker_is_alive,
)
from oraclepack.tools.providers import environment_of
from oraclepack.tools.tool_names import ORACLE

RESPONSE_CANCELLED = "RESPONSE_CANCELLED"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two looks at the process of an earlier call: it may be about to end, or not."""
_POLL_SECONDS = 0.5
_MOST_TROUBLES = 5
"""Requests in a row that no provider answered, after which nothing is known of a response."""
_HARVEST_PATIENCE = 600.0
_UNKNOWN = "it is unknown whether an earlier call of this question was paid for"
_TAKEN = "is the answer of an earlier call"


def interrupted(call: Call) -> Found | Held | None:
    """The answer of a call that was cut off; those without one are closed."""
    for earlier in open_calls(call):
        if call.claim.open_call is None and _is_known_to_have_ended(call.context, earlier):
            call.close(earlier, session_of(call, earlier))
            continue
        found = _settle(call, earlier)
        if isinstance(found, Held):
            return found
        if isinstance(found, Found):
            if found.missing:
                _count_retry(call, earlier, found)
            return replace(found, earlier=earlier)
        verdict = f"its provider says: {found.verdict.message}" if found.verdict else ""
        call.close(earlier, session_of(call, earlier), verdict)
        call.force |= found.force
        call.because = call.because or found.decided or verdict
    return None


def settle_earlier(call: Call) -> None:
    """Settle the money of earlier calls: their question is answered, so they have ended."""
    for earlier in open_calls(call):
        call.settle_money(earlier, session_of(call, earlier))


def open_calls(call: Call) -> list[Invocation]:
    """Calls of the same question without a known end, the last one first.

    Those of this run, and the one that the claim names, perhaps of another run.
    """
    calls = list(_left_open(call.context, call.prepared))
    noted = call.claim.open_call
    if noted is not None and not any(_is_same(one.intent, noted) for one in calls):
        calls.append(Invocation(noted.attempt, noted.call, noted))
    return sorted(calls, key=lambda one: one.intent.at if one.intent else "", reverse=True)


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


def _count_retry(call: Call, earlier: Invocation, found: Found) -> None:
    """The retry that is due after the short answer of an interrupted call."""
    before = earlier.intent.retry if earlier.intent else None
    after = next_retry(before, found.data, found.record)
    if call.retry is None or call.retry.number <= after.number:
        call.retry = after


def _settle(call: Call, earlier: Invocation) -> Found | Held | Ended:
    """What has become of an earlier call, by its session, its process and its own folder."""
    deadline = WaitDeadline(call.context)
    intent = earlier.intent
    process = intent.process if intent else None
    asked = intent.at if intent else ""
    while True:
        record = session_of(call, earlier)
        processes = _live_processes(record, process)
        if not processes.caller or deadline.is_at_its_end:
            found = _answer_of(call, earlier, record, processes)
            if found is not None:
                return found
        identity = identity_of(call.context, intent)
        decision = adoption(
            record,
            processes,
            waits=not deadline.is_at_its_end,
            has_begun=identity.session is not None,
        )
        if decision in {Adoption.WAIT, Adoption.ATTACH}:
            if not _waited(call, decision, record, process, deadline):
                return call.stopped()
            continue
        if decision is not Adoption.HARVEST:
            beyond = look_beyond(call, identity, record, deadline, asked)
            if beyond is not None:
                return beyond
        if decision is Adoption.UNKNOWN:
            return _undecided(call, record.id if record else "?", asked)
        return Ended(force=decision is Adoption.FORCE)


def look_beyond(
    call: Call,
    identity: CallIdentity,
    record: SessionRecord | None,
    deadline: WaitDeadline,
    asked: str,
) -> Found | Held | Ended | None:
    """Where a tool has ended without an answer: what its provider or the browser has of one.

    None where neither can have one.
    """
    if identity.response is not None:
        return _settle_response(call, identity, record, deadline, asked)
    if record is not None and record.is_submitted:
        return _harvest_browser(call, record, asked)
    return None


def identity_of(context: CallContext, intent: j.InvocationIntent | None) -> CallIdentity:
    """The names under which a call can be found; also what its tool printed when we were killed."""
    recorded = (intent.identity if intent else None) or CallIdentity()
    if intent is None or intent.private is None:
        return recorded
    printed = CallFolder(context.root, intent.private).printed()
    ids = printed_ids(printed)
    is_asked_for = recorded.endpoint is not None
    return replace(
        recorded,
        session=recorded.session or session_id(printed),
        response=recorded.response or (ids.response if is_asked_for else None),
    )


def session_in(sessions: OracleSessions, folder: CallFolder) -> SessionRecord | None:
    """The session of a try: the one that writes to its folder, by the name that it has printed."""
    named = session_id(folder.printed())
    record = sessions.record(named) if named else None
    if record is not None and (record.output_path is None or folder.is_of(record.output_path)):
        return record
    return next((one for one in sessions.records() if folder.is_of(one.output_path)), None)


def session_of(call: Call, invocation: Invocation) -> SessionRecord | None:
    """The session of an earlier call of the same question."""
    sessions = _sessions(call)
    if invocation.outcome is not None and invocation.outcome.session is not None:
        return sessions.record(invocation.outcome.session)
    intent, root = invocation.intent, call.context.root
    if intent is None:
        return None
    if intent.private is not None:
        return session_in(sessions, CallFolder(root, intent.private))
    # Of oraclepack 0.2, whose tools wrote to the declared path.
    path = str(root.resolve() / intent.output_path) if intent.output_path else None
    return matching(sessions.records(), call.prepared.question.prompt, path, intent.at)


def _sessions(call: Call) -> OracleSessions:
    return OracleSessions(oracle_home(call.prepared.call.env))


def _answer_of(
    call: Call, earlier: Invocation, record: SessionRecord | None, processes: LiveProcesses
) -> Found | None:
    """The answer of an earlier call, whether it meets its contract or not; None without one."""
    if record is not None and record.status not in UNFINISHED:
        return harvest(call, earlier, record)
    # Oracle writes the file some milliseconds before its record says so.
    is_over = processes.is_named and processes.caller is False
    return _finished_file(call, earlier.intent, record) if is_over else None


def harvest(call: Call, earlier: Invocation, record: SessionRecord | None) -> Found | None:
    """The whole answer of an earlier call, with the sections that it lacks; None where none is.

    A session without tokens was cut off or empty: that is asked again, as in the call itself.
    """
    if record is not None and record.output_tokens == 0:
        return None
    context, prepared = call.context, call.prepared
    answers = list(_answers(call, earlier, record))
    for data in answers:
        if is_true(context, prepared, data, record):
            return Found(data=data, note=_TAKEN, record=record, is_new=True)
    for data in answers:
        if data.strip() and not looks_cut(prepared, data):
            missing = missing_in(context, prepared, data)
            return Found(data=data, note=_TAKEN, missing=missing, record=record, is_new=True)
    return None


def _answers(call: Call, invocation: Invocation, record: SessionRecord | None) -> Iterator[bytes]:
    """What is sure to come from an earlier call, the best first."""
    context = call.context
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
    logged = _printed(context, intent) or answer_in_log(_sessions(call).log(record.id))
    if logged is not None:
        yield logged.encode()


def _finished_file(
    call: Call, intent: j.InvocationIntent | None, record: SessionRecord | None
) -> Found | None:
    """The answer of a call whose session record is missing or unfinished.

    The file lies in the folder of the call alone, so it is its answer. It is whole if the tool has
    said so; otherwise it must have the sections that its contract demands, and no sign of a cut.
    One that lacks a section beside an unfinished session may be cut off.
    """
    if intent is None or intent.private is None:
        return None
    context, prepared = call.context, call.prepared
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
    return Found(
        data=data, note=_TAKEN, missing=missing, record=record, is_new=True, is_proven=is_proven
    )


def _written(context: CallContext, intent: j.InvocationIntent | None) -> bytes | None:
    """What the tool of a call has written in its folder."""
    if intent is None or intent.private is None or intent.output_path is None:
        return None
    output = AllowedPath(context.root / intent.output_path, intent.output_path)
    return CallFolder(context.root, intent.private).read(output)


def _printed(context: CallContext, intent: j.InvocationIntent | None) -> str | None:
    """The whole answer as the tool of a call has printed it."""
    if intent is None or intent.private is None:
        return None
    return answer_in_log(CallFolder(context.root, intent.private).printed())


def _written_before_private_outputs(
    context: CallContext, intent: j.InvocationIntent
) -> bytes | None:
    """The file at the declared path, if it was written since a call of oraclepack 0.2 began."""
    place = jail(context.root, intent.output_path or "")
    if not isinstance(place, AllowedPath):
        return None
    data = read_content(place.path).data
    return data if data is not None and _moment(place.path) >= intent.at[:19] else None


def _moment(path: Path) -> str:
    return rfc3339(datetime.fromtimestamp(path.stat().st_mtime, UTC))


def _waited(
    call: Call,
    decision: Adoption,
    record: SessionRecord | None,
    process: ProcessIdentity | None,
    deadline: WaitDeadline,
) -> bool:
    """Wait for the process of an earlier call, or for its worker; False when given up."""
    made = call.prepared.call
    if decision is Adoption.ATTACH and record is not None:
        note = f"session {record.id} still works on this question; waiting for it"
        wait = still_running(made, record.worker_pid)
    else:
        note = "an earlier call of this question still runs; waiting for it"
        wait = still_running(made, process.pid if process else None)
    with recorded_wait(call.context, made, call.shim, Wait.EARLIER_CALL, note, wait) as pause:
        if decision is Adoption.ATTACH and record is not None:
            return stay_with(call.prepared, pause, deadline, record) is not None
        return _wait(pause, deadline, process)


def _live_processes(record: SessionRecord | None, process: ProcessIdentity | None) -> LiveProcesses:
    worker = record.worker_pid if record else None
    return LiveProcesses(
        caller=is_alive(process) if process else None,
        is_named=process is not None,
        worker=worker_is_alive(worker, process.machine if process else None) if worker else None,
    )


def _wait(
    pause: Callable[[float], bool], deadline: WaitDeadline, process: ProcessIdentity | None
) -> bool:
    """Wait until an earlier call's process has ended or the time is over; False when given up."""
    seconds = _FIRST_PAUSE
    while process and is_alive(process) and not deadline.is_at_its_end:
        if not pause(seconds):
            return False
        seconds = min(2 * seconds, _LONGEST_PAUSE)
    return True


def still_running(call: LiveCall, pid: int | None, what: str = "earlier call") -> CallWait:
    """The wait for a process that may still write the answer."""
    reason = f"{what} still running" + (f", pid {pid}" if pid is not None else "")
    return CallWait(call=call.number, reason=reason, pid=pid)


def stay_with(
    prepared: PreparedCall,
    pause: Callable[[float], bool],
    deadline: WaitDeadline,
    record: SessionRecord,
) -> SessionRecord | None:
    """The record of a detached session once its worker has ended; None when given up."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    now = record
    while now.status in UNFINISHED and worker_is_alive(now.worker_pid or 0):
        if deadline.is_at_its_end:
            return now
        if not pause(_POLL_SECONDS):
            return None
        now = sessions.record(record.id) or now
    return sessions.record(record.id) or now


def _settle_response(
    call: Call,
    identity: CallIdentity,
    record: SessionRecord | None,
    deadline: WaitDeadline,
    asked: str,
) -> Found | Held | Ended:
    """Ask the provider what became of a response, and wait while it computes it."""
    name = identity.response or ""
    said = _await_response(call, identity, deadline)
    if said is None:
        return call.stopped()
    if isinstance(said, UnknownResponse):
        return _undecided(call, identity.session or "?", asked, f"response {name}: {said.reason}")
    match said.state:
        case ResponseState.RUNNING:
            message = (
                f"its provider still computes response {name}, which is paid for; the same "
                "command goes on waiting"
            )
            return Held(StepError(code=AWAITED, message=message, transient=True))
        case ResponseState.COMPLETED if said.text.strip():
            data = said.text.encode()
            return Found(
                data=data,
                note="is the answer that its provider had ready",
                missing=missing_in(call.context, call.prepared, data),
                record=call.completed(record, identity.session or name, said.usage),
                is_new=True,
            )
    is_marked = record is not None and record.status in UNFINISHED
    return Ended(force=is_marked, verdict=_verdict(name, said))


def _verdict(name: str, said: responses.Response) -> Failure:
    """A response that ended without an answer, as a failure of its call."""
    message = f"response {name} is {said.state}" + (f": {said.detail}" if said.detail else "")
    match said.state:
        case ResponseState.COMPLETED:
            return Failure("EMPTY_ANSWER", FailureClass.TRANSIENT, f"{message}, without a text")
        case ResponseState.INCOMPLETE:
            return Failure("INCOMPLETE", FailureClass.FINAL, message)
        case ResponseState.CANCELLED:
            return Failure(RESPONSE_CANCELLED, FailureClass.FINAL, message)
    known = classify(f"ERROR: {said.detail}", "")
    if known.kind is FailureClass.UNKNOWN:
        return Failure("RESPONSE_FAILED", FailureClass.FINAL, message)
    return replace(known, message=message)


def _await_response(
    call: Call, identity: CallIdentity, deadline: WaitDeadline
) -> responses.Response | UnknownResponse | None:
    """The end of a response, or what is known of it when the time is over; None when given up."""
    address = _address(call.prepared, identity)
    if isinstance(address, UnknownResponse):
        return address
    made = call.prepared.call
    note = f"waiting for the answer that was paid for ({identity.response})"
    wait = CallWait(call=made.number, reason="answer that was paid for")
    troubles, seconds = 0, responses.FIRST_PAUSE
    with recorded_wait(call.context, made, call.shim, Wait.EARLIER_CALL, note, wait) as pause:
        while True:
            if not pause(min(seconds, max(deadline.seconds_left, responses.FIRST_PAUSE))):
                return _cancel_if_wanted(call, address)
            said = responses.retrieve(address)
            if isinstance(said, UnknownResponse):
                troubles += 1
                if not said.is_transient or troubles == _MOST_TROUBLES:
                    return said
            elif said.state is not ResponseState.RUNNING:
                return said
            else:
                troubles = 0
            if deadline.is_at_its_end:
                return said
            seconds = min(2 * seconds, responses.LONGEST_PAUSE)


def _address(
    prepared: PreparedCall, identity: CallIdentity
) -> responses.ResponseAddress | UnknownResponse:
    """Where a response can be asked for: as it was recorded, and only if its key belongs there."""
    endpoint = identity.endpoint or ""
    today = prepared.route.responses if prepared.route else ""
    if endpoint != today:
        where = today or "another route"
        reason = f"it was asked at {endpoint}, and the settings now lead to {where}: no key is sent"
        return UnknownResponse(reason)
    environment = environment_of(prepared.around, prepared.call.env)
    return responses.ResponseAddress(
        endpoint, identity.response or "", prepared.api_key, environment
    )


def cancel_response(call: Call, identity: CallIdentity) -> Failure | None:
    """`runs stop --now`: the provider is told to give a response up; its verdict if it did."""
    address = _address(call.prepared, identity)
    said = None if isinstance(address, UnknownResponse) else _cancel_if_wanted(call, address)
    if said is None or said.state in {ResponseState.RUNNING, ResponseState.COMPLETED}:
        return None
    return _verdict(identity.response or "", said)


def _cancel_if_wanted(call: Call, address: responses.ResponseAddress) -> responses.Response | None:
    step = call.prepared.call.step
    if not call.context.cancels(step):
        call.say(f"response {address.id} is left to the next run, which waits for it")
        return None
    said = responses.cancel(address)
    words = said.reason if isinstance(said, UnknownResponse) else f"it is {said.state}"
    message = f"response {address.id} was cancelled; its provider says: {words}"
    call.context.record(j.WarningRecorded(step=step, code="response_cancelled", message=message))
    call.say(message)
    return None if isinstance(said, UnknownResponse) else said


def _harvest_browser(call: Call, record: SessionRecord, asked: str) -> Found | Held | Ended:
    """Let oracle read the conversation of a browser session again.

    Its prompt was sent, so that nothing is asked again without a person's word.
    """
    context, prepared = call.context, call.prepared
    folder = CallFolder.make(context, prepared.call, 0, prepared.outputs)
    place = folder.place(prepared.outputs[0])
    order = ToolRun(
        ORACLE,
        ("session", record.id, "--harvest", "--write-output", str(place)),
        prepared.call.cwd,
        prepared.call.env,
        timeout=_HARVEST_PATIENCE,
        hidden=True,
    )
    call.say(f"reading the conversation of session {record.id} again")
    end = call.shim.run(order, lambda _: None)
    data = folder.read(prepared.outputs[0])
    folder.remove()
    if end.stopped:
        return call.stopped()
    now = _sessions(call).record(record.id)
    is_its_own = end.exit_code == 0 and now is not None and now.is_harvested
    if not is_its_own or data is None or not is_an_answer(prepared, data):
        reason = "its conversation has no whole answer that is sure to be its own"
        return _undecided(call, record.id, asked, reason)
    if missing_in(context, prepared, data):
        return _undecided(call, record.id, asked, "what its conversation has lacks a section")
    return Found(
        data=data,
        note="is the answer in the conversation of an earlier call",
        record=call.completed(record, record.id, None),
        is_new=True,
    )


def _undecided(call: Call, name: str, asked: str, reason: str = "") -> Held | Ended:
    """What the user wants where it is unknown whether an earlier call will still be answered."""
    options = call.context.options
    if is_given_up(asked, call.context.clock.now(), options.unknown_after):
        why = f"--unknown-after {options.unknown_after:g}s; asked {asked}"
        return Ended(force=True, decided=why)
    doubt = f"it is unknown whether session {name} of this question will still be answered"
    doubt += f" ({reason})" if reason else ""
    match options.on_unknown:
        case OnUnknown.RETRY:
            return Ended(force=True, decided="--on-unknown retry")
        case OnUnknown.ASK:
            question = f"{doubt}; ask again (it may be paid for twice)?"
            decision = decide(call.context, call.prepared.call, call.shim, question)
            if decision == RETRY:
                return Ended(force=True, decided="the person who was asked")
            if decision is None and not call.shim.pause(0):
                return call.stopped()
    call.say(f"{doubt}; see `oracle session {name}`, or pass --on-unknown retry")
    message = f"{_UNKNOWN} ({reason})" if reason else _UNKNOWN
    return Held(StepError(code=UNDECIDED, message=message))
