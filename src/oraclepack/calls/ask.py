"""Asking: a call is tried until its answer is verified, or another try cannot help."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls import answer_files, decisions, ledger
from oraclepack.calls.adoption_rules import OnUnknown, answer_in_log, matching, session_id
from oraclepack.calls.answer_history import AnswerFigures, note_answer
from oraclepack.calls.call_budget import HeldMoney, reserve_try
from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import LiveCall, Shim, ToolEnd, ToolRun
from oraclepack.calls.other_runs import accepted_now, record_acceptance
from oraclepack.calls.overrides import effective_argv
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.retry import RetryAfter, cause, waiting_note
from oraclepack.calls.store import Claim
from oraclepack.calls.stored_answers import is_true, keep, missing_in
from oraclepack.calls.truth import COMPLETED, CallEvidence, judge, redirected_to
from oraclepack.calls.unmet_answers import next_retry
from oraclepack.calls.waiting import WaitDeadline, recorded_wait, wait_for_slot
from oraclepack.calls.worst_case import worst_case
from oraclepack.errors import SIGNALLED, ExitCode, OraclePackError, StepError
from oraclepack.journal.statuses import (
    BUDGET,
    DETACHED,
    INTERRUPTED,
    NO_SPACE,
    OUTPUT_PATH,
    UNMET,
    Cache,
    CallWait,
    OutputRetry,
    Wait,
)
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system import files
from oraclepack.system.clock import rfc3339
from oraclepack.tools.argv import table_of
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.oracle_sessions import (
    UNFINISHED,
    OracleSessions,
    SessionRecord,
    worker_is_alive,
)

_POLL_SECONDS = 0.5


class TryResult(msgspec.Struct, frozen=True):
    """How the tool ended, its session, the files it wrote, and the verdict on them."""

    end: ToolEnd
    record: SessionRecord | None
    answers: tuple[bytes | None, ...]
    failure: Failure | None
    displaced: tuple[answer_files.DisplacedFile, ...] = ()

    @property
    def answer(self) -> bytes | None:
        """The answer, where there is exactly one."""
        return self.answers[0] if len(self.answers) == 1 else None


def try_once(
    context: CallContext,
    prepared: PreparedCall,
    shim: Shim,
    tally: ledger.Tally,
    claim: Claim | None,
    *,
    force: bool,
) -> TryResult | StepError | None:
    """Wait for a slot, reserve the worst case and call the tool.

    None when the call is given up before that, an error when it fits neither budget nor disk.
    """
    start, call = tally.now(), prepared.call
    slot = wait_for_slot(context, call, shim, prepared.limit)
    tally.waited_since(start)
    if slot is None:
        return None
    with slot:
        lack = answer_files.lack_of_room(context) or answer_files.lack_of_access(prepared.outputs)
        if lack is not None:
            return lack
        options = context.options
        worst = worst_case(prepared, options.budget, options.prices)
        held = reserve_try(context, call, shim, worst)
        if isinstance(held, StepError):
            return held
        with held:
            return _paid_try(context, prepared, shim, tally, claim, held, force=force)


def _paid_try(
    context: CallContext,
    prepared: PreparedCall,
    shim: Shim,
    tally: ledger.Tally,
    claim: Claim | None,
    held: HeldMoney,
    *,
    force: bool,
) -> TryResult:
    """Call the tool, and settle its cost."""
    call = prepared.call
    tally.started_ns = 0
    tally.attempts += 1
    tally.tries += 1
    ledger.begin_try(context, call, tally.tries)
    displaced = answer_files.displace(context, call, prepared.outputs)
    argv = effective_argv(table_of(call.tool), prepared.argv, force=force)
    limit = context.options.call_timeout
    order = ToolRun(call.tool, argv, call.cwd, call.env, limit, outlives_caller=True, is_paid=True)
    # Sessions record times in whole milliseconds, by the same clock.
    since = rfc3339(context.clock.now() - timedelta(seconds=1))

    has_begun = False

    def started(process: ProcessIdentity) -> None:
        nonlocal has_begun
        tally.reservation = held.name
        ledger.intend(context, prepared, argv, process, claim=claim, tally=tally)
        # After the journal, which names it: killed in between, nothing was paid for.
        held.open()
        tally.started_ns = tally.now()
        has_begun = True

    try:
        end = shim.run(order, started)
    except OraclePackError:
        if claim is not None and not has_begun:
            claim.withdraw()
        raise
    if end.trouble:
        failure = Failure("TOOL_MISSING", FailureClass.FINAL, end.trouble)
        return TryResult(end, None, (), failure, displaced)
    record = find_record(prepared, end.out, since)
    tried = replace(read_result(context, prepared, end, record), displaced=displaced)
    if tried.failure is not None and tried.failure.code == DETACHED:
        # The worker goes on asking, so the slot stays taken.
        tried = _attach(context, prepared, shim, tried)
    code = tried.failure.code if tried.failure is not None else None
    if code == DETACHED:
        held.leave_open()
    usage = ledger.with_cost(context, prepared, tried.record.usage if tried.record else None)
    held.settle(usage, code)
    model = resolve_model(prepared.model)
    if code is None and model is not None and usage is not None and usage.output_tokens:
        seconds = round((tally.now() - tally.started_ns) / 1e9, 3)
        note_answer(AnswerFigures(model, usage.output_tokens, seconds))
    return tried


def read_result(
    context: CallContext, prepared: PreparedCall, end: ToolEnd, record: SessionRecord | None
) -> TryResult:
    """Read and judge the files at the promised paths."""
    answers = answer_files.read_answers(prepared.outputs)
    sizes = [len(data.strip()) for data in answers if data is not None]
    missing = answer_files.lacking(
        prepared.contracts, answers, require_headings=context.options.require_headings
    )
    # Redact before messages are cut from it: a part of a secret would not be recognised.
    clean = context.redactor
    proof = CallEvidence(
        exit_code=end.exit_code,
        out=clean.clean(end.out),
        err=clean.clean(end.err),
        record=record and clean.clean_record(record),
        promised=bool(prepared.outputs),
        answer_bytes=min(sizes) if sizes and len(sizes) == len(answers) else None,
        missing_sections=missing if context.options.verify else (),
        timed_out=end.timed_out,
    )
    return TryResult(end, record, tuple(answers), judge(proof))


def find_record(prepared: PreparedCall, output: str, since: str) -> SessionRecord | None:
    """The session of one try: by the name the tool prints, else by its question."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    path = str(prepared.outputs[0].path) if prepared.outputs else None
    named = session_id(output)
    record = sessions.record(named) if named else None
    if record is not None and (prepared.question.models or record.output_path == path):
        return record
    return matching(sessions.records(), prepared.question.prompt, path, since)


