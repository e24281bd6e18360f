"""Calls that ask no question of oracle: of other tools, without a model, or refused."""

from collections.abc import Sequence
from pathlib import Path

from oraclepack.calls import ledger
from oraclepack.calls.answer_files import back_up_replaced, lack_of_room
from oraclepack.calls.call import STOPPED, STOPPED_EXIT
from oraclepack.calls.call_budget import reserve_try
from oraclepack.calls.call_folder import CallFolder
from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import LiveCall, Shim, ToolEnd, ToolRun
from oraclepack.calls.prepare import check_paths
from oraclepack.calls.publication import publish
from oraclepack.calls.rehearse import refused_replacing, rehearse_other
from oraclepack.calls.truth import TIMED_OUT
from oraclepack.calls.waiting import asking_unkeyed, wait_for_slot
from oraclepack.calls.worst_case import WorstCase
from oraclepack.errors import OraclePackError, Refusal, StepError
from oraclepack.journal.statuses import OUTPUT_PATH
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.spending import Spending
from oraclepack.system import files
from oraclepack.system.path_jail import AllowedPath, jail, read_content
from oraclepack.system.printable import readable
from oraclepack.system.secrets import Redactor
from oraclepack.tools.argv import ParsedArgv, parse_argv
from oraclepack.tools.flag_tables import Role, table_of
from oraclepack.tools.oracle_failures import last_words
from oraclepack.tools.providers import OF_TOOL

REFUSED_EXIT = 1
_READ_OUTPUTS = frozenset({"task-master"})
"""Tools that may read the file they are to write, as `parse-prd --append` does."""


def call_other_tool(context: CallContext, call: LiveCall, shim: Shim) -> int:
    """Another tool: its paths are checked, its number limited, its end written down."""
    parsed = parse_argv(table_of(call.tool), call.argv)
    provider = OF_TOOL.get(call.tool)
    paths = check_paths(context, call, parsed)
    refused = paths if isinstance(paths, Refusal) else refused_replacing(context, paths)
    if isinstance(paths, Refusal) or refused is not None:
        assert refused is not None
        return refuse_call(context, call, shim, OUTPUT_PATH, str(refused), provider)
    outputs = _outputs(context, call, parsed)
    for side_file in set(paths) - set(outputs):  # the tool itself writes to them
        back_up_replaced(context, call, side_file.path)
    if context.options.rehearsal:
        return rehearse_other(context, call, shim, parsed, paths)
    folder = _folder_of(context, call, outputs)
    argv = folder.argv(parsed, call.argv, call.cwd) if folder else call.argv
    ledger.intend_other(context, call, provider, parsed)
    slot = wait_for_slot(context, call, shim, provider or call.tool)
    if slot is None:
        ledger.conclude_other(context, call, provider, STOPPED, STOPPED_EXIT)
        return STOPPED_EXIT
    timeout, is_paid = context.options.call_timeout, provider is not None
    order = ToolRun(call.tool, argv, call.cwd, call.env, timeout, is_paid=is_paid)
    with slot:
        end = _run_other_tool(context, call, shim, order, provider)
    if isinstance(end, StepError):
        return refuse_call(context, call, shim, end.code, end.message, provider)
    if end.trouble:
        shim.write_stderr(f"oraclepack: {end.trouble}\n")
    output_path = paths[0].relative if paths else None
    error = _plain_error(end, context.redactor)
    if folder is not None:
        error = error or _published(context, call, shim, folder)
    ledger.end_try(context, call, 1, exit_code=end.exit_code, error=error)
    exit_code = end.exit_code or (1 if error is not None else 0)
    ledger.conclude_other(context, call, provider, error, exit_code, output_path)
    if folder is not None:
        folder.remove()
    return exit_code


def _outputs(context: CallContext, call: LiveCall, parsed: ParsedArgv) -> list[AllowedPath]:
    """The files that hold what the tool answers."""
    uses = [use for use in parsed.with_role(Role.OUTPUT) if use.value is not None]
    named = [jail(context.root, use.value or "", Path(call.cwd)) for use in uses]
    return [path for path in named if isinstance(path, AllowedPath)]


