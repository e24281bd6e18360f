"""Watching a run of another process: its journal and its logs, as they grow, and nothing else."""

import time
from collections.abc import Callable, Iterator

import msgspec

from oraclepack.errors import InputError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.journal_tail import JournalTail
from oraclepack.journal.line_format import Unknown
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import EMPTY, RunState, fold
from oraclepack.journal.statuses import Status
from oraclepack.pack.questions import short_title
from oraclepack.run.planning.plan import Decision
from oraclepack.run.run_display import Display, RunPreview, StepPreview
from oraclepack.shell.logs import LogTail, log_end
from oraclepack.system import locks
from oraclepack.view.run import pack_of
from oraclepack.view.run_status import console_name

EVERY = 0.25
"""Seconds between two looks at the files."""


class LogProgress(msgspec.Struct, frozen=True, kw_only=True, tag="log_progress", tag_field="kind"):
    """What a running step has printed: not in the journal, only looked up."""

    step: str
    attempt: int
    bytes: int
    last_line: str


class WatchUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """Something new: an event of the run, or what a step has printed."""

    state: RunState
    """After the event."""
    event: KnownEvent | None = None
    progress: LogProgress | None = None


def watch_events(
    run: RunDir,
    display: Display | None = None,
    *,
    every: float = EVERY,
    from_start: bool = False,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[WatchUpdate]:
    """The events of the last command of a run, then what happens, until no command works on it.

    With `from_start` also those of earlier commands. What running steps print comes in between, as
    far as it changed. Memory does not grow with the run's logs. A display receives each event
    before it is yielded.
    """
    tail = JournalTail(run.journal)
    state = EMPTY
    begun = False
    sizes: dict[str, tuple[int, int]] = {}
    skipped = 0 if from_start else _last_session(run)
    while True:
        # Asked first: what it wrote before its end is then sure to be read.
        locked = locks.holder_of(run.path) is not None
        events = tail.read()
        for event in events:
            state = fold([event], state)
            if event.seq < skipped or isinstance(event, Unknown):
                continue
            if display is not None:
                if not begun:
                    display.begin(preview_of(run, state))
                begun = True
                display.event(event, state)
            yield WatchUpdate(state=state, event=event)
        if events:
            continue
        if not locked or tail.damage is not None:
            return
        for progress in _progress(run, state, sizes):
            yield WatchUpdate(state=state, progress=progress)
        pause(every)


def preview_of(run: RunDir, state: RunState) -> RunPreview:
    """What the last command is about to do, as far as the journal and the pack show."""
    created = state.created
    pack = pack_of(run.root, created.pack_path, created.pack_hash)[0] if created else None
    titles = {str(step.id): short_title(step) for step in pack.steps} if pack else {}
    steps = tuple(
        StepPreview(step_id, titles.get(step_id, ""), _decision(state, step_id))
        for step_id in state.step_ids
    )
    return RunPreview(run.run_id, run.path, steps, lambda _: None)


def _decision(state: RunState, step_id: str) -> Decision:
    match state.step(step_id).status:
        case Status.OK:
            return Decision.DONE
        case Status.SKIPPED:
            return Decision.SKIPPED
        case _:
            return Decision.RUN


def _last_session(run: RunDir) -> int:
    """The number of the event with which the last command began."""
    tail, number = JournalTail(run.journal), 0
    while events := tail.read():
        number = max(
            (one.seq for one in events if isinstance(one, j.SessionStarted)), default=number
        )
    return number


def _progress(
    run: RunDir, state: RunState, sizes: dict[str, tuple[int, int]]
) -> Iterator[LogProgress]:
    for step_id, step in state.steps.items():
        if step.status is not Status.RUNNING:
            sizes.pop(step_id, None)
            continue
        logs = (run.log(name) for name in (step.stdout_log, step.stderr_log) if name)
        ends = [log_end(log) for log in logs if log is not None]
        size = sum(end.size for end in ends)
        if sizes.get(step_id) == (step.attempts, size):
            continue
        sizes[step_id] = (step.attempts, size)
        last = next((end.last_line for end in ends if end.last_line), "")
        yield LogProgress(step=step_id, attempt=step.attempts, bytes=size, last_line=last)


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
