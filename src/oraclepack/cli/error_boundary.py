"""The error boundary: every command line ends here as one reply and one exit code."""

from __future__ import annotations

import errno
import gc
import os
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click
import msgspec

from oraclepack import __version__
from oraclepack.cli import render
from oraclepack.cli.command import (
    AnsweredError,
    ArgumentsError,
    CommandLine,
    UnknownCommandError,
)
from oraclepack.cli.options import asks_for_json, asks_for_log, shared_options_last
from oraclepack.cli.reply import Meta, Reply, ReplyError
from oraclepack.cli.root import current_words, root
from oraclepack.errors import ExitCode, InputError, OraclePackError, did_you_mean, exit_code_of
from oraclepack.settings.loading import COMPLETION_VARIABLE, is_completing, own_variables
from oraclepack.system.clock import SystemClock
from oraclepack.system.environment import is_detached, request_id
from oraclepack.system.files import exhausted
from oraclepack.system.secrets import redacted, redacted_record
from oraclepack.system.terminal import stdout_is_terminal
from oraclepack.view.report.untrusted import clean_parts, untrusted_parts

PROGRAM = "oraclepack"


class TerminatedError(BaseException):
    """The machine asked us to end (SIGTERM)."""


def run(args: Sequence[str], *, is_process: bool = False) -> int:
    """Answer one command line: print the reply, return the exit code.

    A process of its own also answers requests for completion, and ends by signals.
    """
    clock = SystemClock()
    started = clock.monotonic_ns()
    with _process(args) if is_process else nullcontext():
        variables = own_variables()
        request = CommandLine(
            wants_json=asks_for_json(args, variables), logs_json=asks_for_log(args, variables)
        )
        args, note = current_words(shared_options_last(args))
        request.argv = tuple(args)
        if note and not (request.wants_json or request.logs_json):
            render.to_stderr(f"note: {note}\n")
        try:
            program = root()
            with program.make_context(PROGRAM, list(args), obj=request) as context:
                reply: Any = program.invoke(context) if args else _no_command(context)
            assert isinstance(reply, Reply), f"{request.command} gave no reply"
            reply = _completed(reply, request)
            printed = _printed(reply, request, clock.monotonic_ns() - started)
        except BaseException as ending:  # noqa: BLE001 - nothing may pass: a traceback is no answer
            reply = _completed(_ended(ending, request), request)
            printed = _printed(reply, request, clock.monotonic_ns() - started)
        if is_detached():
            from oraclepack.cli.display import report_start

            report_start(reply)
        refused = render.emit(printed)
        return int(reply.exit_code) or refused
    return int(ExitCode.TERMINATED)


@contextmanager
def _process(args: Sequence[str]) -> Iterator[None]:
    """What holds for a process that answers one command line and ends."""
    if is_completing():
        root().main(list(args), PROGRAM, complete_var=COMPLETION_VARIABLE)
    signal.signal(signal.SIGTERM, _terminate)
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
        case AnsweredError(reply=reply):
            pass
        case click.ClickException():
            reply = _misused(ending, request)
        case OraclePackError():
            reply = Reply(exit_code=exit_code_of(ending), error=_error_reply(ending, request))
        case OSError() if (exhaustion := exhausted(ending)) is not None:
            reply = Reply(
                exit_code=exit_code_of(exhaustion), error=_error_reply(exhaustion, request)
            )
        case OSError(errno=errno.ENAMETOOLONG):
            too_long = InputError(
                f"the name of a file is too long: {ending.filename or 'it is not known which'}",
                hint="most systems take names of 255 bytes, and paths of 4096",
            )
            reply = Reply(exit_code=exit_code_of(too_long), error=_error_reply(too_long, request))
        case KeyboardInterrupt() | click.Abort():
            reply = _stopped(ExitCode.INTERRUPTED, request)
        case TerminatedError():
            reply = _stopped(ExitCode.TERMINATED, request)
        case _:
            reply = crashed(ending, request.command)
    return reply


def _no_command(context: click.Context) -> Reply:
    failure = ReplyError(
        "USAGE", "no command given", phase="arguments", suggestion=f"try {PROGRAM} --help"
    )
    return Reply(talk=context.get_help() + "\n\n", exit_code=ExitCode.INVALID, error=failure)


