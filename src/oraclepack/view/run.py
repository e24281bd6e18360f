"""A run as every file, list and screen shows it: one view, computed once from its journal."""

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, OraclePackError
from oraclepack.journal import run_dir
from oraclepack.journal.costs import CostTotal
from oraclepack.journal.events import RunCreated
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_dir import RunDir, is_rehearsal
from oraclepack.journal.run_state import EMPTY, RunState, SessionState
from oraclepack.journal.statuses import PASSING, RollbackStatus
from oraclepack.journal.timeline import milliseconds_between
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import read_pack
from oraclepack.system import locks
from oraclepack.system.locks import Holder
from oraclepack.system.ownership import Foreign
from oraclepack.system.path_jail import REHEARSALS
from oraclepack.tools.usage import Usage
from oraclepack.view.calls import RunCall, calls_of
from oraclepack.view.step import StepView, step_views


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader should know."""

    message: str
    code: str | None = None
    step_id: str | None = None


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One command that worked on the run."""

    started_at: str
    finished_at: str | None
    command: str
    argv: tuple[str, ...]
    exit_code: int | None
    rollback: RollbackStatus


_NOWHERE = RunDir(Path(), "")


class RunView(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is known of a run: its journal, as far as that is intact, its pack, who works on it."""

    state: RunState = EMPTY
    run: RunDir = _NOWHERE
    pack: Pack | None = None
    pack_note: str = ""
    """Why there is none, where it is gone or has another content."""
    events: tuple[AnyEvent, ...] = ()
    locked_by: Holder | None = None
    """The command that works on it now."""
    damage: str | None = None
    foreign: Foreign | None = None

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def run_dir(self) -> str:
        return self.run.relative

    @property
    def created(self) -> RunCreated | None:
        return self.state.created

    @property
    def pack_hash(self) -> str:
        return self.created.pack_hash if self.created else ""

    @property
    def pack_path(self) -> str:
        return self.created.pack_path if self.created else ""

    @property
    def created_at(self) -> str | None:
        return self.created.at if self.created else None

    @property
    def finished_at(self) -> str | None:
        return self.state.finished_at

    @property
    def heads(self) -> tuple[str, ...]:
        return self.state.heads

    @property
    def holder(self) -> str | None:
        return None if self.locked_by is None else str(self.locked_by)

    @cached_property
    def steps(self) -> tuple[StepView, ...]:
        return tuple(step_views(self.pack, self.state, is_locked=self.locked_by is not None))

    @cached_property
    def status(self) -> str:
        """As `runs list` says it; without a holder, what says that it runs was killed."""
        if self.foreign is not None:
            return "foreign"
        if self.damage is not None:
            return "damaged"
        if self.locked_by is not None:
            return self.state.activity
        if self.created is None:
            return "empty"
        return "interrupted" if self.state.status == "running" else self.state.status

    @cached_property
    def rehearsal(self) -> bool:
        """Its answers are oraclepack's own: no model was asked."""
        recorded = self.created is not None and is_rehearsal(self.created.engine)
        return recorded or self.run_dir.startswith(REHEARSALS)

    @cached_property
    def cost(self) -> CostTotal:
        return self.state.cost()

    @cached_property
    def usage(self) -> Usage:
        return self.state.usage()

    @cached_property
    def duration_ms(self) -> int:
        """How long commands have worked on it."""
        return worked_ms(self.state)

    @cached_property
    def models(self) -> tuple[str, ...]:
        return self._asked("model")

    @cached_property
    def providers(self) -> tuple[str, ...]:
        return self._asked("provider")

    def _asked(self, what: str) -> tuple[str, ...]:
        calls = (call for step in self.state.steps.values() for call in step.invocations)
        names = {getattr(call.record, what, None) for call in calls}
        return tuple(sorted(name for name in names if name))

    @cached_property
    def calls(self) -> tuple[RunCall, ...]:
        return calls_of(self.events, self.state)

    @cached_property
    def sessions(self) -> tuple[SessionEntry, ...]:
        return tuple(map(_session, self.state.sessions))

    @cached_property
    def warnings(self) -> tuple[Notice, ...]:
        # A step that was cut off and ran again has said the same twice.
        return tuple(dict.fromkeys(_notices(self.state)))


def read_view(run: RunDir, *, with_pack: bool = False) -> RunView:
    """Read a run; damage is reported in the result, not raised. Changes nothing."""
    try:
        examined = run_dir.examine(run)
    except InputError as trouble:
        return RunView(run=run, damage=trouble.message)
    reading, damage = examined.reading, examined.reading.damage
    state = examined.state
    pack, note = None, ""
    if with_pack and state.created is not None:
        pack, note = pack_of(run.root, state.created.pack_path, state.created.pack_hash)
    return RunView(
        state=state,
        run=run,
        pack=pack,
        pack_note=note,
        events=tuple(reading.events),
        # A foreign run is never in use by us, so its lock is not read.
        locked_by=locks.holder_of(run.path) if examined.foreign is None else None,
        damage=None if damage is None else f"line {damage.line}: {damage.reason}",
        foreign=examined.foreign,
    )


def pack_of(root: Path, path: str, pack_hash: str) -> tuple[Pack | None, str]:
    """The pack of a run, if it is still there with the same content; else why not."""
    try:
        pack = read_pack(root / path)
    except OraclePackError as trouble:
        return None, f"the pack is not read: {trouble.message}"
    if pack.pack_hash != pack_hash:
        return None, f"{path} was edited since the run; what the run recorded is used"
    return pack, ""


def worked_ms(state: RunState) -> int:
    """How long commands have worked on a run: a killed one until its last event."""
    total = 0
    times: list[str] | None = None
    for session, later in zip_longest(state.sessions, state.sessions[1:]):
        began, ended = session.started.at, session.finished
        if ended is not None:
            took = ended.duration_ms
            total += milliseconds_between(began, ended.at) if took is None else took
        elif later is None:
            total += milliseconds_between(began, state.last_at or began)
        else:
            times = _event_times(state) if times is None else times
            before = bisect_left(times, later.started.at)
            total += milliseconds_between(began, times[before - 1] if before else began)
    return total


def _event_times(state: RunState) -> list[str]:
    """When something happened to steps and calls, in order."""
    calls = (call for step in state.steps.values() for call in step.invocations)
    times = [event.at for call in calls for event in (call.intent, call.outcome) if event]
    times += [
        at for step in state.steps.values() for at in (step.started_at, step.finished_at) if at
    ]
    return sorted(times)


def _session(session: SessionState) -> SessionEntry:
    start, end = session.started, session.finished
    return SessionEntry(
        started_at=start.at,
        finished_at=end.at if end else None,
        command=start.command,
        argv=start.argv,
        exit_code=end.exit_code if end else None,
        rollback=end.rollback if end else RollbackStatus.NOT_ATTEMPTED,
    )


def _notices(state: RunState) -> Iterator[Notice]:
    for name in ("git_sha", "git_dirty", "oraclepack_version", "oracle_version", "engine"):
        if state.created is not None and getattr(state.created, name) is None:
            yield Notice(code="unknown_value", message=f"{name} is not known")
    for kind in state.unknown_kinds:
        message = f"events of the kind {kind} are from a newer oraclepack and were not understood"
        yield Notice(code="unknown_event", message=message)
    for warned in state.warnings:
        if warned.code not in PASSING:
            yield Notice(code=warned.code, message=warned.message, step_id=warned.step)
