"""The state of a run, folded from its journal.

Resume, the screen, the manifests, the reports and `why` all use it, so they cannot disagree.
`apply` takes one event at a time and never fails: any beginning of
a journal, even one with events missing, is a state. States are msgspec structs for
the sake of `replace`: one copy per event, ten times as fast as a dataclass's.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from posixpath import normpath
from types import MappingProxyType
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.costs import CostTotal, total_cost
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.line_format import AnyEvent, Unknown
from oraclepack.journal.statuses import INTERRUPTED, RollbackStatus, Status
from oraclepack.journal.step_state import (
    PRISTINE,
    CallEvent,
    Invocation,
    StepEvent,
    StepState,
    apply_call,
    apply_step,
    rolled_back_state,
)
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.tools.usage import Usage

FileEvent: TypeAlias = j.OutputBackedUp | j.OutputRecorded
RollbackEvent: TypeAlias = j.RollbackStarted | j.FileUndone | j.RolledBack | j.RollbackFinished


def path_of(event: FileEvent) -> str | None:
    """The path in the project that was backed up or written."""
    return event.path if isinstance(event, j.OutputBackedUp) else event.declared_path


class SessionState(msgspec.Struct, frozen=True):
    """One command that worked on the run."""

    started: j.SessionStarted
    finished: j.SessionFinished | None = None
    forecast: j.ForecastRecorded | None = None


class Rollback(msgspec.Struct, frozen=True):
    """The last rollback of a command's changes, finished or not."""

    status: RollbackStatus
    steps: tuple[str, ...] = ()
    files: tuple[FileEvent, ...] = ()
    """What there was to take back; kept for the command that finishes an interrupted one."""
    undone: tuple[j.FileUndone, ...] = ()
    error: str | None = None
    left: tuple[str, ...] = ()
    """What could not be taken back, relative to the project root."""
    session: int = 0
    """The number of the command whose changes these are."""


class RunState(msgspec.Struct, frozen=True):
    """A run, folded from its journal."""

    created: j.RunCreated | None = None
    steps: Mapping[str, StepState] = msgspec.field(default_factory=lambda: MappingProxyType({}))
    """Only steps that something happened to; ask `step` for any."""
    sessions: tuple[SessionState, ...] = ()
    heads: tuple[str, ...] = ()
    """Every HEAD seen in the run, the first one first."""
    prelude_attempts: int = 0
    prelude_error: StepError | None = None
    prelude_process: ProcessIdentity | None = None
    session_files: tuple[FileEvent, ...] = ()
    """What the last command backed up and wrote: a rollback reverts it."""
    rollback: Rollback | None = None
    rolled_back_outputs: frozenset[str] = frozenset()
    """Where any rollback put what steps had made that were ok, relative to the project root."""
    warnings: tuple[j.WarningRecorded, ...] = ()
    imported: tuple[j.Imported, ...] = ()
    unknown_kinds: tuple[str, ...] = ()
    finished_at: str | None = None
    last_seq: int = 0
    last_at: str | None = None

    def step(self, step_id: str) -> StepState:
        return self.steps.get(step_id, PRISTINE)

    def replaced_outputs(self) -> frozenset[tuple[str, str]]:
        """Step and path (in the run directory) of outputs that a later step has changed.

        They belong to that step, which went well.
        """
        recorded = [
            (normpath(output.declared_path), output)
            for step in self.steps.values()
            if step.status is Status.OK
            for output in step.outputs
            if output.declared_path is not None
        ]
        last = dict(sorted(recorded, key=lambda pair: pair[1].seq))
        return frozenset(
            (output.step, output.path)
            for place, output in recorded
            if last[place].step != output.step
        )

    @property
    def step_ids(self) -> tuple[str, ...]:
        """The steps of the pack as it was when the run began."""
        return self.created.steps if self.created else tuple(sorted(self.steps))

    @property
    def is_open(self) -> bool:
        """A command began and its end is not recorded: it is running, or was killed."""
        return bool(self.sessions) and self.sessions[-1].finished is None

    @property
    def has_legacy_files(self) -> bool:
        """The last command kept the state and report files of the older tool up to date."""
        settings = self.sessions[-1].started.settings if self.sessions else {}
        return settings.get("legacy_files") is not False

    @property
    def status(self) -> str:
        """`running`, `ok`, `failed`, or `incomplete` when steps are left."""
        states = [self.step(step_id).status for step_id in self.step_ids]
        if self.is_open and self.finished_at is None:
            return "running"
        error = self.prelude_error
        if Status.FAILED in states or (error is not None and error.code != INTERRUPTED):
            return "failed"
        return "ok" if states and all(s.is_settled for s in states) else "incomplete"

    def cost(self) -> CostTotal:
        """What all calls of the run cost, those of its earlier commands too."""
        return total_cost(call for step in self.steps.values() for call in step.invocations)

    def usage(self) -> Usage:
        """What all calls of the run came to, as far as the tools reported it."""
        outcomes = [i.outcome for s in self.steps.values() for i in s.invocations]
        known = (o.usage for o in outcomes if o is not None and o.usage is not None)
        return reduce(Usage.plus, known, Usage())