def _attach(
    context: CallContext, prepared: PreparedCall, shim: Shim, tried: TryResult
) -> TryResult:
    """Wait for a worker that the tool detached, until it ends or the time is over."""
    record = tried.record
    if record is None or record.worker_pid is None:
        return tried
    note = "the tool left its question to a worker; waiting for its answer"
    wait = still_running(prepared.call, record.worker_pid, "worker of the tool")
    with recorded_wait(context, prepared.call, shim, Wait.EARLIER_CALL, note, wait) as pause:
        ended = stay_with(prepared, pause, WaitDeadline(context), record)
    if ended is None:
        return replace(tried, end=replace(tried.end, stopped=True))
    return replace(read_result(context, prepared, tried.end, ended), displaced=tried.displaced)


def still_running(call: LiveCall, pid: int | None, what: str = "earlier call") -> CallWait:
    """The wait for a process that may still write the answer."""
    reason = f"{what} still running" + (f", pid {pid}" if pid is not None else "")
    return CallWait(call=call.number, reason=reason, pid=pid)


def stay_with(
    prepared: PreparedCall,
    pause: Callable[[float], bool],
    patience: WaitDeadline,
    record: SessionRecord,
) -> SessionRecord | None:
    """The record of a detached session once its worker has ended; None when given up."""
    sessions = OracleSessions(oracle_home(prepared.call.env))
    now = record
    while now.status in UNFINISHED and worker_is_alive(now.worker_pid or 0):
        if patience.is_at_its_end:
            return now
        if not pause(_POLL_SECONDS):
            return None
        now = sessions.record(record.id) or now
    return sessions.record(record.id) or now


