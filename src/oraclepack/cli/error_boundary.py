"""The error boundary: every command line ends here as one reply and one exit code."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, NoReturn

import click
import msgspec

from oraclepack import __version__, api
from oraclepack.cli import render
from oraclepack.cli.command import CommandLine, HelpRequestedError, UnknownCommandError
from oraclepack.cli.crash import crashed
from oraclepack.cli.reply import Meta, Reply, ReplyError, reported_ms
from oraclepack.cli.root import VersionRequestedError, root
from oraclepack.cli.setting_options import JSON_FLAG, asks_for_json
from oraclepack.errors import ExitCode, LockedError, OraclePackError, RunAbortedError

PROGRAM = "oraclepack"
_VALUES_BETWEEN_COLLECTIONS = 50_000
_BY_ERROR: dict[type[OraclePackError], ExitCode] = {
    OraclePackError: ExitCode.INVALID,
    LockedError: ExitCode.LOCKED,
    RunAbortedError: ExitCode.STEP_FAILED,
}
"""The nearest class in an error's ancestry decides."""


class TerminatedError(BaseException):
    """The machine asked us to end (SIGTERM)."""


def run(args: Sequence[str], *, is_process: bool = False) -> int:
    """Answer one command line: print the reply, return the exit code.

    A process of its own also answers requests for completion, and ends by signals.
    """
    clock = api.SystemClock()
    started = clock.monotonic_ns()
    with _process(args) if is_process else nullcontext():
        variables = api.own_variables()
        request = CommandLine(argv=tuple(args), wants_json=asks_for_json(args, variables))
        try:
            program = root()
            with program.make_context(PROGRAM, list(args), obj=request) as context:
                reply: Any = program.invoke(context) if args else _nothing_asked(context)
            assert isinstance(reply, Reply), f"{request.command} gave no reply"
            reply = _completed(reply, request)
            printed = _printed(reply, request, clock.monotonic_ns() - started)
        except BaseException as ending:  # noqa: BLE001 - nothing may pass: a traceback is no answer
            reply = _completed(_ended(ending, request), request)
            printed = _printed(reply, request, clock.monotonic_ns() - started)
        refused = render.emit(printed)
        return int(reply.exit_code) or refused
    return int(ExitCode.TERMINATED)


@contextmanager
def _process(args: Sequence[str]) -> Iterator[None]:
    """What holds for a process that answers one command line and ends."""
    if api.is_completing():
        root().main(list(args), PROGRAM, complete_var=api.COMPLETION_VARIABLE)
    signal.signal(signal.SIGTERM, _terminate)
    # A command makes many values and few circles: looking for circles less often saves time.
    gc.set_threshold(_VALUES_BETWEEN_COLLECTIONS)
    try:
        # While the reply is being written there is nothing left to say.
        with suppress(TerminatedError):
            yield
    finally:
        # The process ends: collecting what the modules hold would cost a tenth of a short command.
        gc.freeze()


def _ended(ending: BaseException, request: CommandLine) -> Reply:
    """The one place where an exception becomes a reply."""
    match ending:
        case HelpRequestedError(text=text):
            reply = Reply(data={"help": text}, text=text)
        case VersionRequestedError():
            reply = Reply(data={"version": __version__}, text=f"{PROGRAM} {__version__}")
        case click.ClickException():
            reply = _misused(ending, request)
        case OraclePackError():
            reply = Reply(exit_code=_exit_code(ending), error=_error_reply(ending, request))
        case OSError() if (exhaustion := api.exhausted(ending)) is not None:
            reply = Reply(exit_code=_exit_code(exhaustion), error=_error_reply(exhaustion, request))
        case KeyboardInterrupt() | click.Abort():
            reply = _stopped(ExitCode.INTERRUPTED, request)
        case TerminatedError():
            reply = _stopped(ExitCode.TERMINATED, request)
        case _:
            reply = crashed(ending, request.command)
    return reply


def _exit_code(error: OraclePackError) -> ExitCode:
    return next(_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _BY_ERROR)


def _nothing_asked(context: click.Context) -> Reply:
    failure = ReplyError(
        "USAGE", "no command given", phase="arguments", suggestion=f"try {PROGRAM} --help"
    )
    return Reply(talk=context.get_help() + "\n\n", exit_code=ExitCode.INVALID, error=failure)


def _misused(error: click.ClickException, request: CommandLine) -> Reply:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else f"{PROGRAM} {request.command}".strip()
    suggestion = f"see {path} --help"
    message = error.format_message()
    if isinstance(error, UnknownCommandError):
        suggestion = error.hint
    elif isinstance(error, click.NoSuchOption):
        message = error.message
        suggestion = _nearest_option(error, path) or suggestion
    failure = ReplyError("USAGE", message, phase="arguments", suggestion=suggestion)
    return Reply(exit_code=ExitCode.INVALID, error=failure)


def _nearest_option(error: click.NoSuchOption, path: str) -> str:
    if path == PROGRAM and error.option_name in {JSON_FLAG, "--output", "--color", "--cwd"}:
        return f"options follow the command: {PROGRAM} COMMAND {error.option_name}"
    return f"did you mean {error.possibilities[0]}?" if error.possibilities else ""


def _error_reply(error: OraclePackError, request: CommandLine) -> ReplyError:
    return ReplyError(
        code=error.code,
        message=error.message,
        detail=error.detail,
        retryable=error.retryable,
        phase=request.phase,
        suggestion=error.hint,
        retry_after=error.retry_after,
    )


def _stopped(code: ExitCode, request: CommandLine) -> Reply:
    failure = ReplyError(code.name, code.meaning, retryable=True, phase=request.phase)
    return Reply(exit_code=code, error=failure)


def _completed(reply: Reply, request: CommandLine) -> Reply:
    """The reply with the settings' warnings, and an error wherever the exit code is not 0."""
    error = reply.error
    if reply.exit_code and error is None and (request.wants_json or reply.wants_json):
        error = ReplyError(reply.exit_code.name, reply.exit_code.meaning)
    warnings = request.warnings + reply.warnings
    if error is not None:
        # An error repeats what it was given, and that may be a key.
        error = api.redacted_record(error)
    return msgspec.structs.replace(reply, warnings=warnings, error=error)


def _printed(reply: Reply, request: CommandLine, elapsed_ns: int) -> render.RenderedReply:
    if reply.bare is not None:
        return render.as_bare(reply, color=_colored(request))
    if request.wants_json or reply.wants_json:
        duration = reported_ms(elapsed_ns, timed=request.timed)
        return render.as_json(reply, Meta(request.command, duration, __version__))
    return render.as_text(reply, color=_colored(request))


def _colored(request: CommandLine) -> bool:
    if request.color != "auto":
        return request.color == "always"
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    variables = api.own_variables()
    return on_terminal and not variables.get("NO_COLOR") and variables.get("TERM") != "dumb"


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TerminatedError
