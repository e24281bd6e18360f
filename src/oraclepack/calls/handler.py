"""The answer to one call of a tool: what the gateway asks for whenever a shim calls."""

from collections.abc import Sequence
from pathlib import Path

from oraclepack.calls import answer_files, ledger
from oraclepack.calls.adopt import AdoptionResult, adopt, close_earlier, take_over
from oraclepack.calls.adoption_rules import OnUnknown
from oraclepack.calls.answer_files import keep_older
from oraclepack.calls.ask import STOPPED, STOPPED_EXIT, OracleAsk
from oraclepack.calls.context import CallContext
from oraclepack.calls.key import NoKey
from oraclepack.calls.live_call import LiveCall, Shim, ToolEnd, ToolRun
from oraclepack.calls.other_runs import paid_elsewhere, record_acceptance
from oraclepack.calls.overrides import effective_argv
from oraclepack.calls.prepare import (
    PreparedCall,
    check_paths,
    find_key,
    prepare,
    promised,
    surroundings_of,
)
from oraclepack.calls.rehearse import refused_replacing, rehearse, rehearse_other
from oraclepack.calls.stored_answers import find_stored, is_held_back
from oraclepack.calls.truth import TIMED_OUT
from oraclepack.calls.unmet_answers import (
    PaidAnswer,
    accepted_answer,
    interrupted_retry,
    next_retry,
    paid_answer,
    unmet_answer,
)
from oraclepack.calls.waiting import AskTurn, asking_alone, wait_for_slot
from oraclepack.errors import InputError, StepError
from oraclepack.journal.statuses import Cache, OutputRetry
from oraclepack.system.path_jail import AllowedPath, RefusedPath, leads_out
from oraclepack.system.printable import readable
from oraclepack.system.secrets import Redactor
from oraclepack.tools.argv import ParsedArgv, parse_argv, table_of
from oraclepack.tools.oracle_attachments import literal_part
from oraclepack.tools.oracle_config import OracleContext, steering_of
from oraclepack.tools.oracle_failures import last_words
from oraclepack.tools.oracle_question import (
    OracleQuestion,
    asks_a_model,
    read_question,
    reads_stdin,
)
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.providers import OF_TOOL
from oraclepack.tools.tool_names import ORACLE

_REFUSED_EXIT = 1
_HELD_BACK = StepError(
    code="UNSIGNED_ANSWER",
    message="the cache has an answer to this question, or a call of it, that nobody has signed; "
    "`oraclepack trust --cache` takes it over, --on-unknown retry asks again",
)
_DOTENV = "PROJECT_ENV"
_LINKED = "ATTACHED_LINK"


class CallHandler:
    """Answers the calls of a run; give `answer` to the gateway. Safe in several threads."""

    def __init__(self, world: CallContext) -> None:
        self._world = world

    def attached(self, step: str, attempt: int) -> dict[str, str]:
        """What the calls of an attempt attached: paths from the project root, and SHA-256."""
        return dict(self._world.shared.attached.get((step, attempt), {}))

    def answer(self, call: LiveCall, shim: Shim) -> int:
        """See to one call; the exit code with which it ends for the step."""
        place = (call.step, call.attempt, call.number)
        self._world.shared.live.add(place)
        try:
            return _Answering(self._world.knowing(call.env), call, shim).answer()
        finally:
            self._world.shared.live.discard(place)


