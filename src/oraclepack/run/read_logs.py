"""What the steps of a run printed, read in pieces, also while they print."""

import time
from collections.abc import Callable, Iterator

import msgspec

from oraclepack.errors import InputError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Status
from oraclepack.shell.logs import LogTail
from oraclepack.system import locks
from oraclepack.view.run_status import console_name

EVERY = 0.25


class LogChunk(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a log."""

    path: str
    """Relative to the run directory."""
    step: str | None
    """None for the console log of a detached command."""
    data: bytes


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """One log that was read."""

    path: str
    """Relative to the run directory."""
    bytes: int


class LogReport(msgspec.Struct, frozen=True, kw_only=True):
    """Which logs `runs logs` chose; their text is only printed for people."""

    run_dir: str
    """Relative to the project root."""
    logs: tuple[LogFile, ...]


def read_logs(
    run: RunDir,
    step: str | None = None,
    *,
    stderr: bool = False,
    failed: bool = False,
    follow: bool = False,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[LogChunk]:
    """The logs of one step, of the failed ones, or the console log of the last command.

    Where there is no console log, those of all steps. With `follow` until no command works on the
    run. Nothing is read through a link.
    """
    names = _chosen(run, step, stderr=stderr, failed=failed)
    if not names and not follow:
        what = "no step of it failed" if failed else "it has printed nothing yet"
        raise InputError(f"run {run.run_id}: {what}", hint="`oraclepack runs show` has its steps")
    tails: dict[str, tuple[str | None, LogTail]] = {}
    while True:
        locked = follow and locks.holder_of(run.path) is not None
        for owner, name in names:
            path = run.log(name)
            if path is not None:
                tails.setdefault(name, (owner, LogTail(path)))
        any_read = False
        for name, (owner, tail) in tails.items():
            while data := tail.read():
                any_read = True
                yield LogChunk(path=name, step=owner, data=data)
        if not locked:
            return
        if not any_read:
            pause(EVERY)
        names = _chosen(run, step, stderr=stderr, failed=failed)


def log_files(
    run: RunDir, step: str | None = None, *, stderr: bool = False, failed: bool = False
) -> LogReport:
    """The logs that `read_logs` would read."""
    names = [name for _, name in _chosen(run, step, stderr=stderr, failed=failed)]
    paths = ((name, run.log(name)) for name in names)
    sizes = ((name, path.stat().st_size) for name, path in paths if path is not None)
    return LogReport(
        run_dir=run.relative,
        logs=tuple(LogFile(path=name, bytes=size) for name, size in sizes),
    )


def _chosen(
    run: RunDir, step: str | None, *, stderr: bool, failed: bool
) -> list[tuple[str | None, str]]:
    state = run_dir.examine(run).state
    if step is not None:
        return _of_step(state, step.zfill(2), stderr=stderr)
    if failed:
        some = [one for one in state.step_ids if state.step(one).status is Status.FAILED]
        return [pair for one in some for pair in _of_step(state, one, stderr=stderr)]
    console = _console(run, state)
    if console is not None and not stderr:
        return [(None, console)]
    started = [one for one in state.step_ids if state.step(one).attempts]
    return [pair for one in started for pair in _of_step(state, one, stderr=stderr)]


def _of_step(state: RunState, step: str, *, stderr: bool) -> list[tuple[str | None, str]]:
    if step not in state.step_ids:
        raise UsageError(
            f"there is no step {step}", hint=f"one of {', '.join(state.step_ids) or 'none'}"
        )
    step_state = state.step(step)
    names = (step_state.stderr_log,) if stderr else (step_state.stdout_log, step_state.stderr_log)
    return [(step, name) for name in names if name]


def _console(run: RunDir, state: RunState) -> str | None:
    if not state.sessions:
        return None
    name = console_name(state.sessions[-1].started.pid)
    return name if run.log(name) is not None else None
