"""Watching a run of another process: its journal and its logs, as they grow, and nothing else."""

import time
from collections.abc import Callable, Iterator

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.journal_tail import JournalTail
from oraclepack.journal.line_format import Unknown
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import EMPTY, RunState, fold
from oraclepack.journal.statuses import Status
from oraclepack.pack.questions import short_title
from oraclepack.run.planning.plan import Decision
from oraclepack.run.run_display import Display, RunPreview, StepPreview
from oraclepack.shell.logs import log_end
from oraclepack.system import locks
from oraclepack.view.run import pack_of

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
