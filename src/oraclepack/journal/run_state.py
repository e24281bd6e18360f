"""The state of a run, folded from its journal.

Resume, the screen, the manifests, the reports and `why` all use it, so they cannot disagree.
Folding never fails: any beginning of a journal, even one with events missing, is a state.
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
    decisions: tuple[j.DecisionNeeded, ...] = ()
    """Questions to a person that are not answered yet, while their command runs."""
    batches: Mapping[str, j.BatchNoted] = msgspec.field(
        default_factory=lambda: MappingProxyType({})
    )
    """What is known of each batch of questions, by its nonce."""
    waits_for: str | None = None
    """The run that this one waits for, by its id."""
    is_paused: bool = False
    is_stopping: bool = False
    """The last command was asked to stop, and waits for calls or for steps that end."""
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
    def activity(self) -> str:
        """The state of a run on which a command works: `running`, or why it waits."""
        if self.is_stopping:
            return "stopping"
        if self.decisions:
            return "needs_decision"
        if self.waits_for is not None:
            return "waiting"
        return "paused" if self.is_paused else "running"

    @property
    def out_dir(self) -> str:
        """The `--out-dir` of the last command; empty where it had none."""
        settings = self.sessions[-1].started.settings if self.sessions else {}
        return str(settings.get("out_dir") or "")

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
    """Replay events on top of a state, in linear time."""
    folding = Fold(state)
    for event in events:
        folding.add(event)
    return folding.state


class Fold:
    """A state to which events are applied one after another.

    What grows with the journal (warnings, files of a command, steps and their calls) is collected
    in lists and dicts, since a tuple would be copied for every event.
    """

    def __init__(self, state: RunState = EMPTY) -> None:
        self._whole: RunState | None = state
        """The state after all events; None until somebody asks for it."""
        self._rest = state
        """The state without what is collected below."""
        self._warnings = list(state.warnings)
        self._files = list(state.session_files)
        self._steps = dict(state.steps)
        self._shown_steps: Mapping[str, StepState] | None = state.steps
        self._calls: dict[str, dict[tuple[int, int], Invocation]] = {}

    @property
    def state(self) -> RunState:
        """The state after everything that was added."""
        if self._whole is None:
            for step_id, calls in self._calls.items():
                step = self._steps[step_id]
                self._steps[step_id] = replace(step, invocations=tuple(calls.values()))
            self._calls.clear()
            if self._shown_steps is None:
                self._shown_steps = MappingProxyType(dict(self._steps))
            self._whole = replace(
                self._rest,
                steps=self._shown_steps,
                warnings=tuple(self._warnings),
                session_files=tuple(self._files),
            )
        return self._whole

    @property
    def last_seq(self) -> int:
        return self._rest.last_seq

    def add(self, event: AnyEvent) -> None:
        """Apply one more event. This never fails."""
        if isinstance(event, RollbackEvent):
            self._add_rollback(event, self.state)
        elif isinstance(event, CallEvent):
            self._add_call(event)
        elif isinstance(event, StepEvent):
            self._steps[event.step] = apply_step(self._steps.get(event.step, PRISTINE), event)
            self._shown_steps = None
        elif isinstance(event, j.PreludeStarted | j.PreludeFinished):
            self._add_prelude(event)
        elif isinstance(event, j.BatchNoted):
            noted = {**self._rest.batches, event.nonce: event}
            self._set(batches=MappingProxyType(noted))
        elif isinstance(event, j.WarningRecorded):
            self._warnings.append(event)
        else:
            self._add_command(event)
        if isinstance(event, FileEvent):
            self._files.append(event)
        if isinstance(event, j.InvocationOutcome | j.DecisionMade):
            self._forget_decisions((event.step, event.call))
        # Taking a run over is no work on it.
        at = event.at if not isinstance(event, j.RunTrusted) else None
        self._set(last_seq=event.seq, last_at=at or self._rest.last_at)
        if isinstance(event, j.StepStarted):
            self._set(finished_at=None)

    def _set(self, **changes: object) -> None:
        self._rest = replace(self._rest, **changes)
        self._whole = None

    def _add_call(self, event: CallEvent) -> None:
        calls = self._calls.get(event.step)
        if calls is None:
            step = self._steps.setdefault(event.step, PRISTINE)
            calls = {(call.attempt, call.call): call for call in step.invocations}
            self._calls[event.step] = calls
        place = (event.attempt, event.call)
        # The call that changed last comes last.
        calls[place] = apply_call(calls.pop(place, None), event)
        self._shown_steps = None

    def _add_prelude(self, event: j.PreludeStarted | j.PreludeFinished) -> None:
        self._set(prelude_attempts=max(self._rest.prelude_attempts, event.attempt))
        if isinstance(event, j.PreludeFinished):
            self._set(prelude_error=event.error, prelude_process=None)
        else:
            process = event.process or self._rest.prelude_process
            self._set(prelude_error=None, prelude_process=process)

    def _add_command(self, event: AnyEvent) -> None:
        now = self._rest
        match event:
            case j.RunCreated():
                self._set(created=event)
                self._add_head(event.git_sha)
            case j.SessionStarted():
                self._files.clear()
                self._set(
                    sessions=(*now.sessions, SessionState(event)),
                    prelude_error=None,
                    decisions=(),
                    waits_for=None,
                    is_paused=False,
                    is_stopping=False,
                )
            case j.ForecastRecorded() if now.sessions:
                last = replace(now.sessions[-1], forecast=event)
                self._set(sessions=(*now.sessions[:-1], last))
            case j.SessionFinished():
                self._set(decisions=(), waits_for=None, is_stopping=False)
                if now.sessions:
                    last = replace(now.sessions[-1], finished=event)
                    self._set(sessions=(*now.sessions[:-1], last))
            case j.RunFinished():
                self._set(finished_at=now.finished_at or event.at)
            case j.HeadRecorded():
                self._add_head(event.sha)
            case j.Imported():
                self._set(imported=(*now.imported, event))
            case Unknown(kind=kind) if kind not in now.unknown_kinds:
                self._set(unknown_kinds=(*now.unknown_kinds, kind))
            case _:
                self._add_activity(event)

    def _add_head(self, sha: str | None) -> None:
        if sha is not None and sha not in self._rest.heads:
            self._set(heads=(*self._rest.heads, sha))

    def _add_activity(self, event: AnyEvent) -> None:
        """What the command waits for, or was asked to do."""
        match event:
            case j.DecisionNeeded():
                self._forget_decisions((event.step, event.call))
                self._set(decisions=(*self._rest.decisions, event))
            case j.WaitStarted(step=""):
                self._set(waits_for=event.detail)
            case j.WaitFinished(step=""):
                self._set(waits_for=None)
            case j.ControlRequested(action="pause" | "resume"):
                self._set(is_paused=event.action == "pause")
            case j.CallsAwaited(step="") | j.ControlRequested(action="stop", value="" | "now"):
                self._set(is_stopping=True)
            case _:
                pass

    def _forget_decisions(self, call: tuple[str, int]) -> None:
        if self._rest.decisions:
            others = (one for one in self._rest.decisions if (one.step, one.call) != call)
            self._set(decisions=tuple(others))

    def _add_rollback(self, event: RollbackEvent, state: RunState) -> None:
        now = state.rollback or Rollback(RollbackStatus.STARTED)
        match event:
            case j.RollbackStarted():
                number = len(state.sessions)
                if state.rollback is not None and state.rollback.session == number:
                    # The second try of one that failed: what came back then is not touched again.
                    now = replace(now, status=RollbackStatus.STARTED, error=None, left=())
                else:
                    files = state.session_files
                    now = Rollback(RollbackStatus.STARTED, event.steps, files, session=number)
                self._set(rollback=now)
            case j.FileUndone():
                self._set(rollback=replace(now, undone=(*now.undone, event)))
                # The error of an attempt outlives its rollback, the status does not.
                if event.quarantined_as is not None and state.step(event.step).error is None:
                    places = state.rolled_back_outputs | {event.quarantined_as}
                    self._set(rolled_back_outputs=places)
            case j.RolledBack():
                for step_id in event.steps:
                    self._steps[step_id] = rolled_back_state(state.step(step_id))
                self._shown_steps = None
                self._set(finished_at=None)
            case _:
                ended = replace(now, status=event.status, error=event.error, left=event.left)
                self._set(rollback=ended)


class Journal(Protocol):
    """The record of a run: an event that was appended stays, whatever is killed next."""

    @property
    def state(self) -> RunState:
        """The fold of everything appended so far."""

    def append(self, event: KnownEvent) -> KnownEvent:
        """Number, date and append an event; returns it as it was written."""


Ask = Callable[[str, Callable[[float], bool]], bool]
"""Asks the person at the terminal; the second argument pauses, and returns False to give up."""
