"""Asking: a call is tried until its answer is verified, or another try cannot help."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec.structs import replace

from oraclepack.calls import answer_files, decisions, ledger
from oraclepack.calls.adoption_rules import OnUnknown, answer_in_log
from oraclepack.calls.call import STOPPED, STOPPED_EXIT, Call, Ended, Found, Held
from oraclepack.calls.call_budget import HeldMoney, reserve_try
from oraclepack.calls.call_folder import CallFolder
from oraclepack.calls.context import CallContext
from oraclepack.calls.interrupted import (
    RESPONSE_CANCELLED,
    cancel_response,
    identity_of,
    look_beyond,
    session_in,
    stay_with,
    still_running,
)
from oraclepack.calls.live_call import ToolEnd, ToolRun
from oraclepack.calls.overrides import effective_argv
from oraclepack.calls.prepare import (
    AttachmentsChangedError,
    PreparedCall,
    changed_file,
    check_attached,
)
from oraclepack.calls.publication import publish
from oraclepack.calls.retry import RetryAfter, cause, waiting_note
from oraclepack.calls.stored_answers import keep, keep_unmet, missing_in
from oraclepack.calls.truth import CallEvidence, contract_failure, judge
from oraclepack.calls.unmet_answers import (
    acceptance,
    is_an_answer,
    next_retry,
    record_acceptance,
)
from oraclepack.calls.waiting import WaitDeadline, recorded_wait, wait_for_slot
from oraclepack.calls.worst_case import WorstCase, worst_case
from oraclepack.errors import SIGNALLED, ExitCode, OraclePackError, Refusal, StepError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import (
    AWAITED,
    BUDGET,
    DETACHED,
    NO_SPACE,
    OUTPUT_PATH,
    UNDECIDED,
    UNMET,
    Cache,
    CallWait,
    Wait,
)
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.history import AnswerFigures, project_mark
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_config import KEYS, oracle_home
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.oracle_sessions import (
    OracleSessions,
    PrintedIds,
    SessionRecord,
    printed_ids,
)
from oraclepack.tools.providers import BROWSER, chosen_engine

_POLL_SECONDS = 0.5
_WAITS_FOR_MONEY = "waiting: with the calls that are being made it might exceed the budget"
_OPEN = frozenset({AWAITED, DETACHED, UNDECIDED})
"""Codes of calls whose answer may still come: the next command looks for it."""


class TryResult(msgspec.Struct, frozen=True):
    """How the tool ended, its session, the answers it gave, and the verdict on them."""

    end: ToolEnd
    record: SessionRecord | None
    answers: tuple[bytes | None, ...]
    failure: Failure | None
    folder: CallFolder

    @property
    def answer(self) -> bytes | None:
        """The answer, where there is exactly one."""
        return self.answers[0] if len(self.answers) == 1 else None


class _IdReader:
    """Writes down what the tool prints about itself, as soon as it does."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._ids = PrintedIds()

    def __call__(self, head: str) -> bool:
        ids = printed_ids(head)
        if (ids.session, ids.response) != (self._ids.session, self._ids.response):
            self._ids = ids
            # An error here would end the tool. Its own log has the names too.
            with suppress(OraclePackError):
                ledger.identify(self._call.context, self._call.prepared, ids, self._call.claim)
        return ids.response is None and not ids.is_over


def read_result(
    context: CallContext,
    prepared: PreparedCall,
    end: ToolEnd,
    record: SessionRecord | None,
    folder: CallFolder,
) -> TryResult:
    """Read and judge what the tool has written, or printed where it could not write."""
    answers = tuple(folder.read(output) for output in prepared.outputs)
    if len(answers) == 1 and not answers[0]:
        printed = answer_in_log(folder.printed())
        answers = (answers[0] if printed is None else printed.encode(),)
    sizes = [len(data.strip()) for data in answers if data is not None]
    missing = answer_files.lacking(
        prepared.contracts, answers, require_headings=context.options.require_headings
    )
    is_sectioned = bool(prepared.contracts) and all(one.sections for one in prepared.contracts)
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
        is_whole=is_sectioned
        and not missing
        and all(data and is_an_answer(prepared, data) for data in answers),
    )
    return TryResult(end, record, answers, judge(proof), folder)


