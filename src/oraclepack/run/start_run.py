"""Detached runs: a command in a session of its own, which outlives the terminal.

The child is the same command, started again. It reports to its parent over a pipe: which run it
works on, once that has begun, or why it has not begun.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

import msgspec

from oraclepack.errors import (
    ExitCode,
    InputError,
    LockedError,
    MachineError,
    OraclePackError,
    RunAbortedError,
    UsageError,
)
from oraclepack.run.planning.selection import RunArguments
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import BY_NAME, COLOR, OUTPUT, Settings
from oraclepack.system import environment, files
from oraclepack.system.environment import DETACHED_VARIABLE
from oraclepack.system.path_jail import REHEARSALS
from oraclepack.view.run_status import console_name

_LONGEST_REPORT = 1 << 20
_WORDS_OF_A_CRASH = 4000


class StartedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that continues in its own process."""

    run_id: str
    name: str
    """What `runs watch`, `runs stop` and the others take: a rehearsal may have the id of a run."""
    pid: int
    run_dir: str
    """Relative to the project root."""
    console_log: str
    """The output of the command; relative to the project root."""


class StartFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a detached command did not begin."""

    exit_code: int
    code: str
    message: str
    detail: str = ""
    hint: str = ""
    retryable: bool = False
    retry_after: float | None = None


class _Report(msgspec.Struct, frozen=True, kw_only=True):
    started: StartedRun | None = None
    failure: StartFailure | None = None


_ERRORS: dict[int, type[OraclePackError]] = {
    ExitCode.STEP_FAILED: RunAbortedError,
    ExitCode.LOCKED: LockedError,
}


# The parent


def start_run(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    command: str = "run",
    more: Sequence[str] = (),
) -> StartedRun:
    """Run a pack in a process of its own that outlives this one; returns once its run has begun.

    `command` is `run` or `pipeline`; `more` are words of its command line that are no settings.
    The process reads the pack itself: `arguments.expect_pack` makes it refuse another one. Raises
    the error that prevented the run; then no process is left.
    """
    settings, arguments = settings or load_settings(pack), arguments or RunArguments()
    words = (*command_line(command, pack, settings, arguments), *more)
    # -P: what lies in the current directory is the project's, and must not be imported.
    argv = (sys.executable, "-P", "-m", "oraclepack", *words)
    readable, writable = os.pipe()
    with os.fdopen(readable, "rb") as reports, tempfile.TemporaryFile() as console:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env=environment.environment() | {DETACHED_VARIABLE: str(writable)},
                start_new_session=True,
                pass_fds=(writable,),
            )
        except OSError as trouble:
            raise MachineError(f"cannot start {sys.executable}: {trouble}") from trouble
        finally:
            os.close(writable)
        try:
            line = reports.readline(_LONGEST_REPORT)
        except BaseException:
            process.terminate()
            raise
        # It outlives this command; until then its exit status must be collected.
        threading.Thread(target=process.wait, name="detached", daemon=True).start()
        return _read_report(line, process, console)


def command_line(
    command: str, pack: str | Path, settings: Settings, arguments: RunArguments
) -> tuple[str, ...]:
    """The words of a command about one pack, with the settings that were given as flags."""
    return (command, str(pack), *_flags(settings), *_words(arguments))


def _read_report(line: bytes, process: subprocess.Popen[bytes], console: IO[bytes]) -> StartedRun:
    try:
        report = msgspec.json.decode(line, type=_Report)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        report = _Report()
    if report.started is not None:
        return report.started
    if report.failure is not None:
        failure = report.failure
        kind = _ERRORS.get(failure.exit_code, InputError)
        error = kind(
            failure.message,
            hint=failure.hint,
            detail=failure.detail,
            retryable=failure.retryable,
            retry_after=failure.retry_after,
        )
        error.code = failure.code
        raise error
    code = process.wait()
    console.seek(0)
    output = console.read(_WORDS_OF_A_CRASH).decode("utf-8", "replace").strip()
    raise MachineError(
        f"the detached command ended with exit code {code} before its run began", detail=output
    )


def _flags(settings: Settings) -> Iterator[str]:
    """The settings that were given to this command, as flags for the other."""
    for name, origin in sorted(settings.origins.items()):
        setting = BY_NAME[name]
        if origin.source is ValueSource.FLAG and setting not in {OUTPUT, COLOR}:
            yield from _flag(setting, settings[setting])


def _flag(setting: Setting[Any], value: object) -> Iterator[str]:
    match value:
        case bool():
            yield setting.flag if value else setting.off_flag
        case tuple() | list():
            yield from (f"{setting.flag}={one}" for one in value)
        case _:
            yield f"{setting.flag}={value}"


def _words(arguments: RunArguments) -> Iterator[str]:
    """What was asked for beyond settings, as flags."""
    texts = {
        "--rerun": arguments.rerun,
        "--steps": arguments.steps,
        "--resume-from": arguments.resume_from,
        "--run-id": arguments.run_id,
        "--import-state": arguments.import_state,
        "--wait-for": arguments.wait_for,
        "--expect-pack": arguments.expect_pack,
        "--existing": arguments.existing,
    }
    switches = {
        "--new-run": arguments.new_run,
        "--in-place": arguments.in_place,
    }
    yield from (f"{flag}={value}" for flag, value in texts.items() if value is not None)
    yield from (flag for flag, is_given in switches.items() if is_given)


# The child


class DetachedReport:
    """The child's end of the pipe: says once which run began, or why none did."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        fcntl.fcntl(descriptor, fcntl.F_SETFD, fcntl.FD_CLOEXEC)

    def begun(self, run_id: str, run_dir: Path) -> None:
        """The run has begun: from here on all output goes to its console log."""
        if self._descriptor < 0:
            return
        name = console_name(os.getpid())
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        log = os.open(run_dir / name, flags, files.PRIVATE_FILE)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.close(log)
        root = environment.project_of(run_dir) or run_dir
        place = run_dir.resolve().relative_to(root).as_posix()
        started = StartedRun(
            run_id=run_id,
            name=f"rehearsals/{run_id}" if place.startswith(REHEARSALS) else run_id,
            pid=os.getpid(),
            run_dir=place,
            console_log=f"{place}/{name}",
        )
        self._say(_Report(started=started))

    def failed(self, failure: StartFailure) -> None:
        """The command ends; the parent is informed only where no run has begun."""
        if self._descriptor >= 0:
            self._say(_Report(failure=failure))

    def _say(self, report: _Report) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        with os.fdopen(descriptor, "wb") as pipe:
            try:
                pipe.write(msgspec.json.encode(report) + b"\n")
                pipe.flush()
            except OSError:
                return  # the parent was killed; the run goes on


@cache
def detached_report() -> DetachedReport | None:
    """Where this command reports, if it was started as a detached one."""
    given = environment.environment().get(DETACHED_VARIABLE, "")
    if not given.isdecimal():
        return None
    descriptor = int(given)
    try:
        os.fstat(descriptor)
    except OSError as trouble:
        raise UsageError(
            f"{DETACHED_VARIABLE} is set by oraclepack itself for detached runs",
            hint="unset it",
        ) from trouble
    return DetachedReport(descriptor)