EMPTY = RunState()


def fold(events: Iterable[AnyEvent], state: RunState = EMPTY) -> RunState:
    """Replay events on top of a state: what `apply` makes of them one by one, in linear time."""
    folding = _Folding(state)
    for event in events:
        folding.add(event)
    return folding.state()


class _Folding:
    """A state to which many events are applied.

    What grows with the journal (warnings, files of a command, calls of a step) is collected in
    lists, since a tuple would be copied for every event. The rest is left to `apply`.
    """

    def __init__(self, state: RunState) -> None:
        self._begin(state)

    def _begin(self, state: RunState) -> None:
        self._state = replace(state, warnings=(), session_files=(), steps=EMPTY.steps)
        self._warnings = list(state.warnings)
        self._files = list(state.session_files)
        self._steps = dict(state.steps)
        self._calls: dict[str, dict[tuple[int, int], Invocation]] = {}

    def add(self, event: AnyEvent) -> None:
        if isinstance(event, CallEvent):
            self._add_call(event)
        elif isinstance(event, StepEvent):
            self._steps[event.step] = apply_step(self._steps.get(event.step, PRISTINE), event)
        if isinstance(event, FileEvent):
            self._files.append(event)
        elif isinstance(event, j.WarningRecorded):
            self._warnings.append(event)
        elif isinstance(event, RollbackEvent):
            self._begin(apply(self.state(), event))
            return
        elif not isinstance(event, StepEvent):
            if isinstance(event, j.SessionStarted):
                self._files.clear()
            self._state = apply(self._state, event)
            return
        self._state = _after(self._state, event)

    def _add_call(self, event: CallEvent) -> None:
        calls = self._calls.get(event.step)
        if calls is None:
            step = self._steps.setdefault(event.step, PRISTINE)
            calls = {(call.attempt, call.call): call for call in step.invocations}
            self._calls[event.step] = calls
        place = (event.attempt, event.call)
        # The call that changed last comes last.
        calls[place] = apply_call(calls.pop(place, None), event)

    def state(self) -> RunState:
        """The state after everything that was added."""
        for step_id, calls in self._calls.items():
            step = self._steps[step_id]
            self._steps[step_id] = replace(step, invocations=tuple(calls.values()))
        return replace(
            self._state,
            steps=MappingProxyType(dict(self._steps)),
            warnings=tuple(self._warnings),
            session_files=tuple(self._files),
        )


def apply(state: RunState, event: AnyEvent) -> RunState:
    """The state after one more event."""
    state = _after(state, event)
    if isinstance(event, StepEvent):
        return _with_step(state, event)
    if isinstance(event, RollbackEvent):
        return _apply_rollback(state, event)
    match event:
        case j.PreludeStarted() | j.PreludeFinished():
            return _apply_prelude(state, event)
        case (
            j.RunCreated()
            | j.SessionStarted()
            | j.ForecastRecorded()
            | j.SessionFinished()
            | j.RunFinished()
        ):
            return _apply_command(state, event)
        case _:
            return _apply_note(state, event)


def _after(state: RunState, event: AnyEvent) -> RunState:
    """What every event changes."""
    # Taking a run over is no work on it.
    at = event.at if not isinstance(event, j.RunTrusted) else None
    done = None if isinstance(event, j.StepStarted) else state.finished_at
    return replace(state, last_seq=event.seq, last_at=at or state.last_at, finished_at=done)