class OracleAsk:
    """One call of oracle and its tries. Used by one thread."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._context = context = call.context
        self._shim = call.shim
        self._tally = ledger.Tally(context)
        self._tally.retry = call.retry
        self._tally.because = call.because
        has_key = call.prepared.key_value is not None
        self._cache = Cache.MISS if has_key and context.options.use_cache else Cache.OFF
        self.is_open = False
        """The outcome of the question is unknown when the call has ended: a detached worker or the
        provider goes on, or the tool was cancelled while it asked."""
        self.has_tried = False
        """Some try was made, and has ended."""

    @property
    def _prepared(self) -> PreparedCall:
        return self._call.prepared

    def intend(self) -> None:
        """Record that the tool is about to be called, and as which retry."""
        prepared, claim = self._prepared, self._call.claim
        ledger.intend(self._context, prepared, prepared.argv, claim=claim, tally=self._tally)

    def ask(self) -> int:
        """Call the tool, again if that may help; the exit code for the step.

        The caller records the intent first.
        """
        force = self._call.force
        while True:
            with self._reserved() as held:
                tried = self._try(held, force=force) if isinstance(held, HeldMoney) else held
            if tried is None:
                return self._stopped(STOPPED_EXIT)
            if isinstance(tried, StepError):
                if self._is_raised(tried):
                    continue
                return self._not_made(tried)
            self._tally.note_session(tried.record)
            self._end_try(tried)
            self.has_tried = True
            self._check_key()
            if tried.failure is None:
                return self._succeeded(tried)
            if tried.failure.code in _OPEN:
                return self._left_open(tried, tried.failure)
            if tried.end.stopped and tried.failure.code != RESPONSE_CANCELLED:
                # Its folder stays: the next call of the question looks there for an answer.
                return self._cancelled(tried.end.exit_code or STOPPED_EXIT)
            exit_code = self._after(tried, tried.failure, forced=force)
            tried.folder.remove()
            if exit_code is not None:
                return exit_code
            # What was ended by force is still marked running, and would block its own repetition.
            killed = tried.end.timed_out or tried.end.exit_code > SIGNALLED
            force = force or killed or tried.failure.kind is FailureClass.DUPLICATE

    @contextmanager
    def _reserved(self) -> Iterator[HeldMoney | StepError | None]:
        """Wait for a slot and reserve the worst case of a try.

        None when the call is given up before that, an error when it fits neither budget nor disk.
        """
        context, prepared = self._context, self._prepared
        start = self._tally.now()
        slot = wait_for_slot(context, prepared.call, self._shim, prepared.limit)
        self._tally.waited_since(start)
        if slot is None:
            yield None
            return
        with slot:
            lack = answer_files.lack_of_room(context)
            lack = lack or answer_files.lack_of_access(prepared.outputs)
            if lack is not None:
                yield lack
                return
            worst = worst_case(prepared, context.options.budget, context.options.prices)
            held = self._reserve(worst)
            if held is None or isinstance(held, StepError):
                yield held
                return
            with held:
                check_attached(context, prepared, self._shim)
                self._note_browser()
                yield held

    def _note_browser(self) -> None:
        """Say once that oracle takes the browser only because it finds no key."""
        prepared, noted = self._prepared, self._context.shared.noted
        is_chosen = chosen_engine(prepared.question, prepared.around) is not None
        if prepared.provider != BROWSER or is_chosen or BROWSER in noted:
            return
        noted.add(BROWSER)
        message = (
            f"{' and '.join(KEYS)} are not set, so oracle asks through Chrome and your ChatGPT "
            "login; to ask over the API, set one of them"
        )
        warning = j.WarningRecorded(step=prepared.call.step, code=BROWSER, message=message)
        self._context.record(warning)

    def _reserve(self, worst: WorstCase) -> HeldMoney | StepError | None:
        """The money of a try, after a wait for that of calls that are being made."""
        context, call, shim = self._context, self._prepared.call, self._shim
        start, wait = (
            self._tally.now(),
            CallWait(call=call.number, reason="what other calls may cost"),
        )
        with recorded_wait(context, call, shim, Wait.BUDGET, _WAITS_FOR_MONEY, wait) as pause:
            held = reserve_try(context, call, shim, worst)
            while isinstance(held, StepError) and held.transient:
                if not pause(_POLL_SECONDS):
                    return None
                held = reserve_try(context, call, shim, worst)
        self._tally.waited_since(start)
        return held

    def _try(self, held: HeldMoney, *, force: bool) -> TryResult:
        """Call the tool, look for the answer where it has none, and settle the cost."""
        context, prepared, tally = self._context, self._prepared, self._tally
        call, claim = prepared.call, self._call.claim
        tally.started_ns = 0
        tally.attempts += 1
        tally.tries += 1
        ledger.begin_try(context, call, tally.tries)
        folder = CallFolder.make(context, call, tally.tries, prepared.outputs)
        tally.private = folder.name
        argv = effective_argv(table_of(call.tool), prepared.argv, force=force)
        order = ToolRun(
            call.tool,
            folder.argv(parse_argv(table_of(call.tool), argv), argv, call.cwd),
            call.cwd,
            call.env,
            context.options.call_timeout,
            outlives_caller=True,
            is_paid=True,
            folder=folder.path,
            on_output=_IdReader(self._call),
        )
        deadline = WaitDeadline(context)

        def started(process: ProcessIdentity) -> None:
            if changed_file(prepared) is not None:
                raise AttachmentsChangedError("an attached file was changed")
            tally.reservation = held.name
            ledger.intend(context, prepared, argv, process, claim=claim, tally=tally)
            # After the journal, which names it: killed in between, nothing was paid for.
            held.open()
            tally.started_ns = tally.now()

        try:
            end = self._shim.run(order, started)
        except OraclePackError:
            if not tally.started_ns:
                claim.withdraw()
            raise
        if end.trouble:
            failure = Failure("TOOL_MISSING", FailureClass.FINAL, end.trouble)
            return TryResult(end, None, (), failure, folder)
        record = session_in(OracleSessions(oracle_home(call.env)), folder)
        tried = read_result(context, prepared, end, record, folder)
        # The worker or the provider goes on meanwhile, so the slot stays taken.
        if tried.failure is not None and tried.failure.code == DETACHED:
            tried = self._attach(tried)
        elif tried.failure is not None and tried.failure.code not in UNMET:
            tried = self._look_beyond(tried, deadline)
        code = tried.failure.code if tried.failure is not None else None
        if code in _OPEN:
            held.leave_open()
        usage = ledger.with_cost(context, prepared, tried.record.usage if tried.record else None)
        held.settle(usage, code)
        model = resolve_model(prepared.model)
        if code is None and model is not None and usage is not None and usage.output_tokens:
            seconds = round((tally.now() - tally.started_ns) / 1e9, 3)
            size, project = usage.input_tokens, project_mark(context.root)
            figures = AnswerFigures(model, usage.output_tokens, seconds, size, project)
            context.store.note_answer(figures)
        return tried

    def _attach(self, tried: TryResult) -> TryResult:
        """Wait for a worker that the tool detached, until it ends or the time is over."""
        context, prepared, record = self._context, self._prepared, tried.record
        if record is None or record.worker_pid is None:
            return tried
        note = "the tool left its question to a worker; waiting for its answer"
        wait = still_running(prepared.call, record.worker_pid, "worker of the tool")
        with recorded_wait(
            context, prepared.call, self._shim, Wait.EARLIER_CALL, note, wait
        ) as pause:
            ended = stay_with(prepared, pause, WaitDeadline(context), record)
        if ended is None:
            return replace(tried, end=replace(tried.end, stopped=True))
        return read_result(context, prepared, tried.end, ended, tried.folder)

    def _look_beyond(self, tried: TryResult, deadline: WaitDeadline) -> TryResult:
        """What the provider or the browser has of an answer that the tool does not have."""
        call, failure = self._call, tried.failure
        place = (self._prepared.call.attempt, self._prepared.call.number)
        calls = self._context.journal.state.step(self._prepared.call.step).invocations
        intent = next((one.intent for one in calls if (one.attempt, one.call) == place), None)
        identity = identity_of(self._context, intent)
        if tried.end.stopped:
            gone = cancel_response(call, identity) if identity.response else None
            return replace(tried, failure=gone or failure)
        found = look_beyond(call, identity, tried.record, deadline, intent.at if intent else "")
        match found:
            case Found():
                failure = contract_failure(found.missing)
                tried = replace(tried, answers=(found.data,), record=found.record)
            case Held(error=error) if error == STOPPED:
                tried = replace(tried, end=replace(tried.end, stopped=True))
            case Held(error=error):
                failure = Failure(error.code, FailureClass.FINAL, error.message)
            case Ended(verdict=verdict):
                # Without a verdict the next command may ask again, as the user said: this one
                # has asked already.
                message = "it is unknown whether this call was paid for"
                failure = verdict or Failure(UNDECIDED, FailureClass.FINAL, message)
        return replace(tried, failure=failure)

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
        is_answer = failure is None or failure.code in UNMET
        ledger.end_try(
            self._context,
            self._prepared.call,
            self._tally.tries,
            exit_code=tried.end.exit_code,
            error=STOPPED if is_cancelled else failure.error() if failure else None,
            session=tried.record.id if tried.record else None,
            left=None if is_answer else next(filter(None, tried.answers), None),
        )

    def _check_key(self) -> None:
        """An answer about files that changed while it was given is stored under no key."""
        changed = changed_file(self._prepared)
        if changed is None:
            return
        message = (
            f"{changed} was changed while the question was asked: the answer is kept, but not for "
            "later questions about this file"
        )
        call = self._prepared.call
        self._call.say(message)
        self._context.record(
            j.WarningRecorded(step=call.step, code="changed_while_asked", message=message)
        )
        why = Refusal(f"{changed} was changed while it was asked")
        self._call.prepared = replace(self._prepared, key=why, attached=())

    def _after(self, tried: TryResult, failure: Failure, *, forced: bool) -> int | None:
        """The exit code when nothing more can be done; None when another try is due."""
        if failure.kind is FailureClass.DUPLICATE and not forced:
            # Oracle's guard compares prompts only, so it refused a question that may be asked.
            self._tally.attempts -= 1
            return None
        if failure.code == "CONTRACT":
            return self._unmet(tried, failure)
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
        """A whole answer that lacks something was paid for: it goes where the pack wants it."""
        # Before the intent of a retry: a killed command is continued with it.
        if tried.answer is not None:
            keep_unmet(self._context, self._prepared, self._shim, tried.answer, tried.record)
        self._publish(tried)
        retry = next_retry(self._tally.retry, tried.answer, tried.record)
        if retry.number > self._context.options.output_retries:
            match self._decision_about(tried, failure):
                case decisions.ACCEPT:
                    return self._accepted(tried)
                case decisions.RETRY:
                    pass
                case _:
                    return self._failed(tried, failure, "")
        self._call.say(f"{failure.message}; asking again")
        self._tally.retry = retry
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
        publish(self._context, self._prepared.call, self._prepared.outputs[0], data)
        missing = missing_in(self._context, self._prepared, data)
        if missing:
            event = acceptance(data, missing, "accepted while the run waited for a decision")
            record_acceptance(self._context, self._prepared, data, event)
        self._conclude(replace(tried, end=replace(tried.end, exit_code=0), answers=(data,)))
        return 0

    def _succeeded(self, tried: TryResult) -> int:
        """Keep the answer first: where it cannot be published, the next command still has it."""
        if tried.answer is not None:
            output = tried.end.out
            keep(self._context, self._prepared, self._shim, tried.answer, tried.record, output)
        try:
            self._publish(tried)
        except OraclePackError as trouble:
            message = f"the answer is kept, but cannot be written: {trouble.message}"
            self._call.say(f"{OUTPUT_PATH}: {message}; the same command continues")
            failed = replace(tried, end=replace(tried.end, exit_code=int(ExitCode.STEP_FAILED)))
            self._conclude(failed, StepError(code=OUTPUT_PATH, message=message))
            return failed.end.exit_code
        self._conclude(replace(tried, end=replace(tried.end, exit_code=0)))
        tried.folder.remove()
        return 0

    def _publish(self, tried: TryResult) -> None:
        for output, data in zip(self._prepared.outputs, tried.answers, strict=True):
            if data is not None:
                mode = tried.folder.mode(output)
                publish(self._context, self._prepared.call, output, data, mode)

    def _left_open(self, tried: TryResult, failure: Failure) -> int:
        """A worker, a provider or nobody known goes on: the next command looks for the answer."""
        self.is_open = True
        self._call.say(f"{failure.code}: {failure.message}; run again to wait for its answer")
        self._conclude(tried, failure.error())
        return STOPPED_EXIT if tried.end.stopped else 1

    def _failed(self, tried: TryResult, failure: Failure, reason: str) -> int:
        why = f" ({reason})" if reason and self._tally.attempts > 1 else ""
        self._call.say(f"{failure.code}: {failure.message}{why}")
        self._conclude(tried, failure.error())
        return tried.end.exit_code or 1

    def _not_made(self, error: StepError) -> int:
        """The next try does not fit the budget or the disk, so it is not made."""
        self._call.say(f"{error.code}: {error.message}")
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
            cancelled=self.is_open,
        )