def _folder_of(
    context: CallContext, call: LiveCall, outputs: Sequence[AllowedPath]
) -> CallFolder | None:
    """Where the tool writes its outputs, with copies of those that it may read first."""
    if not outputs:
        return None
    folder = CallFolder.make(context, call, 1, outputs)
    for output in outputs if call.tool in _READ_OUTPUTS else ():
        data = read_content(output.path).data
        if data is not None:
            files.write_atomic(folder.place(output), data, durable=False)
    return folder


def _published(
    context: CallContext, call: LiveCall, shim: Shim, folder: CallFolder
) -> StepError | None:
    """Put what a tool has written in place, whole; an error where that cannot be done."""
    for relative in folder.files():
        output = jail(context.root, relative)
        if isinstance(output, Refusal):
            return StepError(code=OUTPUT_PATH, message=f"{relative}: {output.reason}")
        data = folder.read(output)
        try:
            if data is not None:
                publish(context, call, output, data, folder.mode(output))
        except OraclePackError as trouble:
            shim.write_stderr(f"oraclepack: {OUTPUT_PATH}: {trouble.message}\n")
            return StepError(code=OUTPUT_PATH, message=trouble.message)
    return None


def _run_other_tool(
    context: CallContext, call: LiveCall, shim: Shim, order: ToolRun, provider: str | None
) -> ToolEnd | StepError:
    """Start it; an error where it does not fit the budget or the disk. Its cost is not known."""
    parsed = parse_argv(table_of(call.tool), call.argv)
    if provider is None:
        ledger.begin_try(context, call, 1)
        return shim.run(
            order, lambda process: ledger.intend_other(context, call, None, parsed, process)
        )
    full = lack_of_room(context)
    if full is not None:
        return full
    worst = WorstCase(Spending(calls=1), ("cost", "tokens"), call.tool)
    held = reserve_try(context, call, shim, worst)
    if isinstance(held, StepError):
        return held
    with held, asking_unkeyed(context, call) as claim:

        def started(process: ProcessIdentity) -> None:
            ledger.intend_other(context, call, provider, parsed, process, held.name, claim)
            held.open()

        ledger.begin_try(context, call, 1)
        end = shim.run(order, started)
        claim.settle()
        held.settle(None, None)
        return end


def call_without_question(
    context: CallContext, call: LiveCall, shim: Shim, parsed: ParsedArgv
) -> int:
    """No model is asked: the tool does it, and only its paths concern us."""
    paths = check_paths(context, call, parsed)
    if isinstance(paths, Refusal):
        return refuse_call(context, call, shim, OUTPUT_PATH, str(paths))
    if context.options.rehearsal:
        shim.write_stderr("oraclepack: [rehearsal] oracle is not called for this\n")
        return 0
    end = shim.run(ToolRun(call.tool, call.argv, call.cwd, call.env), lambda _: None)
    if end.trouble:
        shim.write_stderr(f"oraclepack: {end.trouble}\n")
    return end.exit_code


def refuse_call(
    context: CallContext,
    call: LiveCall,
    shim: Shim,
    code: str,
    reason: str,
    provider: str | None = None,
) -> int:
    """The call is not made."""
    message = readable(reason)
    shim.write_stderr(context.redactor.clean(f"oraclepack: {code}: {message}\n"))
    error = StepError(code=code, message=message)
    ledger.conclude_other(context, call, provider, error, REFUSED_EXIT)
    return REFUSED_EXIT


def _plain_error(end: ToolEnd, redactor: Redactor) -> StepError | None:
    if end.trouble:
        return StepError(code="TOOL_MISSING", message=end.trouble)
    if end.timed_out:
        return TIMED_OUT.error()
    if end.stopped:
        return STOPPED
    if end.exit_code:
        # Redacted before it is cut: a part of a secret would not be recognised.
        reason = last_words(redactor.clean(end.err))
        message = f"exit code {end.exit_code}: {reason}" if reason else f"exit code {end.exit_code}"
        return StepError(code="EXIT_CODE", message=message)
    return None
