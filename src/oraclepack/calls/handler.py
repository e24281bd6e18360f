"""One call of a tool in a step, from the shim's request to its exit code.

A question is answered from the cache, else by adopting the call of a command that was killed, else
by asking. `CallHandler.answer` holds that order; each stage is a function below it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls import ledger
from oraclepack.calls.adopt import (
    AdoptionResult,
    adopt,
    close_earlier,
    settle_earlier,
    take_over,
)
from oraclepack.calls.adoption_rules import OnUnknown
from oraclepack.calls.answer_files import back_up_existing
from oraclepack.calls.ask import STOPPED, STOPPED_EXIT, OracleAsk
from oraclepack.calls.context import CallContext
from oraclepack.calls.decisions import RETRY, decide
from oraclepack.calls.key import InvocationKey
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.other_calls import (
    REFUSED_EXIT,
    call_other_tool,
    call_without_question,
    refuse_call,
)
from oraclepack.calls.overrides import effective_argv
from oraclepack.calls.prepare import (
    AttachmentsChangedError,
    PreparedCall,
    check_paths,
    find_key,
    oracle_context_of,
    prepare,
    promised,
    without_own_files,
)
from oraclepack.calls.publication import publish
from oraclepack.calls.rehearse import refused_replacing, rehearse
from oraclepack.calls.several_models import calls_by_model, exit_code_of, publish_manifest
from oraclepack.calls.store import Claim, StoreError
from oraclepack.calls.stored_answers import find_stored, is_held_back, keep_unmet
from oraclepack.calls.unmet_answers import (
    PaidAnswer,
    accepted_answer,
    interrupted_retry,
    next_retry,
    paid_answer,
    paid_elsewhere,
    record_acceptance,
    unmet_answer,
)
from oraclepack.calls.waiting import asking_alone
from oraclepack.calls.worst_case import most_tokens
from oraclepack.errors import InputError, Refusal, StepError
from oraclepack.journal.statuses import OUTPUT_PATH, UNDECIDED, Cache, OutputRetry
from oraclepack.system.clock import rfc3339
from oraclepack.system.path_jail import AllowedPath, leads_out
from oraclepack.tools.argv import parse_argv, table_of
from oraclepack.tools.oracle_attachments import literal_part
from oraclepack.tools.oracle_config import OracleContext, steering_of
from oraclepack.tools.oracle_question import (
    OracleQuestion,
    asks_a_model,
    read_question,
    reads_stdin,
)
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.providers import OF_TOOL
from oraclepack.tools.tool_names import ORACLE

_HELD_BACK = StepError(
    code="UNSIGNED_ANSWER",
    message="the cache has an answer to this question, or a call of it, that is not signed; "
    "`oraclepack trust --cache` takes it over, --on-unknown retry asks again",
)
_READINGS = 4
"""How often a question is read again whose files change while it waits."""
_DOTENV = "PROJECT_ENV"
_LINKED = "ATTACHED_LINK"


class CallHandler:
    """Answers the calls of a run; give `answer` to the gateway. Safe in several threads."""

    def __init__(self, context: CallContext) -> None:
        self._context = context

    def attached(self, step: str, attempt: int) -> dict[str, str]:
        """What the calls of an attempt attached: paths from the project root, and SHA-256."""
        return dict(self._context.shared.attached.get((step, attempt), {}))

    def answer(self, call: LiveCall, shim: Shim) -> int:
        """Answer one call; returns its exit code for the step."""
        call = replace(call, began_at=rfc3339(self._context.clock.now()))
        parts = calls_by_model(self._context, call, shim)
        if not parts:
            return self._answer(call, shim)
        for part in parts:
            parsed = parse_argv(table_of(ORACLE), part.call.argv)
            paths = check_paths(self._context, part.call, parsed)
            if isinstance(paths, Refusal):
                return refuse_call(self._context, call, shim, OUTPUT_PATH, str(paths))
        codes = [self._answer(part.call, shim) for part in parts]
        publish_manifest(self._context, call, parts, codes)
        return exit_code_of(call, codes)

    def _answer(self, call: LiveCall, shim: Shim) -> int:
        """Answer a call that asks one model, or none."""
        with self._context.shared.answering((call.step, call.attempt, call.number)):
            for reading in range(_READINGS + 1):
                read = self._read(call, shim)
                if isinstance(read, int):
                    return read
                context, prepared = read
                if reading == _READINGS:
                    why = Refusal("its attached files change all the time")
                    prepared = replace(prepared, key=why, attached=())
                try:
                    with asking_alone(context, prepared, shim) as claim:
                        if claim is None:
                            return _end(context, prepared, STOPPED, STOPPED_EXIT)
                        unanswered = _unanswered(context, prepared, shim, claim)
                        if isinstance(unanswered, int):
                            return unanswered
                        asking, force = unanswered
                        with _settled(asking, claim):
                            return asking.ask(force=force)
                except AttachmentsChangedError as change:
                    shim.write_stderr(f"oraclepack: {change.message}; reading them again\n")
                except StoreError as trouble:
                    error = _without_store(shim, trouble)
                    return _end(context, prepared, error, REFUSED_EXIT)
            raise AssertionError("the last reading asks without a key")

    def _read(self, call: LiveCall, shim: Shim) -> tuple[CallContext, PreparedCall] | int:
        """What the call asks for; an exit code where it is answered already, or cannot be."""
        context = self._context.with_secrets_of(call.env)
        try:
            return read_call(context, call, shim)
        except StoreError as trouble:
            error = _without_store(shim, trouble)
            ledger.conclude_other(context, call, OF_TOOL.get(call.tool), error, REFUSED_EXIT)
            return REFUSED_EXIT


def _unanswered(
    context: CallContext, prepared: PreparedCall, shim: Shim, claim: Claim
) -> tuple[OracleAsk, bool] | int:
    """Answer from the cache or an earlier call; else the question, and whether it is forced."""
    exit_code = cached(context, prepared, shim, claim)
    if exit_code is not None:
        settle_earlier(context, prepared, claim.open_call)
        return exit_code
    unanswered = adopted(context, prepared, shim, claim)
    if isinstance(unanswered, int):
        return unanswered
    asking = begin_asking(context, prepared, shim, claim, unanswered)
    if asking is None:
        return _end(context, prepared, _HELD_BACK, 1)
    return asking, unanswered.adoption.force


@contextmanager
def _settled(asking: OracleAsk, claim: Claim) -> Iterator[None]:
    """Settle the claim once the question was asked, unless it is still open."""
    try:
        yield
    except (StoreError, AttachmentsChangedError) as trouble:
        is_ended = asking.has_tried or isinstance(trouble, AttachmentsChangedError)
        if is_ended and not asking.is_open:
            claim.settle()
        raise
    if not asking.is_open:
        claim.settle()


def _without_store(shim: Shim, trouble: StoreError) -> StepError:
    """The shared store does not answer, or has given the call to another runner."""
    message = f"{trouble.message}; {trouble.hint}" if trouble.hint else trouble.message
    shim.write_stderr(f"oraclepack: {trouble.code}: {message}\n")
    return StepError(code=trouble.code, message=message, transient=trouble.retryable)


def read_call(
    context: CallContext, call: LiveCall, shim: Shim
) -> tuple[CallContext, PreparedCall] | int:
    """The question of a call; where it asks none or may not be made, the exit code it ended with.

    The context also knows the secrets that the tool itself would load.
    """
    if call.tool != ORACLE:
        return call_other_tool(context, call, shim)
    if steered := _steered(context, call):
        return refuse_call(context, call, shim, _DOTENV, steered)
    table = table_of(call.tool)
    first = parse_argv(table, call.argv)
    if not asks_a_model(first, call.argv) or (first.subcommand and context.options.rehearsal):
        return call_without_question(context, call, shim, first)
    if first.subcommand is not None:
        return call_other_tool(context, call, shim)
    words = () if call.is_overridden else context.options.overrides.for_step(call.step)
    argv = effective_argv(table, call.argv, words)
    values = read_question(parse_argv(table, argv), argv).files
    argv = without_own_files(context, call, argv, values)
    read = _read_question(context, call, shim, argv)
    if isinstance(read, Refusal):
        return refuse_call(context, call, shim, OUTPUT_PATH, str(read))
    question, outputs = read
    return _with_key(context, call, shim, argv, question, outputs)


def _read_question(
    context: CallContext, call: LiveCall, shim: Shim, argv: tuple[str, ...]
) -> tuple[OracleQuestion, Sequence[AllowedPath]] | Refusal:
    """What is asked and the files that promise its answer; what is in those is kept."""
    parsed = parse_argv(table_of(call.tool), argv)
    paths = check_paths(context, call, parsed)
    if isinstance(paths, Refusal):
        return paths
    stdin = shim.read_stdin() if reads_stdin(parsed, argv) else b""
    question = read_question(parsed, argv, stdin.decode("utf-8", "replace"))
    outputs = promised(context, call, question)
    if isinstance(outputs, Refusal):
        return outputs
    if (refused := refused_replacing(context, (*paths, *outputs))) is not None:
        return refused
    back_up_existing(context, call, (*paths, *outputs))
    return question, outputs


def _with_key(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    argv: tuple[str, ...],
    question: OracleQuestion,
    outputs: Sequence[AllowedPath],
) -> tuple[CallContext, PreparedCall] | int:
    oracle_context = oracle_context_of(call)
    around = OracleContext() if isinstance(oracle_context, Refusal) else oracle_context
    context = context.with_secrets_of(around.dotenv)
    if context.options.rehearsal:
        return rehearse(context, call, shim, argv, question, outputs, around)
    if linked := _linked(context, call, question):
        return refuse_call(context, call, shim, _LINKED, linked)
    read_ns = context.clock.monotonic_ns()
    key, attached = (
        (oracle_context, ())
        if isinstance(oracle_context, Refusal)
        else find_key(context, call, shim, argv, question, around)
    )
    prepared = prepare(context, call, argv, question, outputs, key, around)
    if not isinstance(key, InvocationKey):
        return context, prepared
    texts = (question.prompt.encode("utf-8", "replace"), *(file.data for file in attached))
    return context, replace(
        prepared,
        most_input=most_tokens(texts),
        attached=tuple((file.path, file.sha256) for file in attached),
        read_ns=read_ns,
    )


def cached(context: CallContext, prepared: PreparedCall, shim: Shim, claim: Claim) -> int | None:
    """Answer with an accepted, stored or paid answer; None when there is none."""
    accepted = accepted_answer(context, prepared)
    if accepted is not None:
        return _accept_unmet(context, prepared, shim, accepted)
    stored = find_stored(context, prepared, shim)
    if stored is not None:
        publish(context, prepared.call, prepared.outputs[0], stored.data)
        shim.write_stderr(f"oraclepack: answered before, {prepared.output_path} is written\n")
        ledger.conclude(
            context,
            prepared,
            ledger.Tally(context),
            cache=Cache.HIT,
            answer=stored.data,
            saved=stored.usage,
        )
        claim.settle()
        return 0
    # A call that a kill cut off may have a better answer: it is adopted first.
    paid = paid_answer(context, prepared) if claim.open_call is None else None
    return None if paid is None else _accept_unmet(context, prepared, shim, paid)


class Unanswered(msgspec.Struct, frozen=True):
    """No earlier call has answered the question; what is known of them."""

    adoption: AdoptionResult
    short: PaidAnswer | None
    """The last answer, which missed its contract: it is asked for again."""
    retry: OutputRetry | None


def adopted(
    context: CallContext, prepared: PreparedCall, shim: Shim, claim: Claim
) -> int | Unanswered:
    """Answer with the result of a call of a killed command, if it has one."""
    retry = interrupted_retry(context, prepared, claim.open_call)
    adoption = adopt(context, prepared, shim, claim.open_call)
    if adoption.stopped:
        return _end(context, prepared, STOPPED, STOPPED_EXIT)
    if adoption.undecided:
        message = "it is unknown whether an earlier call of this question was paid for"
        return _end(context, prepared, StepError(code=UNDECIDED, message=message), 1)
    short = adoption.unmet
    if short is not None:
        retry = _after_short(retry, adoption)
    elif adoption.answer is None:
        short = unmet_answer(context, prepared, retry) if retry else None
        short = short or paid_elsewhere(context, prepared)
    is_over = retry is None or retry.number > context.options.output_retries
    if short is not None and (is_over or not short.missing):
        exit_code = _accept_unmet(context, prepared, shim, short, adoption.record)
        close_earlier(context, prepared, adoption)
    elif adoption.answer is not None:
        shim.write_stderr(
            f"oraclepack: an earlier call was answered; {prepared.output_path} is its\n"
        )
        exit_code = take_over(context, prepared, shim, adoption)
    else:
        return Unanswered(adoption, short, retry)
    claim.settle()
    return exit_code


def begin_asking(
    context: CallContext, prepared: PreparedCall, shim: Shim, claim: Claim, unanswered: Unanswered
) -> OracleAsk | None:
    """Record that the question is about to be asked; None when that may pay for it twice."""
    if not _may_pay_again(context, prepared, shim, claim):
        return None
    short = unanswered.short
    if short is not None:
        keep_unmet(context, prepared, shim, short.data)
        publish(context, prepared.call, prepared.outputs[0], short.data)
        lacks = ", ".join(short.missing)
        shim.write_stderr(f"oraclepack: the answer lacks {lacks}; asking again\n")
    because = ""
    if claim.open_call is not None:
        because = unanswered.adoption.decided or "the earlier call has ended without an answer"
    asking = OracleAsk(context, prepared, shim, claim, unanswered.retry, because)
    asking.intend()
    close_earlier(context, prepared, unanswered.adoption)
    return asking


def _accept_unmet(
    context: CallContext,
    prepared: PreparedCall,
    shim: Shim,
    paid: PaidAnswer,
    record: SessionRecord | None = None,
) -> int:
    """An answer that missed its contract: corrected or accepted since, or still short of it."""
    publish(context, prepared.call, prepared.outputs[0], paid.data)
    tally, path = ledger.Tally(context), prepared.output_path
    if not paid.missing:
        how = "was accepted" if paid.accepted else "meets its contract now"
        where = f" (answer of run {paid.run_id})" if paid.run_id else ""
        shim.write_stderr(f"oraclepack: {path} {how}{where}; nothing was asked\n")
        record_acceptance(context, prepared, paid)
        ledger.conclude(
            context, prepared, tally, answer=paid.data, adopted=True, source_run=paid.run_id
        )
        return 0
    lacks = f"the answer lacks {', '.join(paid.missing)}"
    shim.write_stderr(f"oraclepack: CONTRACT: {lacks}; it was paid for and is not asked again\n")
    keep_unmet(context, prepared, shim, paid.data, record)
    ledger.conclude(
        context,
        prepared,
        tally,
        error=StepError(code="CONTRACT", message=lacks),
        exit_code=1,
        unmet=paid.data,
        session=record.id if record else None,
        source_run=paid.run_id,
    )
    return 1


def _may_pay_again(context: CallContext, prepared: PreparedCall, shim: Shim, claim: Claim) -> bool:
    """Whether to ask although the cache has an unsigned answer or call."""
    if not claim.is_unsigned and not is_held_back(context, prepared):
        return True
    match context.options.on_unknown:
        case OnUnknown.RETRY:
            return True
        case OnUnknown.ASK:
            question = f"{_HELD_BACK.message}. Ask again (it may be paid for twice)?"
            if decide(context, prepared.call, shim, question) == RETRY:
                return True
    shim.write_stderr(f"oraclepack: {_HELD_BACK.message}\n")
    return False


def _end(context: CallContext, prepared: PreparedCall, error: StepError, exit_code: int) -> int:
    ledger.conclude(context, prepared, ledger.Tally(context), error=error, exit_code=exit_code)
    return exit_code


def _steered(context: CallContext, call: LiveCall) -> str:
    """Why oracle is not called here: it would load a `.env` that sends it elsewhere."""
    options = context.options
    if options.rehearsal or options.trust_project or not call.cwd:
        return ""
    try:
        names = steering_of(call.cwd, call.env)
    except InputError as trouble:
        return trouble.message
    if not names:
        return ""
    return (
        f"oracle would load {Path(call.cwd, '.env')}, which sets {', '.join(names)}: your key "
        "and your files could go to another host, or another program run; remove it there, "
        "or set it in your own environment"
    )


def _linked(context: CallContext, call: LiveCall, question: OracleQuestion) -> str:
    """Why a file is not sent: the project has a link in its place, perhaps to a key."""
    if context.options.trust_project or not call.cwd:
        return ""
    for value in question.files:
        place = Path(call.cwd, literal_part(value))
        if not value.startswith("!") and leads_out(context.root, place):
            return (
                f"{value} leads out of the project by a symbolic link, and what lies there "
                "would be sent; attach the file itself by its own path, or put a copy there"
            )
    return ""


def _after_short(retry: OutputRetry | None, adoption: AdoptionResult) -> OutputRetry | None:
    """The retry that is due after the short answer of an interrupted call."""
    if adoption.unmet is None:
        return retry
    before = adoption.call.intent.retry if adoption.call and adoption.call.intent else None
    after = next_retry(before, adoption.unmet.data, adoption.record)
    return retry if retry is not None and retry.number > after.number else after
