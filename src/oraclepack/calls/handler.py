"""One call of a tool in a step, from the shim's request to its exit code.

A question is answered with what was paid for before (`sources.py` has the list), else by asking
(`ask.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from oraclepack.calls import ledger
from oraclepack.calls.answer_files import back_up_replaced
from oraclepack.calls.ask import OracleAsk
from oraclepack.calls.call import STOPPED, STOPPED_EXIT, Call, Held
from oraclepack.calls.context import CallContext
from oraclepack.calls.interrupted import settle_earlier
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
from oraclepack.calls.several_models import (
    ModelCall,
    calls_by_model,
    exit_code_of,
    publish_manifest,
)
from oraclepack.calls.sources import find
from oraclepack.calls.stored_answers import keep_unmet
from oraclepack.calls.unmet_answers import interrupted_retry
from oraclepack.calls.waiting import asking_alone
from oraclepack.calls.worst_case import most_tokens
from oraclepack.errors import InputError, Refusal, StepError
from oraclepack.journal.statuses import OUTPUT_PATH
from oraclepack.store.claims import Claim
from oraclepack.store.database import StoreError
from oraclepack.system.clock import rfc3339
from oraclepack.system.path_jail import AllowedPath, leads_out
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_attachments import literal_part
from oraclepack.tools.oracle_config import OracleContext, steering_of
from oraclepack.tools.oracle_question import (
    OracleQuestion,
    asks_a_model,
    read_question,
    reads_stdin,
)
from oraclepack.tools.providers import OF_TOOL
from oraclepack.tools.tool_names import ORACLE

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
        if not call.is_overridden and (parts := calls_by_model(self._context, call, shim)):
            return self._answer_each(call, parts, shim)
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
                        question = Call(context, prepared, shim, claim)
                        exit_code = _found(question)
                        if exit_code is not None:
                            return exit_code
                        asking = begin_asking(question)
                        with _settled(asking, claim):
                            return asking.ask()
                except AttachmentsChangedError as change:
                    shim.write_stderr(f"oraclepack: {change.message}; reading them again\n")
                except StoreError as trouble:
                    error = _without_store(shim, trouble)
                    return _end(context, prepared, error, REFUSED_EXIT)
            raise AssertionError("the last reading asks without a key")

    def _answer_each(self, call: LiveCall, parts: Sequence[ModelCall], shim: Shim) -> int:
        """Answer a call that asks several models: one call for each."""
        for part in parts:
            parsed = parse_argv(table_of(ORACLE), part.call.argv)
            paths = check_paths(self._context, part.call, parsed)
            if isinstance(paths, Refusal):
                return refuse_call(self._context, call, shim, OUTPUT_PATH, str(paths))
        codes = [self.answer(part.call, shim) for part in parts]
        publish_manifest(self._context, call, parts, codes)
        return exit_code_of(call, codes)

    def _read(self, call: LiveCall, shim: Shim) -> tuple[CallContext, PreparedCall] | int:
        """What the call asks for; an exit code where it is answered already, or cannot be."""
        context = self._context.with_secrets_of(call.env)
        try:
            return read_call(context, call, shim)
        except StoreError as trouble:
            error = _without_store(shim, trouble)
            ledger.conclude_other(context, call, OF_TOOL.get(call.tool), error, REFUSED_EXIT)
            return REFUSED_EXIT


def _found(call: Call) -> int | None:
    """Answer a question with what was paid for before; None when it is to be asked."""
    call.retry = interrupted_retry(call.context, call.prepared, call.claim.open_call)
    found = find(call)
    if found is None:
        return None
    if isinstance(found, Held):
        return call.end(found.error, found.exit_code)
    exit_code = call.take(found)
    settle_earlier(call)
    return exit_code


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
    """What is asked, and the files that promise its answer."""
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
    for side_file in set(paths) - set(outputs):  # the tool itself writes to them
        back_up_replaced(context, call, side_file.path)
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


def begin_asking(call: Call) -> OracleAsk:
    """Record that the question is about to be asked."""
    short = call.short
    if short is not None:
        keep_unmet(call.context, call.prepared, call.shim, short.data)
        publish(call.context, call.prepared.call, call.prepared.outputs[0], short.data)
        call.say(f"the answer lacks {', '.join(short.missing)}; asking again")
    if call.claim.open_call is not None:
        call.because = call.because or "the earlier call has ended without an answer"
    asking = OracleAsk(call)
    asking.intend()
    if short is not None and short.earlier is not None:
        call.close(short.earlier, short.record, ledger.TAKEN_OVER)
    return asking


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