def _misused(error: click.ClickException, request: CommandLine) -> Reply:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else f"{PROGRAM} {request.command}".strip()
    suggestion = f"see {path} --help"
    if context and context.parent and isinstance(context.command, click.Group):
        suggestion = (
            f"its commands: {', '.join(context.command.list_commands(context))}; {suggestion}"
        )
    message = error.format_message()
    detail = ""
    if isinstance(error, ArgumentsError):
        detail = "\n".join(error.lines)
    elif isinstance(error, UnknownCommandError):
        suggestion = error.hint
    elif isinstance(error, click.NoSuchOption):
        message = error.message
        near = did_you_mean(error.option_name, error.possibilities or ())
        suggestion = near or suggestion
    failure = ReplyError("USAGE", message, detail, phase="arguments", suggestion=suggestion)
    return Reply(exit_code=ExitCode.INVALID, error=failure)


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
    run_id = getattr(reply.data, "run_id", None)
    request.run_id = run_id if isinstance(run_id, str) else None
    error = reply.error
    if reply.exit_code and error is None and (request.wants_json or reply.wants_json):
        error = ReplyError(reply.exit_code.name, reply.exit_code.meaning)
    warnings = request.warnings + reply.warnings
    data = reply.data
    if request.wants_json or reply.wants_json:
        data, request.untrusted = clean_parts(data, untrusted_parts(request.data))
    if error is not None:
        # An error repeats what it was given, and that may be a key.
        error = redacted_record(error)
    return msgspec.structs.replace(reply, data=data, warnings=warnings, error=error)


def _printed(reply: Reply, request: CommandLine, elapsed_ns: int) -> render.RenderedReply:
    if reply.bare is not None:
        return render.as_bare(reply, color=_colored(request), logs_json=request.logs_json)
    if request.wants_json or reply.wants_json:
        lines = request.wants_lines or reply.one_line_json
        indented = stdout_is_terminal() and not lines
        return render.as_json(reply, _meta(request, elapsed_ns), request.jq, indented=indented)
    if reply.exit_code or request.is_quiet:
        reply = msgspec.structs.replace(reply, next="")
    return render.as_text(reply, color=_colored(request), logs_json=request.logs_json)


def _meta(request: CommandLine, elapsed_ns: int) -> Meta:
    return Meta(
        request.command,
        elapsed_ns // 1_000_000,
        __version__,
        project_root=request.root or None,
        run_id=request.run_id,
        request_id=request_id(is_new=request.runs_something),
        untrusted=request.untrusted,
    )


def _colored(request: CommandLine) -> bool:
    if request.color != "auto":
        return request.color == "always"
    variables = own_variables()
    plain = bool(variables.get("NO_COLOR")) or variables.get("TERM") == "dumb"
    return stdout_is_terminal() and not plain


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TerminatedError


def log_crash(error: BaseException, command: str) -> Path | None:
    """Write what is known of a fault to a new file that only its owner can read, if possible."""
    import tempfile
    import traceback

    from platformdirs import user_log_path

    # Arguments stay out: they may hold prompts and keys.
    text = redacted(
        f"oraclepack {__version__}, command {command or '(none)'}\n"
        f"Python {platform.python_version()} on {sys.platform}\n\n"
        + "".join(traceback.format_exception(error))
    )
    try:
        folder = user_log_path("oraclepack", appauthor=False)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp: a unique name, mode 0600, no race.
        descriptor, name = tempfile.mkstemp(prefix="crash-", suffix=".log", dir=folder)
        os.write(descriptor, text.encode("utf-8", "backslashreplace"))
        os.close(descriptor)
    except OSError:
        return None
    return Path(name)


def crashed(error: BaseException, command: str) -> Reply:
    """The reply to a fault of our own. Never a traceback on the screen."""
    path = log_crash(error, command)
    summary = redacted(f"{type(error).__name__}: {error}").splitlines()[0]
    return Reply(
        exit_code=ExitCode.INTERNAL,
        error=ReplyError(
            code="INTERNAL",
            message="oraclepack failed in a way it should not",
            detail=f"{summary}\nlog: {path}" if path else summary,
            phase="internal",
            suggestion="report this together with the log file" if path else "report this",
        ),
    )
