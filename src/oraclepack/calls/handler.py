"""One call of a tool in a step, from the shim's request to its exit code.

    read → wait until no other call asks the same → look at the sources in order (`sources.py`)
         → adopt what was paid for, or ask: slot, room, money, files, the engine's try, its verdict
         → keep, publish, conclude; or try again

`answer` tells it from top to bottom. What is known of a call is in `Call`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from oraclepack.calls.answers import (
    acceptance,
    keep,
    keep_unmet,
    lack_of_access,
    lack_of_room,
    publish,
    record_acceptance,
)
from oraclepack.calls.budget import Reserved, reserve_try, worst_case
from oraclepack.calls.call import (
    ACCEPT,
    FAIL,
    REFUSED_EXIT,
    RETRY,
    STOPPED,
    STOPPED_EXIT,
    AttachmentsChangedError,
    Call,
)
from oraclepack.calls.context import CallContext, OnUnknown
from oraclepack.calls.earlier import (
    ADOPTED,
    Blocked,
    close,
    interrupted_retry,
    next_retry,
    settle_all_money,
)
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.other_calls import call_other_tool, call_without_question
from oraclepack.calls.overrides import effective_argv
from oraclepack.calls.question import check_attached, check_paths, forget_key, read, steered
from oraclepack.calls.retry import cause, waiting_note
from oraclepack.calls.several_models import calls_by_model, exit_code_of, publish_manifest
from oraclepack.calls.sources import Found, find, unsigned
from oraclepack.calls.waiting import claimed, slot_of
from oraclepack.engines.engine import Ended, Try
from oraclepack.engines.responses import CANCELLED
from oraclepack.engines.table import ENGINES
from oraclepack.errors import ExitCode, OraclePackError, Refusal, StepError
from oraclepack.journal.statuses import (
    AWAITED,
    BATCH_PENDING,
    BUDGET,
    DETACHED,
    NO_SPACE,
    OUTPUT_PATH,
    UNDECIDED,
    UNMET,
    Cache,
    Wait,
)
from oraclepack.settings.call_settings import BATCH
from oraclepack.store.database import StoreError
from oraclepack.store.history import AnswerFigures, project_mark
from oraclepack.system.clock import rfc3339
from oraclepack.system.path_jail import read_content
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_config import KEYS
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_models import resolve_model
from oraclepack.tools.oracle_question import asks_a_model
from oraclepack.tools.providers import BROWSER, chosen_engine
from oraclepack.tools.tool_names import ORACLE

_READINGS = 4
"""How often a question is read again whose files change while it waits."""
_POLL_SECONDS = 0.5
_WAITS_FOR_MONEY = "waiting: with the calls that are being made it might exceed the budget"
_OPEN = frozenset({AWAITED, BATCH_PENDING, DETACHED, UNDECIDED})
"""Codes of calls whose answer may still come: the next command looks for it."""


class CallHandler:
    """Answers the calls of a run; give `answer` to the gateway. Safe in several threads."""

    def __init__(self, context: CallContext) -> None:
        self._context = context

    def attached(self, step: str, attempt: int) -> dict[str, str]:
        """What the calls of an attempt attached: paths from the project root, and SHA-256."""
        return dict(self._context.shared.attached.get((step, attempt), {}))

    def answer(self, made: LiveCall, shim: Shim) -> int:
        """Answer one call; returns its exit code for the step."""
        made = replace(made, began_at=rfc3339(self._context.clock.now()))
        call = Call(self._context, made, shim)
        if made.tool == ORACLE and not made.is_overridden:
            parts = calls_by_model(call)
            for part in parts:  # nothing is asked where one of them may not be made
                paths = check_paths(call, parse_argv(table_of(ORACLE), part.made.argv))
                if isinstance(paths, Refusal):
                    return call.refuse(OUTPUT_PATH, str(paths))
            if parts:
                codes = [self.answer(part.made, shim) for part in parts]
                publish_manifest(call, parts, codes)
                return exit_code_of(call, codes)
        with self._context.shared.answering(call.place):
            for is_last in (*[False] * _READINGS, True):
                try:
                    return _answered(call, is_last=is_last)
                except AttachmentsChangedError as change:
                    call.say(f"{change.message}; reading them again")
                    call = Call(self._context, made, shim)
                except StoreError as trouble:
                    # The store does not answer, or has given the call to another runner.
                    hint = f"; {trouble.hint}" if trouble.hint else ""
                    message = f"{trouble.message}{hint}"
                    call.say(f"{trouble.code}: {message}")
                    may_pass = trouble.retryable
                    error = StepError(code=trouble.code, message=message, transient=may_pass)
                    return call.conclude(error, REFUSED_EXIT)
        raise AssertionError("the last reading asks without a key")


def _answered(call: Call, *, is_last: bool) -> int:
    """One reading of a call. Raises AttachmentsChangedError where its files are others by now."""
    made = call.made
    first = parse_argv(table_of(made.tool), made.argv)
    is_steered = steered(call) if made.tool == ORACLE else ""
    if is_steered:
        return call.refuse("PROJECT_ENV", is_steered)
    is_question = made.tool == ORACLE and asks_a_model(first, made.argv)
    if made.tool == ORACLE and (not is_question or (first.subcommand and not call.engine.is_paid)):
        return call_without_question(call, first)
    if made.tool != ORACLE or first.subcommand is not None:
        return call_other_tool(call)
    refused = read(call)
    if refused is not None:
        return call.refuse(refused.code, refused.message)
    if is_last:
        forget_key(call, "its attached files change all the time")
    if not call.engine.is_paid:
        return _rehearsed(call)
    with claimed(call) as is_ours:
        return _found_or_asked(call) if is_ours else call.conclude(STOPPED, STOPPED_EXIT)


def _found_or_asked(call: Call) -> int:
    """No other call asks the same: take what was paid for, or ask."""
    call.retry = interrupted_retry(call)
    found = find(call)
    if isinstance(found, Found) and not _is_asked_for_again(call, found):
        exit_code = _take(call, found)
        settle_all_money(call)
        return exit_code
    blocked = found if isinstance(found, Blocked) else unsigned(call)
    if blocked is not None:
        return call.conclude(blocked.error, blocked.exit_code)
    try:
        _begin(call, short=found if isinstance(found, Found) else None)
        exit_code = _ask(call)
    except (AttachmentsChangedError, StoreError) as trouble:
        is_ended = call.has_tried or isinstance(trouble, AttachmentsChangedError)
        if is_ended and not call.is_open:
            call.claim.settle()
        raise
    if not call.is_open:
        call.claim.settle()
    return exit_code


def _rehearsed(call: Call) -> int:
    """A free engine answers: nothing is looked for, waited for, reserved or kept."""
    call.attempts = 1
    folder = call.new_folder()
    ended = call.engine.ask(call, Try(folder, call.argv))
    folder.remove()
    if ended.failure is not None:
        return call.conclude(ended.failure.error(), ended.exit_code)
    if call.question.output is not None and ended.answer is not None:
        publish(call, call.question.output, ended.answer)
    return call.conclude()


# An answer that was paid for.


def _is_asked_for_again(call: Call, found: Found) -> bool:
    """Whether an answer lacks something and one more retry is due for that."""
    most = call.context.options.output_retries
    return bool(found.missing) and call.retry is not None and call.retry.number <= most


def _take(call: Call, found: Found) -> int:
    """Make an answer of before the answer of this call."""
    record, output, error = found.record, call.question.output, None
    if found.missing:
        lacks = f"the answer lacks {', '.join(found.missing)}"
        error = StepError(code="CONTRACT", message=lacks)
        call.say(f"CONTRACT: {lacks}; it was paid for and is not asked again")
        keep_unmet(call, found.data, record)
    elif not found.is_stored:
        keep(call, found.data, record, is_shared=found.is_proven)
    if output is not None:
        publish(call, output, found.data)
    if error is None:
        call.say(f"{call.output_path} {found.note}")
        if found.acceptance is not None:
            record_acceptance(call, found.data, found.acceptance, found.run_id)
    is_new, is_cached = found.earlier is not None, found.cache is Cache.HIT
    call.conclude(
        error,
        0 if error is None else 1,
        answer=found.data if error is None else None,
        unmet=None if error is None else found.data,
        cache=found.cache,
        session=record.id if record else None,
        usage=call.with_cost(record.usage) if record and is_new else None,
        adopted=error is None and not is_cached,
        # The run that has the cost in its records already.
        source_run=None if is_new or is_cached else found.run_id or call.context.run_id,
        saved=call.with_cost(found.saved),
    )
    # Close last: if we are killed earlier, the next run finds the call again.
    if found.earlier is not None:
        close(call, found.earlier, record, ADOPTED)
    call.claim.settle()
    return 0 if error is None else 1


# Asking.


def _begin(call: Call, short: Found | None) -> None:
    """Write down that it is asked. `short` is an answer that missed its contract before."""
    output = call.question.output
    if short is not None and output is not None:
        keep_unmet(call, short.data)
        publish(call, output, short.data)
        call.say(f"the answer lacks {', '.join(short.missing)}; asking again")
    if call.claim.open_call is not None:
        call.because = call.because or "the earlier call has ended without an answer"
    call.intend()
    if short is not None and short.earlier is not None:
        close(call, short.earlier, short.record, ADOPTED)


def _ask(call: Call) -> int:
    """Ask until the answer is verified, or another try cannot help."""
    while True:
        with _ready(call) as ready:
            ended = _try(call, ready) if isinstance(ready, Reserved) else ready
        if ended is None:
            return _stopped(call)
        if isinstance(ended, StepError):
            if not _is_raised(call, ended):
                return _not_made(call, ended)
            continue
        _end_try(call, ended)
        exit_code = _judged(call, ended)
        if exit_code is not None:
            return exit_code


def _not_made(call: Call, error: StepError) -> int:
    """The next try does not fit the budget or the disk, so it is not made."""
    call.say(f"{error.code}: {error.message}")
    is_about_disk = error.code in {NO_SPACE, OUTPUT_PATH}
    exit_code = int(ExitCode.STEP_FAILED if is_about_disk else ExitCode.BUDGET)
    return call.conclude(error, exit_code, cache=_cache(call))


def _judged(call: Call, ended: Ended) -> int | None:
    """The exit code of a call after a try; None when another try is due."""
    failure = ended.failure
    if failure is None:
        return _succeeded(call, ended)
    if failure.code in _OPEN:
        call.is_open = True
        call.say(f"{failure.code}: {failure.message}; run again to wait for its answer")
        _concluded(call, ended, failure.error())
        return STOPPED_EXIT if ended.stopped else _exit_code_of_open(call, ended)
    if ended.stopped and failure.code != CANCELLED:
        # Its folder stays: the next call of the question looks there for an answer.
        call.is_open = call.started_ns > 0
        return _stopped(call, ended.exit_code or STOPPED_EXIT)
    exit_code = _after(call, ended, failure)
    if call.folder is not None:
        call.folder.remove()
    # What was ended by force is still marked running, and would block its own repetition.
    call.force |= ended.is_killed or failure.kind is FailureClass.DUPLICATE
    return exit_code


def _exit_code_of_open(call: Call, ended: Ended) -> int:
    """A step that only asks goes on where its question waits for a batch."""
    return 0 if call.engine is ENGINES[BATCH] and ended.exit_code == 0 else 1


@contextmanager
def _ready(call: Call) -> Iterator[Reserved | StepError | None]:
    """A slot, room for the answer, money for the worst case of a try, and unchanged files.

    None when the call is given up before that, an error when it fits neither budget nor disk.
    """
    context, output = call.context, call.question.output
    slot = slot_of(call)
    if slot is None:
        yield None
        return
    with slot:
        lack = lack_of_room(context) or (lack_of_access(output) if output else None)
        if lack is not None:
            yield lack
            return
        options = context.options
        worst = worst_case(call.question, call.most_input, options.budget, options.prices)
        worst = worst.part(call.engine.price_part)
        reason = "what other calls may cost"
        with call.wait(Wait.BUDGET, _WAITS_FOR_MONEY, reason) as pause:
            reserved: Reserved | StepError | None = reserve_try(call, worst)
            while isinstance(reserved, StepError) and reserved.transient:
                reserved = reserve_try(call, worst) if pause(_POLL_SECONDS) else None
        if not isinstance(reserved, Reserved):
            yield reserved
            return
        with reserved:
            check_attached(call)
            _note_browser(call)
            yield reserved


def _note_browser(call: Call) -> None:
    """Say once that oracle takes the browser only because it finds no key."""
    question, noted = call.question, call.context.shared.noted
    is_chosen = chosen_engine(question.asked, question.around) is not None
    if question.provider != BROWSER or is_chosen or BROWSER in noted:
        return
    noted.add(BROWSER)
    call.warn(
        BROWSER,
        f"{' and '.join(KEYS)} are not set, so oracle asks through Chrome and your ChatGPT "
        "login; to ask over the API, set one of them",
    )


def _try(call: Call, reserved: Reserved) -> Ended:
    """Let the engine ask once, check the answer against its contract, and settle the cost."""
    context = call.context
    call.begin_try()
    call.reserved, call.folder = reserved, call.new_folder(call.tries)
    call.argv = effective_argv(table_of(ORACLE), call.question.argv, force=call.force)
    call.be_patient()
    try:
        once = Try(call.folder, call.argv, context.options.call_timeout)
        ended = call.engine.ask(call, once)
    except OraclePackError:
        if not call.started_ns:
            call.claim.withdraw()
        raise
    lacks = call.lacks(ended.answer) if ended.failure is None and ended.answer else ()
    if lacks:
        message = f"the answer lacks {', '.join(lacks)}"
        ended = replace(ended, failure=Failure("CONTRACT", FailureClass.FINAL, message))
    code = ended.failure.code if ended.failure is not None else None
    if code in _OPEN:
        reserved.leave_open()
    usage = call.with_cost(ended.record.usage if ended.record else None)
    reserved.settle(usage, code)
    model = resolve_model(call.question.model)
    if code is None and model is not None and usage is not None and usage.output_tokens:
        seconds = round((call.now() - call.started_ns) / 1e9, 3)
        project = project_mark(context.root)
        figures = (model, usage.output_tokens, seconds, usage.input_tokens, project)
        context.store.note_answer(AnswerFigures(*figures))
    return ended


def _end_try(call: Call, ended: Ended) -> None:
    """Record what a try came to; an answer about files that changed meanwhile has no key."""
    failure = ended.failure
    is_cancelled = ended.stopped and failure is not None and failure.code != DETACHED
    is_answer = failure is None or failure.code in UNMET
    call.end_try(
        ended.exit_code,
        STOPPED if is_cancelled else failure.error() if failure else None,
        ended.record,
        left=None if is_answer else ended.answer,
    )
    changed = call.changed_file()
    if changed is not None:
        message = (
            f"{changed} was changed while the question was asked: the answer is kept, but not for "
            "later questions about this file"
        )
        call.say(message)
        call.warn("changed_while_asked", message)
        forget_key(call, f"{changed} was changed while it was asked")


def _is_raised(call: Call, short: StepError) -> bool:
    """Whether a person answers, in a detached run, that they have raised the budget."""
    if call.context.decisions is None or short.code != BUDGET:
        return False
    question = f"{short.message}; raise the limit (oraclepack runs set) and try again?"
    return call.decide(question) == RETRY


def _succeeded(call: Call, ended: Ended) -> int:
    """Keep the answer first: where it cannot be published, the next command still has it."""
    if ended.answer is not None:
        keep(call, ended.answer, ended.record, ended.version)
    try:
        _publish(call, ended)
    except OraclePackError as trouble:
        message = f"the answer is kept, but cannot be written: {trouble.message}"
        call.say(f"{OUTPUT_PATH}: {message}; the same command continues")
        failed = replace(ended, exit_code=int(ExitCode.STEP_FAILED))
        return _concluded(call, failed, StepError(code=OUTPUT_PATH, message=message))
    _concluded(call, replace(ended, exit_code=0))
    if call.folder is not None:
        call.folder.remove()
    return 0


def _after(call: Call, ended: Ended, failure: Failure) -> int | None:
    """The exit code when nothing more can be done; None when another try is due."""
    if failure.kind is FailureClass.DUPLICATE and not call.force:
        # Oracle's guard compares prompts only, so it refused a question that may be asked.
        call.attempts -= 1
        return None
    if failure.code == "CONTRACT":
        return _unmet(call, ended, failure)
    chance, options = call.context.chance(), call.context.options
    decided = call.context.shared.next_try(failure, call.attempts, options, chance)
    if isinstance(decided, str):
        return _failed(call, ended, failure, decided)
    note = waiting_note(failure, decided, call.attempts, options.retry)
    seconds = round(decided, 3)
    reason, tries = cause(failure), call.attempts
    with call.wait(Wait.RETRY, note, reason, seconds=seconds, tries=tries) as pause:
        goes_on = pause(decided)
    return None if goes_on else _stopped(call)


def _unmet(call: Call, ended: Ended, failure: Failure) -> int | None:
    """A whole answer that lacks something was paid for: it goes where the pack wants it."""
    # Before the intent of a retry: a killed command is continued with it.
    if ended.answer is not None:
        keep_unmet(call, ended.answer, ended.record)
    _publish(call, ended)
    retry = next_retry(call.retry, ended.answer, ended.record)
    if retry.number > call.context.options.output_retries:
        decision = None
        is_asked = call.context.options.on_unknown is OnUnknown.ASK
        if call.context.decisions is not None and is_asked:
            decision = call.decide(
                f"{failure.message}; accept {call.output_path} as it is then, edited or not, or "
                "ask again?",
                (ACCEPT, RETRY, FAIL),
            )
        if decision == ACCEPT:
            return _accepted(call, ended)
        if decision != RETRY:
            return _failed(call, ended, failure)
    call.say(f"{failure.message}; asking again")
    call.retry = retry
    call.intend()
    # A stop may have waited for this answer.
    return None if call.shim.pause(0) else _stopped(call)


def _accepted(call: Call, ended: Ended) -> int:
    """A person takes the file as it is now: it may have been edited meanwhile."""
    output = call.question.output
    now = read_content(output.path).data if output else None
    data = now or ended.answer or b""
    missing = call.lacks(data)
    _publish(call, replace(ended, answer=data))
    if missing:
        event = acceptance(data, missing, "accepted while the run waited for a decision")
        record_acceptance(call, data, event)
    return _concluded(call, replace(ended, exit_code=0, answer=data))


def _publish(call: Call, ended: Ended) -> None:
    output = call.question.output
    if output is not None and ended.answer is not None:
        publish(call, output, ended.answer, call.folder.mode(output) if call.folder else None)


def _failed(call: Call, ended: Ended, failure: Failure, reason: str = "") -> int:
    why = f" ({reason})" if reason and call.attempts > 1 else ""
    call.say(f"{failure.code}: {failure.message}{why}")
    return _concluded(call, ended, failure.error()) or 1


def _stopped(call: Call, exit_code: int = STOPPED_EXIT) -> int:
    return call.conclude(STOPPED, exit_code, cache=_cache(call), cancelled=call.is_open)


def _concluded(call: Call, ended: Ended, error: StepError | None = None) -> int:
    return call.conclude(
        error,
        ended.exit_code,
        answer=ended.answer if error is None else None,
        unmet=ended.answer if error is not None and error.code in UNMET else None,
        cache=_cache(call),
        session=ended.record.id if ended.record else None,
        cancelled=call.is_open,
    )


def _cache(call: Call) -> Cache:
    """An answer that was asked for was in no cache, where one is used."""
    is_used = call.key_value is not None and call.context.options.use_cache
    return Cache.MISS if is_used else Cache.OFF
