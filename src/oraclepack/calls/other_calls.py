"""Calls that ask no question of oracle: of other tools, or without a model."""

from collections.abc import Sequence
from pathlib import Path

from oraclepack.calls.answers import back_up_replaced, lack_of_room, publish
from oraclepack.calls.budget import WorstCase, reserve_try
from oraclepack.calls.call import STOPPED, STOPPED_EXIT, Call
from oraclepack.calls.question import check_paths, would_replace
from oraclepack.calls.waiting import slot_of, unkeyed_claim
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.engines.oracle_evidence import TIMED_OUT
from oraclepack.engines.rehearsal import rehearsed_answer, rehearsed_file, rehearsed_words
from oraclepack.engines.try_folder import TryFolder
from oraclepack.errors import OraclePackError, Refusal, StepError
from oraclepack.journal.statuses import OUTPUT_PATH
from oraclepack.pack.answer_sections import Section
from oraclepack.store.spending import Spending
from oraclepack.system import files
from oraclepack.system.path_jail import AllowedPath, jail, read_content
from oraclepack.tools.argv import ParsedArgv, parse_argv
from oraclepack.tools.flag_tables import Effect, Role, table_of
from oraclepack.tools.oracle_failures import last_words
from oraclepack.tools.oracle_question import OracleQuestion

_READ_OUTPUTS = frozenset({"task-master"})
"""Tools that may read the file they are to write, as `parse-prd --append` does."""
_READ_STDIN = frozenset({"codex", "gemini"})
"""Tools that read what is piped to them: their writer must not get a closed pipe."""


def call_without_question(call: Call, parsed: ParsedArgv) -> int:
    """No model is asked: the tool does it, and only its paths concern us."""
    made = call.made
    paths = check_paths(call, parsed)
    if isinstance(paths, Refusal):
        return call.refuse(OUTPUT_PATH, str(paths))
    if not call.engine.is_paid:
        call.say(f"[rehearsal] {made.tool} is not called for this")
        return 0
    end = call.shim.run(ToolRun(made.tool, made.argv, made.cwd, made.env), lambda _: None)
    if end.trouble:
        call.say(end.trouble)
    return end.exit_code


def call_other_tool(call: Call) -> int:
    """Another tool: its paths are checked, its number limited, its end written down."""
    made = call.made
    parsed = parse_argv(table_of(made.tool), made.argv)
    paths = check_paths(call, parsed)
    refused = paths if isinstance(paths, Refusal) else would_replace(call, paths)
    if isinstance(paths, Refusal) or refused is not None:
        return call.refuse(OUTPUT_PATH, str(refused))
    call.output_path = paths[0].relative if paths else None
    uses = [use.value for use in parsed.with_role(Role.OUTPUT) if use.value is not None]
    named = [jail(call.root, value, Path(made.cwd)) for value in uses]
    outputs = [path for path in named if isinstance(path, AllowedPath)]
    for side_file in set(paths) - set(outputs):  # the tool itself writes to them
        back_up_replaced(call, side_file.path)
    if not call.engine.is_paid:
        return _rehearsed(call, parsed, outputs)
    folder = _folder(call, outputs) if outputs else None
    argv = folder.argv(parsed, made.argv, made.cwd) if folder else made.argv
    call.intend()
    slot = slot_of(call)
    if slot is None:
        return call.conclude(STOPPED, STOPPED_EXIT)
    order = ToolRun(
        made.tool,
        argv,
        made.cwd,
        made.env,
        timeout=call.context.options.call_timeout,
        is_paid=call.provider is not None,
    )
    with slot:
        end = _run(call, order)
    if isinstance(end, StepError):
        return call.refuse(end.code, end.message)
    if end.trouble:
        call.say(end.trouble)
    error = _error(call, end)
    if folder is not None:
        error = error or _publish_all(call, folder)
        folder.remove()
    call.end_try(end.exit_code, error)
    call.conclude(error, end.exit_code)
    return end.exit_code or (1 if error is not None else 0)


def _folder(call: Call, outputs: Sequence[AllowedPath]) -> TryFolder:
    """Where the tool writes its outputs, with copies of those that it may read first."""
    numbers = f"{call.step}.{call.attempt}.{call.number}.1"
    folder = TryFolder.make(call.root, call.context.run_dir, numbers, outputs)
    for output in outputs if call.made.tool in _READ_OUTPUTS else ():
        data = read_content(output.path).data
        if data is not None:
            files.write_atomic(folder.place(output), data, durable=False)
    return folder


def _run(call: Call, order: ToolRun) -> ToolEnd | StepError:
    """Start it; an error where it does not fit the budget or the disk. Its cost is not known."""
    if not order.is_paid:
        call.begin_try()
        return call.run(order)
    full = lack_of_room(call.context)
    if full is not None:
        return full
    reserved = reserve_try(call, WorstCase(Spending(calls=1), ("cost", "tokens"), order.tool))
    if isinstance(reserved, StepError):
        return reserved
    with reserved, unkeyed_claim(call) as claim:
        call.reserved, call.claim = reserved, claim
        call.begin_try()
        end = call.run(order)
        claim.settle()
        reserved.settle(None, None)
        return end


def _publish_all(call: Call, folder: TryFolder) -> StepError | None:
    """Put what a tool has written in place, whole; an error where that cannot be done."""
    for relative in folder.files():
        output = jail(call.root, relative)
        if isinstance(output, Refusal):
            return StepError(code=OUTPUT_PATH, message=f"{relative}: {output.reason}")
        data = folder.read(output)
        try:
            if data is not None:
                publish(call, output, data, folder.mode(output))
        except OraclePackError as trouble:
            call.say(f"{OUTPUT_PATH}: {trouble.message}")
            return StepError(code=OUTPUT_PATH, message=trouble.message)
    return None


def _error(call: Call, end: ToolEnd) -> StepError | None:
    if end.trouble:
        return StepError(code="TOOL_MISSING", message=end.trouble)
    if end.timed_out:
        return TIMED_OUT.error()
    if end.stopped:
        return STOPPED
    if end.exit_code:
        # Redacted before it is cut: a part of a secret would not be recognised.
        reason = last_words(call.clean(end.err))
        message = f"exit code {end.exit_code}: {reason}" if reason else f"exit code {end.exit_code}"
        return StepError(code="EXIT_CODE", message=message)
    return None


def _rehearsed(call: Call, parsed: ParsedArgv, outputs: list[AllowedPath]) -> int:
    """Answer it ourselves: the files it declares, and words on stdout."""
    made = call.made
    call.intend()
    if any(use.spec.effect is Effect.INSPECT for use in parsed.flags):
        call.say(f"[rehearsal] {made.tool} is not called for this")
        return call.conclude()
    if made.tool in _READ_STDIN:
        call.shim.read_stdin()
    # What it is asked, for the answer to name; the last word where no flag has it.
    given = [use.value for use in parsed.with_role(Role.PROMPT) if use.value]
    words = given or [made.argv[at] for at in parsed.operands]
    question = OracleQuestion(words[-1] if words else "")
    sections: dict[str, tuple[Section, ...]] = call.sections_by_path()
    for path in outputs:
        answer = rehearsed_answer(question, (), sections.get(path.relative, ()))
        text = call.clean(rehearsed_file(path.relative, answer))
        publish(call, path, text.encode("utf-8", "replace"))
    call.write(rehearsed_words(parsed, rehearsed_answer(question, (), call.sections)))
    call.say(f"[rehearsal] {made.tool} was not started")
    return call.conclude()
