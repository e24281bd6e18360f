"""One try: the real tool is called once, and its claim is checked."""

from collections.abc import Callable
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from oraclepack.adapters.claims import Claim
from oraclepack.app.calls import answer_files, notes
from oraclepack.app.calls.prepared import Prepared
from oraclepack.app.calls.waiting import Patience, telling_pause, wait_for_slot
from oraclepack.app.calls.world import CallWorld
from oraclepack.core.invocation import LiveCall, Shim, ToolEnd, ToolRun
from oraclepack.intercept.adoption import matching, session_id
from oraclepack.intercept.overrides import effective_argv
from oraclepack.intercept.truth import Proof, judge
from oraclepack.journal.statuses import DETACHED, Wait, Waiting
from oraclepack.system.clock import rfc3339
from oraclepack.tools.argv import table_of
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_sessions import OracleSessions, SessionRecord, worker_is_alive

_LOOK_AGAIN = 0.5


class Tried(msgspec.Struct, frozen=True):
    """How the tool ended, its session, what it left, and what that is worth."""

    end: ToolEnd
    record: SessionRecord | None
    answers: tuple[bytes | None, ...]
    failure: Failure | None
    aside: tuple[answer_files.Aside, ...] = ()

    @property
    def answer(self) -> bytes | None:
        """The answer, where there is exactly one."""
        return self.answers[0] if len(self.answers) == 1 else None


def try_once(
    world: CallWorld,
    prepared: Prepared,
    shim: Shim,
    tally: notes.Tally,
    claim: Claim | None,
    *,
    force: bool,
) -> Tried | None:
    """Wait for a slot and call the tool; None when the call is given up before that."""
    start = tally.now()
    slot = wait_for_slot(world, prepared.call, shim, prepared.limit)
    tally.waited_since(start)
    if slot is None:
        return None
    with slot:
        tally.attempts += 1
        tried = _call(world, prepared, shim, tally, claim, force=force)
        if tried.failure is not None and tried.failure.code == DETACHED:
            # The worker goes on asking, so the slot stays taken.
            return _attach(world, prepared, shim, tried)
        return tried


def _call(
    world: CallWorld,
    prepared: Prepared,
    shim: Shim,
    tally: notes.Tally,
    claim: Claim | None,
    *,
    force: bool,
) -> Tried:
    call = prepared.call
    aside = answer_files.set_aside(world, call, prepared.outputs)
    argv = effective_argv(table_of(call.tool), prepared.argv, force=force)
    limit = world.options.call_timeout
    order = ToolRun(call.tool, argv, call.cwd, call.env, limit, outlives_caller=True)
    # Sessions tell their times in whole milliseconds, by the same clock.
    since = rfc3339(world.clock.now() - timedelta(seconds=1))
    end = shim.run(
        order,
        lambda process: notes.intend(
            world, prepared, argv, process, claim=claim, retry=tally.retry
        ),
    )
    if end.trouble:
        failure = Failure("TOOL_MISSING", FailureClass.FINAL, end.trouble)
        return Tried(end, None, (), failure, aside)
    record = find_record(prepared, end.out, since)
    return replace(look(world, prepared, end, record), aside=aside)


def look(world: CallWorld, prepared: Prepared, end: ToolEnd, record: SessionRecord | None) -> Tried:
    """What there is to see at the promised paths, judged."""
    answers = answer_files.read_answers(prepared.outputs)
    sizes = [len(data.strip()) for data in answers if data is not None]
    missing = answer_files.lacking(
        prepared.contracts, answers, require_headings=world.options.require_headings
    )
    # Before messages are cut from it: what is left of a secret would not be known for one.
    clean = world.redactor
    proof = Proof(
        exit_code=end.exit_code,
        out=clean.clean(end.out),
        err=clean.clean(end.err),
        record=record and clean.clean_record(record),
        promised=bool(prepared.outputs),
        answer_bytes=min(sizes) if sizes and len(sizes) == len(answers) else None,
        missing_sections=missing if world.options.verify else (),
        timed_out=end.timed_out,
    )
    return Tried(end, record, tuple(answers), judge(proof))


def find_record(prepared: Prepared, said: str, since: str) -> SessionRecord | None:
    """The session of one try: by the name the tool tells, else by its question."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    path = str(prepared.outputs[0].path) if prepared.outputs else None
    named = session_id(said)
    found = sessions.record(named) if named else None
    if found is not None and (prepared.question.models or found.output_path == path):
        return found
    return matching(sessions.records(), prepared.question.prompt, path, since)


def _attach(world: CallWorld, prepared: Prepared, shim: Shim, tried: Tried) -> Tried:
    """Stay with a worker that the tool left behind, until it ends or our patience does."""
    record = tried.record
    if record is None or record.worker_pid is None:
        return tried
    note = "the tool left its question to a worker; waiting for its answer"
    wait = still_running(prepared.call, record.worker_pid, "worker of the tool")
    pause = telling_pause(world, prepared.call, shim, Wait.EARLIER_CALL, note, wait)
    ended = stay_with(prepared, pause, Patience(world), record)
    if ended is None:
        return replace(tried, end=replace(tried.end, stopped=True))
    return replace(look(world, prepared, tried.end, ended), aside=tried.aside)


def still_running(call: LiveCall, pid: int | None, what: str = "earlier call") -> Waiting:
    """The wait for a process that may bring the answer."""
    reason = f"{what} still running" + (f", pid {pid}" if pid is not None else "")
    return Waiting(call=call.number, reason=reason, pid=pid)


def stay_with(
    prepared: Prepared, pause: Callable[[float], bool], patience: Patience, record: SessionRecord
) -> SessionRecord | None:
    """The record of a detached session once its worker has ended; None when given up."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    now = record
    while now.status in {"running", "pending"} and worker_is_alive(now.worker_pid or 0):
        if patience.is_at_its_end:
            return now
        if not pause(_LOOK_AGAIN):
            return None
        now = sessions.record(record.id) or now
    return sessions.record(record.id) or now