class _Answering:
    """One call on its way to its end."""

    def __init__(self, world: CallContext, call: LiveCall, shim: Shim) -> None:
        self._world = world
        self._call = call
        self._shim = shim

    def answer(self) -> int:
        if self._call.tool != ORACLE:
            return self._other()
        steered = self._steered()
        return self._stop(_DOTENV, steered, None) if steered else self._oracle()

    def _other(self) -> int:
        """Another tool: its paths are checked, its number limited, its end written down."""
        world, call, shim = self._world, self._call, self._shim
        parsed = parse_argv(table_of(call.tool), call.argv)
        provider = OF_TOOL.get(call.tool)
        paths = check_paths(world, call, parsed)
        if isinstance(paths, RefusedPath):
            return self._refuse(paths, provider)
        if (kept := refused_replacing(world, paths)) is not None:
            return self._refuse(kept, provider)
        keep_older(world, call, paths)
        if world.options.rehearsal:
            return rehearse_other(world, call, shim, parsed, paths)
        ledger.intend_other(world, call, provider, parsed)
        slot = wait_for_slot(world, call, shim, provider or call.tool)
        if slot is None:
            ledger.conclude_other(world, call, provider, STOPPED, STOPPED_EXIT)
            return STOPPED_EXIT
        with slot:
            end = self._run(provider, parsed)
        made = paths[0].relative if paths else None
        error = _plain_error(end, world.redactor)
        ledger.conclude_other(world, call, provider, error, end.exit_code, made)
        return end.exit_code

    def _run(self, provider: str | None, parsed: ParsedArgv) -> ToolEnd:
        call, limit = self._call, self._world.options.call_timeout
        order = ToolRun(call.tool, call.argv, call.cwd, call.env, limit)
        end = self._shim.run(
            order,
            lambda process: ledger.intend_other(self._world, call, provider, parsed, process),
        )
        if end.trouble:
            self._shim.tell(f"oraclepack: {end.trouble}\n")
        return end

    def _oracle(self) -> int:
        world, call, shim = self._world, self._call, self._shim
        table = table_of(call.tool)
        first = parse_argv(table, call.argv)
        if not asks_a_model(first, call.argv) or (first.subcommand and world.options.rehearsal):
            return self._look_only(first)
        if first.subcommand is not None:
            return self._other()
        argv = effective_argv(table, call.argv, world.options.overrides.for_step(call.step))
        parsed = parse_argv(table, argv)
        paths = check_paths(world, call, parsed)
        if isinstance(paths, RefusedPath):
            return self._refuse(paths, None)
        said = shim.read_stdin() if reads_stdin(parsed, argv) else b""
        question = read_question(parsed, argv, said.decode("utf-8", "replace"))
        outputs = promised(world, call, question)
        if not isinstance(outputs, RefusedPath):
            outputs = refused_replacing(world, (*paths, *outputs)) or outputs
        if isinstance(outputs, RefusedPath):
            return self._refuse(outputs, None)
        keep_older(world, call, (*paths, *outputs))
        return self._understood(argv, question, outputs)

    def _understood(
        self, argv: tuple[str, ...], question: OracleQuestion, outputs: Sequence[AllowedPath]
    ) -> int:
        """A question whose answer may be written where it is promised."""
        world, call, shim = self._world, self._call, self._shim
        found = surroundings_of(call)
        around = OracleContext() if isinstance(found, NoKey) else found
        self._world = world = world.knowing(around.dotenv)
        if world.options.rehearsal:
            return rehearse(world, call, shim, argv, question, outputs, around)
        linked = self._linked(question)
        if linked:
            return self._stop(_LINKED, linked, None)
        unread = found if isinstance(found, NoKey) else None
        key = unread or find_key(world, call, shim, argv, question, around)
        return self._question(prepare(world, call, argv, question, outputs, key, around))

    def _question(self, prepared: PreparedCall) -> int:
        """Answered before, adopted, or asked: in this order, and by one at a time."""
        world, shim = self._world, self._shim
        with asking_alone(world, prepared, shim) as turn:
            if not turn.is_ours:
                return self._end(prepared, STOPPED, STOPPED_EXIT)
            accepted = accepted_answer(world, prepared)
            if accepted is not None:
                return self._take_as_it_is(prepared, accepted)
            stored = find_stored(world, prepared, shim)
            if stored is not None:
                answer_files.publish(prepared.outputs[0], stored)
                shim.tell(f"oraclepack: answered before, {prepared.output_path} is written\n")
                tally = ledger.Tally(world)
                ledger.conclude(world, prepared, tally, cache=Cache.HIT, answer=stored)
                turn.settle()
                return 0
            # A call that a kill cut off may have a better answer: it is adopted first.
            paid = paid_answer(world, prepared) if turn.left is None else None
            if paid is not None:
                return self._take_as_it_is(prepared, paid)
            return self._adopt_or_ask(prepared, turn)

    def _take_as_it_is(
        self, prepared: PreparedCall, paid: PaidAnswer, record: SessionRecord | None = None
    ) -> int:
        """An answer that missed its contract: corrected or accepted since, or still short of it."""
        world, shim = self._world, self._shim
        self._put_in_place(prepared, paid.data)
        tally, path = ledger.Tally(world), prepared.output_path
        if not paid.missing:
            how = "was accepted" if paid.accepted else "meets its contract now"
            where = f" (answer of run {paid.run_id})" if paid.run_id else ""
            shim.tell(f"oraclepack: {path} {how}{where}; nothing was asked\n")
            record_acceptance(world, prepared, paid)
            ledger.conclude(
                world, prepared, tally, answer=paid.data, adopted=True, source_run=paid.run_id
            )
            return 0
        lacks = f"the answer lacks {', '.join(paid.missing)}"
        shim.tell(f"oraclepack: CONTRACT: {lacks}; it was paid for and is not asked again\n")
        error = StepError(code="CONTRACT", message=lacks)
        session = record.id if record else None
        ledger.conclude(
            world,
            prepared,
            tally,
            error=error,
            exit_code=1,
            unmet=paid.data,
            session=session,
            source_run=paid.run_id,
        )
        return 1

    def _put_in_place(self, prepared: PreparedCall, data: bytes) -> None:
        """A paid answer stands where the pack wants it; what stood there is kept aside."""
        if answer_files.read_answers(prepared.outputs) != [data]:
            answer_files.set_aside(self._world, prepared.call, prepared.outputs)
            answer_files.publish(prepared.outputs[0], data)

    def _adopt_or_ask(self, prepared: PreparedCall, turn: AskTurn) -> int:
        world, shim = self._world, self._shim
        retry = interrupted_retry(world, prepared, turn.left)
        found = adopt(world, prepared, shim, turn.left)
        if found.stopped:
            return self._end(prepared, STOPPED, STOPPED_EXIT)
        if found.undecided:
            message = "nobody can tell whether an earlier call of this question was paid for"
            return self._end(prepared, StepError(code="UNDECIDED", message=message), 1)
        short = found.unmet
        if short is not None:
            retry = _after_short(retry, found)
        elif found.answer is None:
            short = unmet_answer(world, prepared, retry) if retry else None
            short = short or paid_elsewhere(world, prepared)
            retry = retry or (short.retry if short else None)
        is_over = retry is None or retry.number > world.options.output_retries
        if short is not None and (is_over or not short.missing):
            exit_code = self._take_as_it_is(prepared, short, found.record)
            close_earlier(world, found)
        elif found.answer is not None:
            shim.tell(f"oraclepack: an earlier call was answered; {prepared.output_path} is its\n")
            exit_code = take_over(world, prepared, shim, found)
        elif not self._may_pay_again(prepared, turn):
            return self._end(prepared, _HELD_BACK, 1)
        else:
            if short is not None:
                self._put_in_place(prepared, short.data)
                lacks = ", ".join(short.missing)
                shim.tell(f"oraclepack: the answer lacks {lacks}; asking again\n")
            asking = OracleAsk(world, prepared, shim, turn.claim, retry)
            asking.intend()
            close_earlier(world, found)
            exit_code = asking.ask(force=found.force)
            if asking.goes_on:
                return exit_code
        turn.settle()
        return exit_code

    def _may_pay_again(self, prepared: PreparedCall, turn: AskTurn) -> bool:
        """Whether to ask although the cache speaks of an answer, or a call, that is not signed."""
        world, shim = self._world, self._shim
        is_claimed = turn.claim is not None and turn.claim.is_unsigned
        if not is_claimed and not is_held_back(world, prepared):
            return True
        match world.options.on_unknown:
            case OnUnknown.RETRY:
                return True
            case OnUnknown.ASK if world.ask is not None:
                question = f"{_HELD_BACK.message}. Ask again (it may be paid for twice)?"
                if world.ask(question, shim.pause):
                    return True
        shim.tell(f"oraclepack: {_HELD_BACK.message}\n")
        return False

    def _end(self, prepared: PreparedCall, error: StepError, exit_code: int) -> int:
        tally = ledger.Tally(self._world)
        ledger.conclude(self._world, prepared, tally, error=error, exit_code=exit_code)
        return exit_code

    def _look_only(self, parsed: ParsedArgv) -> int:
        """No model is asked: the tool does it, and only its paths concern us."""
        call, shim = self._call, self._shim
        paths = check_paths(self._world, call, parsed)
        if isinstance(paths, RefusedPath):
            return self._refuse(paths, None)
        if self._world.options.rehearsal:
            shim.tell("oraclepack: [rehearsal] oracle is not called for this\n")
            return 0
        order = ToolRun(call.tool, call.argv, call.cwd, call.env)
        end = shim.run(order, lambda _: None)
        if end.trouble:
            shim.tell(f"oraclepack: {end.trouble}\n")
        return end.exit_code

    def _steered(self) -> str:
        """Why oracle is not called here: it would load a `.env` that sends it elsewhere."""
        options, call = self._world.options, self._call
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

    def _linked(self, question: OracleQuestion) -> str:
        """Why a file is not sent: the project has a link in its place, perhaps to a key."""
        if self._world.options.trust_project or not self._call.cwd:
            return ""
        for value in question.files:
            place = Path(self._call.cwd, literal_part(value))
            if not value.startswith("!") and leads_out(self._world.root, place):
                return (
                    f"{value} leads out of the project by a symbolic link, and what lies there "
                    "would be sent; attach the file itself by its own path, or put a copy there"
                )
        return ""

    def _refuse(self, refused: RefusedPath, provider: str | None) -> int:
        return self._stop("OUTPUT_PATH", f"{refused.path}: {refused.reason}", provider)

    def _stop(self, code: str, reason: str, provider: str | None) -> int:
        """The call is not made."""
        message = readable(reason)
        self._shim.tell(self._world.redactor.clean(f"oraclepack: {code}: {message}\n"))
        error = StepError(code=code, message=message)
        ledger.conclude_other(self._world, self._call, provider, error, _REFUSED_EXIT)
        return _REFUSED_EXIT


def _after_short(retry: OutputRetry | None, found: AdoptionResult) -> OutputRetry | None:
    """The retry that is due after the short answer of an interrupted call."""
    if found.unmet is None:
        return retry
    before = found.call.intent.retry if found.call and found.call.intent else None
    after = next_retry(before, found.unmet.data, found.record)
    return retry if retry is not None and retry.number > after.number else after


def _plain_error(end: ToolEnd, redactor: Redactor) -> StepError | None:
    if end.trouble:
        return StepError(code="TOOL_MISSING", message=end.trouble)
    if end.timed_out:
        return TIMED_OUT.error()
    if end.stopped:
        return STOPPED
    if end.exit_code:
        # Cleaned before it is cut: what is left of a secret would not be known for one.
        reason = last_words(redactor.clean(end.err))
        message = f"exit code {end.exit_code}: {reason}" if reason else f"exit code {end.exit_code}"
        return StepError(code="EXIT_CODE", message=message)
    return None
