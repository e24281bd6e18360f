"""What `runs` tells about runs of the past, and of the present."""

from datetime import datetime
from itertools import zip_longest

import msgspec

from oraclepack.core.manifest import RunManifest, StepEntry, run_manifest, steps_manifest
from oraclepack.journal.run_dir import is_rehearsal
from oraclepack.journal.run_state import RunState, Session
from oraclepack.journal.statuses import Status
from oraclepack.pack.model import Pack
from oraclepack.system.ownership import Foreign
from oraclepack.system.path_jail import REHEARSALS


class RunListed(msgspec.Struct, frozen=True, kw_only=True):
    """One run at a glance."""

    run_id: str
    pack_path: str | None
    git_sha: str | None
    status: str
    """`running`, `ok`, `failed`, `incomplete`, `interrupted`, `damaged`, `empty` or `foreign`."""
    ok: int
    total: int
    created_at: str | None
    finished_at: str | None
    duration_ms: int
    """How long commands have worked on it."""
    holder: str | None
    """Who works on it now."""
    damage: str | None
    """Where and why its journal stops making sense; the rest is from before that place."""
    foreign: str | None = None
    """Why it cannot be proven to be ours; what it says is shown, and never acted upon."""
    rehearsal: bool = False
    """Its answers are oraclepack's own: no model was asked."""
    run_dir: str = ""
    """Relative to the project root."""


class RunsListed(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a project, the newest first."""

    runs: tuple[RunListed, ...]


class StepShown(StepEntry, frozen=True, kw_only=True):
    """A step of `steps.json`; its status may also be `running` or `interrupted`."""

    state: str


class RunShown(msgspec.Struct, frozen=True, kw_only=True):
    """One run in full."""

    run: RunListed
    run_dir: str
    manifest: RunManifest | None
    """As in `run.json`; null when the journal does not say which run it is."""
    steps: tuple[StepShown, ...]


def listed(
    run_id: str,
    run_dir: str,
    state: RunState,
    holder: str | None,
    damage: str | None,
    foreign: Foreign | None = None,
) -> RunListed:
    """A run at a glance; without a holder, what says that it runs was killed."""
    created = state.created
    statuses = [state.step(step_id).status for step_id in state.step_ids]
    return RunListed(
        run_id=run_id,
        pack_path=created.pack_path if created else None,
        git_sha=created.git_sha if created else None,
        status="foreign" if foreign else _status(state, holder, damage),
        ok=statuses.count(Status.OK),
        total=len(statuses),
        created_at=created.at if created else None,
        finished_at=state.finished_at,
        duration_ms=worked_ms(state),
        holder=holder,
        damage=damage,
        foreign=foreign.reason if foreign else None,
        rehearsal=run_dir.startswith(REHEARSALS)
        or (created is not None and is_rehearsal(created.engine)),
        run_dir=run_dir,
    )


def age(run: RunListed) -> tuple[str, str]:
    """Sorts runs from the oldest to the newest; one that tells no time goes by its name."""
    return (run.created_at or run.run_id, run.run_id)


def shown(run: RunListed, state: RunState, pack: Pack | None) -> RunShown:
    steps = steps_manifest(pack, state).steps
    held = run.holder is not None
    return RunShown(
        run=run,
        run_dir=run.run_dir,
        manifest=run_manifest(state),
        steps=tuple(_step(entry, state, held=held) for entry in steps),
    )


def step_word(state: RunState, step_id: str, *, held: bool) -> str:
    """How a step stands: one that never ended, in a run nobody works on, was interrupted."""
    step = state.step(step_id)
    return "interrupted" if step.status is Status.RUNNING and not held else step.word


def worked_ms(state: RunState) -> int:
    """How long commands have worked on a run: a killed one until the last that was heard of it."""
    return sum(
        _took(session, _last_heard(state, later.started.at if later else None))
        for session, later in zip_longest(state.sessions, state.sessions[1:])
    )


def _took(session: Session, last_at: str | None) -> int:
    ended = session.finished
    if ended is not None and ended.duration_ms is not None:
        return ended.duration_ms
    began = session.started.at
    return _between(began, ended.at if ended else last_at or began)


def _last_heard(state: RunState, before: str | None) -> str | None:
    """The last time that anything was told, or that a step told before the next command."""
    if before is None:
        return state.last_at
    calls = (call for step in state.steps.values() for call in step.invocations)
    told = [told.at for call in calls for told in (call.intent, call.outcome) if told]
    told += [
        at for step in state.steps.values() for at in (step.started_at, step.finished_at) if at
    ]
    return max((at for at in told if at < before), default=None)


def _between(began: str, ended: str) -> int:
    try:
        span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except ValueError:
        return 0
    # The clock of a machine may have been set back in between.
    return max(0, round(span.total_seconds() * 1000))


def _step(entry: StepEntry, state: RunState, *, held: bool) -> StepShown:
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return StepShown(**fields, state=step_word(state, entry.step_id, held=held))


def _status(state: RunState, holder: str | None, damage: str | None) -> str:
    if damage is not None:
        return "damaged"
    if holder is not None:
        return "running"
    if state.created is None:
        return "empty"
    return "interrupted" if state.status == "running" else state.status
