"""The answer to one call of a tool: what the gateway asks for whenever a shim calls."""

from oraclepack.adapters.jail import Refused
from oraclepack.app.calls import files, notes
from oraclepack.app.calls.adopt import adopt, take_over
from oraclepack.app.calls.ask import STOPPED, STOPPED_EXIT, Asking
from oraclepack.app.calls.prepared import (
    Prepared,
    check_paths,
    find_key,
    prepare,
    promised,
    surroundings_of,
)
from oraclepack.app.calls.rehearsal import rehearse
from oraclepack.app.calls.store import find_stored
from oraclepack.app.calls.world import CallWorld
from oraclepack.core.call import ORACLE
from oraclepack.core.flags import ParsedArgv, parse_argv, table_of
from oraclepack.core.invocation import LiveCall, Shim, ToolEnd, ToolRun
from oraclepack.core.invocation_key import NoKey
from oraclepack.core.limit import limit_for
from oraclepack.core.oracle_surroundings import Surroundings
from oraclepack.core.readable import readable
from oraclepack.core.result import Cache, StepError
from oraclepack.intercept.overrides import effective_argv
from oraclepack.intercept.provider import OF_TOOL
from oraclepack.intercept.question import asks_a_model, read_question, reads_stdin

_REFUSED_EXIT = 1