def _apply_command(
    state: RunState,
    event: j.RunCreated | j.SessionStarted | j.ForecastRecorded | j.SessionFinished | j.RunFinished,
) -> RunState:
    match event:
        case j.RunCreated():
            return _with_head(replace(state, created=event), event.git_sha)
        case j.SessionStarted():
            sessions = (*state.sessions, SessionState(event))
            return replace(state, sessions=sessions, session_files=(), prelude_error=None)
        case j.RunFinished():
            return replace(state, finished_at=state.finished_at or event.at)
        case j.ForecastRecorded() if state.sessions:
            last = replace(state.sessions[-1], forecast=event)
            return replace(state, sessions=(*state.sessions[:-1], last))
        case j.SessionFinished() if state.sessions:
            last = replace(state.sessions[-1], finished=event)
            return replace(state, sessions=(*state.sessions[:-1], last))
        case _:
            return state


def _apply_note(state: RunState, event: AnyEvent) -> RunState:
    match event:
        case j.HeadRecorded():
            return _with_head(state, event.sha)
        case j.Imported():
            return replace(state, imported=(*state.imported, event))
        case j.WarningRecorded():
            return replace(state, warnings=(*state.warnings, event))
        case Unknown(kind=kind) if kind not in state.unknown_kinds:
            return replace(state, unknown_kinds=(*state.unknown_kinds, kind))
        case _:
            return state


def _with_head(state: RunState, sha: str | None) -> RunState:
    return state if sha is None or sha in state.heads else replace(state, heads=(*state.heads, sha))


def _with_step(state: RunState, event: StepEvent) -> RunState:
    step = apply_step(state.step(event.step), event)
    state = replace(state, steps=MappingProxyType({**state.steps, event.step: step}))
    if isinstance(event, FileEvent):
        return replace(state, session_files=(*state.session_files, event))
    return state


def _apply_prelude(state: RunState, event: j.PreludeStarted | j.PreludeFinished) -> RunState:
    attempts = max(state.prelude_attempts, event.attempt)
    if isinstance(event, j.PreludeStarted):
        return replace(
            state,
            prelude_attempts=attempts,
            prelude_error=None,
            prelude_process=event.process or state.prelude_process,
        )
    return replace(
        state, prelude_attempts=attempts, prelude_error=event.error, prelude_process=None
    )


def _apply_rollback(state: RunState, event: RollbackEvent) -> RunState:
    now = state.rollback or Rollback(RollbackStatus.STARTED)
    match event:
        case j.RollbackStarted():
            number = len(state.sessions)
            if state.rollback is not None and state.rollback.session == number:
                # The second try of one that failed: what came back then is not touched again.
                begun = replace(now, status=RollbackStatus.STARTED, error=None, left=())
            else:
                begun = Rollback(
                    RollbackStatus.STARTED, event.steps, state.session_files, session=number
                )
            return replace(state, rollback=begun)
        case j.FileUndone():
            state = replace(state, rollback=replace(now, undone=(*now.undone, event)))
            # The error of an attempt outlives its rollback, the status does not.
            if event.quarantined_as is None or state.step(event.step).error is not None:
                return state
            places = state.rolled_back_outputs | {event.quarantined_as}
            return replace(state, rolled_back_outputs=places)
        case j.RolledBack():
            back = {step_id: rolled_back_state(state.step(step_id)) for step_id in event.steps}
            steps = MappingProxyType({**state.steps, **back})
            return replace(state, steps=steps, finished_at=None)
        case _:
            ended = replace(now, status=event.status, error=event.error, left=event.left)
            return replace(state, rollback=ended)


class Journal(Protocol):
    """The record of a run: an event that was appended stays, whatever is killed next."""

    @property
    def state(self) -> RunState:
        """The fold of everything appended so far."""

    def append(self, event: KnownEvent) -> KnownEvent:
        """Number, date and append an event; returns it as it was written."""


Ask = Callable[[str, Callable[[float], bool]], bool]
"""Asks the person at the terminal; the second argument pauses, and returns False to give up."""