STOPPED = StepError(code=INTERRUPTED, message="stopped before its end", transient=True)
STOPPED_EXIT = int(ExitCode.INTERRUPTED)


class OracleAsk:
    """One call of oracle and its tries. Used by one thread."""

    def __init__(
        self,
        context: CallContext,
        prepared: PreparedCall,
        shim: Shim,
        claim: Claim | None = None,
        retry: OutputRetry | None = None,
        because: str = "",
    ) -> None:
        self._context = context
        self._prepared = prepared
        self._shim = shim
        self._claim = claim
        self._tally = ledger.Tally(context)
        self._tally.retry = retry
        self._tally.because = because
        self._cache = Cache.MISS if prepared.key_value and context.options.use_cache else Cache.OFF
        self.is_open = False
        """The outcome of the question is unknown when the call has ended: a detached worker goes
        on, or the tool was cancelled while it asked."""
        self.has_tried = False
        """Some try was made, and has ended."""

    def intend(self) -> None:
        """Record that the tool is about to be called, and as which retry."""
        prepared, tally = self._prepared, self._tally
        ledger.intend(self._context, prepared, prepared.argv, claim=self._claim, tally=tally)

    def ask(self, *, force: bool = False) -> int:
        """Call the tool, again if that may help; the exit code for the step.

        The caller records the intent first.
        """
        while True:
            tried = try_once(
                self._context, self._prepared, self._shim, self._tally, self._claim, force=force
            )
            if tried is None:
                return self._stopped(STOPPED_EXIT)
            if isinstance(tried, StepError):
                if self._is_raised(tried):
                    continue
                return self._not_made(tried)
            self._tally.note_session(tried.record)
            tried = self._harvested(tried)
            self._end_try(tried)
            self.has_tried = True
            if tried.failure is None:
                return self._succeeded(tried)
            if tried.failure.code == DETACHED:
                return self._left_to_a_worker(tried, tried.failure)
            if tried.end.stopped:
                # A file that is there may be the answer: the next call of the question decides.
                if not any(tried.answers):
                    self._put_back(tried)
                return self._cancelled(tried.end.exit_code or STOPPED_EXIT)
            exit_code = self._after(tried, tried.failure, forced=force)
            if exit_code is not None:
                return exit_code
            # What was ended by force is still marked running, and would block its own repetition.
            killed = tried.end.timed_out or tried.end.exit_code > SIGNALLED
            force = force or killed or tried.failure.kind is FailureClass.DUPLICATE

    def _is_raised(self, short: StepError) -> bool:
        """Whether a person answers, in a detached run, that they have raised the budget."""
        if self._context.desk is None or short.code != BUDGET:
            return False
        question = f"{short.message}; raise the limit (oraclepack runs set) and try again?"
        call = self._prepared.call
        return decisions.decide(self._context, call, self._shim, question) == decisions.RETRY

    def _end_try(self, tried: TryResult) -> None:
        failure = tried.failure
        is_cancelled = tried.end.stopped and failure is not None and failure.code != DETACHED
        ledger.end_try(
            self._context,
            self._prepared.call,
            self._tally.tries,
            exit_code=tried.end.exit_code,
            error=STOPPED if is_cancelled else failure.error() if failure else None,
            session=tried.record.id if tried.record else None,
        )

    def _harvested(self, tried: TryResult) -> TryResult:
        """A tool that failed after its session was completed still has the answer."""
        record, outputs = tried.record, self._prepared.outputs
        if record is None or record.status != COMPLETED or len(outputs) != 1:
            return tried
        if tried.failure is None or tried.end.exit_code == 0:
            return tried
        for data in (tried.answer, self._elsewhere(tried)):
            if data is not None and is_true(self._context, self._prepared, data, record):
                answer_files.publish(outputs[0], data)
                return replace(
                    tried, end=replace(tried.end, exit_code=0), answers=(data,), failure=None
                )
        return tried

    def _after(self, tried: TryResult, failure: Failure, *, forced: bool) -> int | None:
        """The exit code when nothing more can be done; None when another try is due."""
        if failure.kind is FailureClass.DUPLICATE and not forced:
            # Oracle's guard compares prompts only, so it refused a question that may be asked.
            self._put_back(tried)
            self._tally.attempts -= 1
            return None
        if failure.code == "CONTRACT":
            return self._unmet(tried, failure)
        self._save(tried, failure)
        self._put_back(tried)
        chance = self._context.chance()
        decided = self._context.shared.next_try(
            failure, self._tally.attempts, self._context.options, chance
        )
        if not isinstance(decided, RetryAfter):
            return self._failed(tried, failure, decided.reason)
        policy = self._context.options.retry
        note = waiting_note(failure, decided, self._tally.attempts, policy)
        start = self._tally.now()
        call = self._prepared.call
        wait = CallWait(
            call=call.number,
            reason=cause(failure),
            seconds=round(decided.seconds, 3),
            tries=self._tally.attempts,
        )
        with recorded_wait(self._context, call, self._shim, Wait.RETRY, note, wait) as pause:
            continues = pause(decided.seconds)
        self._tally.waited_since(start)
        return None if continues else self._stopped(STOPPED_EXIT)

    def _unmet(self, tried: TryResult, failure: Failure) -> int | None:
        """A whole answer that lacks something was paid for: it stays where the pack wants it."""
        retry = next_retry(self._tally.retry, tried.answer, tried.record)
        if retry.number > self._context.options.output_retries:
            match self._decision_about(tried, failure):
                case decisions.ACCEPT:
                    return self._accepted(tried)
                case decisions.RETRY:
                    pass
                case _:
                    return self._failed(tried, failure, "")
        self._say(f"{failure.message}; asking again")
        # Before the answer is moved aside: a killed command is continued with this retry.
        self._tally.retry = retry
        ledger.note_unmet(self._context, self._prepared)
        self.intend()
        # A stop may have waited for this answer.
        return None if self._shim.pause(0) else self._stopped(STOPPED_EXIT)

    def _decision_about(self, tried: TryResult, failure: Failure) -> str | None:
        """What a person says, in a detached run, to a whole answer that misses its contract."""
        is_asked = self._context.options.on_unknown is OnUnknown.ASK
        if self._context.desk is None or not is_asked or tried.answer is None:
            return None
        path = self._prepared.output_path
        question = f"{failure.message}; accept {path} as it is then, edited or not, or ask again?"
        options = (decisions.ACCEPT, decisions.RETRY, decisions.FAIL)
        call = self._prepared.call
        return decisions.decide(self._context, call, self._shim, question, options)

    def _accepted(self, tried: TryResult) -> int:
        """A person takes the file as it is now: it may have been edited meanwhile."""
        (now,) = answer_files.read_answers(self._prepared.outputs)
        data = now or tried.answer or b""
        answer_files.publish(self._prepared.outputs[0], data)
        missing = missing_in(self._context, self._prepared, data)
        record_acceptance(self._context, self._prepared, accepted_now(data, missing))
        self._conclude(replace(tried, end=replace(tried.end, exit_code=0), answers=(data,)))
        return 0

    def _succeeded(self, tried: TryResult) -> int:
        if tried.answer is not None:
            self._keep(tried, tried.answer)
        self._conclude(tried)
        return 0

    def _left_to_a_worker(self, tried: TryResult, failure: Failure) -> int:
        """It goes on asking, so nothing is put back: the next command takes its answer."""
        self.is_open = True
        self._say(f"{failure.code}: {failure.message}; run again to wait for its answer")
        self._conclude(tried, failure.error())
        return STOPPED_EXIT if tried.end.stopped else 1

    def _failed(self, tried: TryResult, failure: Failure, reason: str) -> int:
        why = f" ({reason})" if reason and self._tally.attempts > 1 else ""
        self._say(f"{failure.code}: {failure.message}{why}")
        self._conclude(tried, failure.error())
        return tried.end.exit_code or 1

    def _not_made(self, error: StepError) -> int:
        """The next try does not fit the budget or the disk, so it is not made."""
        self._say(f"{error.code}: {error.message}")
        exit_code = int(
            ExitCode.STEP_FAILED if error.code in {NO_SPACE, OUTPUT_PATH} else ExitCode.BUDGET
        )
        ledger.conclude(
            self._context,
            self._prepared,
            self._tally,
            error=error,
            exit_code=exit_code,
            cache=self._cache,
            usage=self._tally.usage(self._prepared),
        )
        return exit_code

    def _cancelled(self, exit_code: int) -> int:
        """The tool was ended while it asked: the next call of the question looks for an answer."""
        self.is_open = self._tally.started_ns > 0
        return self._stopped(exit_code)

    def _stopped(self, exit_code: int) -> int:
        ledger.conclude(
            self._context,
            self._prepared,
            self._tally,
            error=STOPPED,
            exit_code=exit_code,
            cache=self._cache,
            usage=self._tally.usage(self._prepared),
            cancelled=self.is_open,
        )
        return exit_code

    def _conclude(self, tried: TryResult, error: StepError | None = None) -> None:
        ledger.conclude(
            self._context,
            self._prepared,
            self._tally,
            error=error,
            exit_code=tried.end.exit_code,
            cache=self._cache,
            session=tried.record.id if tried.record else None,
            answer=tried.answer if error is None else None,
            usage=self._tally.usage(self._prepared),
            unmet=tried.answer if error is not None and error.code in UNMET else None,
        )

    def _put_back(self, tried: TryResult) -> None:
        answer_files.restore_displaced(
            self._context, self._prepared.call, self._prepared.outputs, tried.displaced
        )

    def _save(self, tried: TryResult, failure: Failure) -> None:
        """An answer that was given but not written to its path is kept for the next run."""
        if failure.code not in {"REDIRECTED_WRITE", "WRITE_FAILED", "NO_OUTPUT"}:
            return
        data = self._elsewhere(tried)
        if data is not None and is_true(self._context, self._prepared, data, tried.record):
            self._keep(tried, data)
            self._say("the answer itself is whole and kept; the next run will find it")

    def _keep(self, tried: TryResult, data: bytes) -> None:
        keep(self._context, self._prepared, self._shim, data, tried.record, tried.end.out)

    def _elsewhere(self, tried: TryResult) -> bytes | None:
        path = redirected_to(tried.end.out)
        written = self._fallback(Path(path)) if path is not None else None
        if written is not None or tried.record is None:
            return written
        log = OracleSessions(oracle_home(self._prepared.call.env)).log(tried.record.id)
        answer = answer_in_log(log)
        return None if answer is None else answer.encode()

    def _fallback(self, path: Path) -> bytes | None:
        """The file beside the call. An answer is printed too, and may name any other file."""
        promised = (output.path for output in self._prepared.outputs)
        names = {f"{one.stem}.fallback{one.suffix}" for one in promised}
        cwd = Path(self._prepared.call.cwd)
        if path.name not in names or path.resolve() != cwd.resolve() / path.name:
            return None
        try:
            return files.read(path)
        except OraclePackError:
            return None

    def _say(self, text: str) -> None:
        self._shim.write_stderr(self._context.redactor.clean(f"oraclepack: {text}\n"))