class Calls:
    """Answers the calls of a run; give `answer` to the gateway. Safe in several threads."""

    def __init__(self, world: CallWorld) -> None:
        self._world = world

    def attached(self, step: str, attempt: int) -> dict[str, str]:
        """What the calls of an attempt attached: paths from the project root, and SHA-256."""
        return dict(self._world.shared.attached.get((step, attempt), {}))

    def answer(self, call: LiveCall, shim: Shim) -> int:
        """See to one call; the exit code with which it ends for the step."""
        place = (call.step, call.attempt, call.number)
        self._world.shared.live.add(place)
        try:
            return self._oracle(call, shim) if call.tool == ORACLE else self._other(call, shim)
        finally:
            self._world.shared.live.discard(place)

    def _other(self, call: LiveCall, shim: Shim) -> int:
        """Another tool: its paths are checked, its number limited, its end written down."""
        world = self._world
        parsed = parse_argv(table_of(call.tool), call.argv)
        provider = OF_TOOL.get(call.tool)
        refused = check_paths(world, call, parsed)
        if refused is not None:
            return self._refuse(call, shim, refused, provider)
        notes.intend_other(world, call, provider, parsed)
        name = provider or call.tool
        slot = world.limits.acquire(name, limit_for(name, world.options.limits), shim.pause)
        if slot is None:
            notes.conclude_other(world, call, provider, STOPPED, STOPPED_EXIT)
            return STOPPED_EXIT
        with slot:
            end = self._run(call, shim, provider, parsed)
        notes.conclude_other(world, call, provider, _plain_error(end), end.exit_code)
        return end.exit_code

    def _run(self, call: LiveCall, shim: Shim, provider: str | None, parsed: ParsedArgv) -> ToolEnd:
        limit = self._world.options.call_timeout
        order = ToolRun(call.tool, call.argv, call.cwd, call.env, limit)
        end = shim.run(
            order,
            lambda process: notes.intend_other(self._world, call, provider, parsed, process),
        )
        if end.trouble:
            shim.tell(f"oraclepack: {end.trouble}\n")
        return end

    def _oracle(self, call: LiveCall, shim: Shim) -> int:
        world, table = self._world, table_of(call.tool)
        first = parse_argv(table, call.argv)
        if not asks_a_model(first, call.argv):
            return self._look_only(call, shim, first)
        if first.subcommand is not None:
            return self._other(call, shim)
        argv = effective_argv(table, call.argv, world.options.overrides.for_step(call.step))
        parsed = parse_argv(table, argv)
        refused = check_paths(world, call, parsed)
        if refused is not None:
            return self._refuse(call, shim, refused, None)
        said = shim.read_stdin() if reads_stdin(parsed, argv) else b""
        question = read_question(parsed, argv, said.decode("utf-8", "replace"))
        outputs = promised(world, call, question)
        if isinstance(outputs, Refused):
            return self._refuse(call, shim, outputs, None)
        found = surroundings_of(call)
        around = Surroundings() if isinstance(found, NoKey) else found
        if world.options.rehearsal:
            return rehearse(world, call, shim, argv, question, outputs, around)
        unread = found if isinstance(found, NoKey) else None
        key = unread or find_key(world, call, shim, argv, question, around)
        return self._question(prepare(world, call, argv, question, outputs, key, around), shim)

    def _question(self, prepared: Prepared, shim: Shim) -> int:
        """Answered before, adopted, or asked: in this order, and by one at a time."""
        world = self._world
        with world.shared.alone(prepared.key_value, shim.pause) as ours:
            if not ours:
                notes.conclude(
                    world,
                    prepared,
                    notes.Tally(world),
                    error=STOPPED,
                    exit_code=STOPPED_EXIT,
                )
                return STOPPED_EXIT
            stored = find_stored(world, prepared, shim)
            if stored is not None:
                files.publish(prepared.outputs[0], stored)
                shim.tell(f"oraclepack: answered before, {prepared.output_path} is written\n")
                notes.conclude(world, prepared, notes.Tally(world), cache=Cache.HIT)
                return 0
            return self._adopt_or_ask(prepared, shim)

    def _adopt_or_ask(self, prepared: Prepared, shim: Shim) -> int:
        world = self._world
        found = adopt(world, prepared, shim)
        if found.stopped:
            return self._end(prepared, STOPPED, STOPPED_EXIT)
        if found.undecided:
            message = "nobody can tell whether an earlier call of this question was paid for"
            return self._end(prepared, StepError(code="UNDECIDED", message=message), 1)
        if found.answer is not None:
            shim.tell(f"oraclepack: an earlier call was answered; {prepared.output_path} is its\n")
            return take_over(world, prepared, found)
        return Asking(world, prepared, shim).ask(force=found.force)

    def _end(self, prepared: Prepared, error: StepError, exit_code: int) -> int:
        tally = notes.Tally(self._world)
        notes.conclude(self._world, prepared, tally, error=error, exit_code=exit_code)
        return exit_code

    def _look_only(self, call: LiveCall, shim: Shim, parsed: ParsedArgv) -> int:
        """No model is asked: the tool does it, and only its paths concern us."""
        refused = check_paths(self._world, call, parsed)
        if refused is not None:
            return self._refuse(call, shim, refused, None)
        if self._world.options.rehearsal:
            shim.tell("oraclepack: [rehearsal] nothing is asked here, so oracle is not called\n")
            return 0
        order = ToolRun(call.tool, call.argv, call.cwd, call.env)
        end = shim.run(order, lambda _: None)
        if end.trouble:
            shim.tell(f"oraclepack: {end.trouble}\n")
        return end.exit_code

    def _refuse(self, call: LiveCall, shim: Shim, refused: Refused, provider: str | None) -> int:
        message = readable(f"{refused.path}: {refused.reason}")
        shim.tell(self._world.redactor.clean(f"oraclepack: OUTPUT_PATH: {message}\n"))
        error = StepError(code="OUTPUT_PATH", message=message)
        notes.conclude_other(self._world, call, provider, error, _REFUSED_EXIT)
        return _REFUSED_EXIT


def _plain_error(end: ToolEnd) -> StepError | None:
    if end.trouble:
        return StepError(code="TOOL_MISSING", message=end.trouble)
    if end.timed_out:
        message = "the call took longer than --call-timeout allows"
        return StepError(code="CALL_TIMEOUT", message=message, transient=True)
    if end.stopped:
        return STOPPED
    if end.exit_code:
        return StepError(code="EXIT_CODE", message=f"exit code {end.exit_code}")
    return None
