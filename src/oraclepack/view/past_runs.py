"""Queries of runs: all of a project, one in full, and the status of a pack's steps."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, NotFoundError, OraclePackError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.activity import RUNNING, activity_word
from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.journal.line_format import AnyEvent, JournalContent
from oraclepack.journal.run_dir import RunDir, choose_run, hash_in, is_rehearsal
from oraclepack.journal.run_state import EMPTY, RunState, fold
from oraclepack.journal.statuses import Status
from oraclepack.journal.timeline import SegmentKind, call_timelines
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import read_pack
from oraclepack.pack.tree_policy import mutates
from oraclepack.system import environment, git, locks
from oraclepack.system.ownership import Foreign
from oraclepack.system.paging import Paged
from oraclepack.system.path_jail import REHEARSALS
from oraclepack.view.manifests import RunManifest, StepEntry, run_manifest, steps_manifest


class RunListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One run at a glance."""

    run_id: str
    pack_path: str | None
    git_sha: str | None
    status: str
    """`ok`, `failed`, `incomplete`, `interrupted`, `damaged`, `empty` or `foreign`; while a command
    works on it `running`, `waiting` (for another run), `paused`, `stopping` or `needs_decision`."""
    ok: int
    total: int
    created_at: str | None
    finished_at: str | None
    duration_ms: int
    """How long commands have worked on it."""
    holder: str | None
    """Who works on it now."""
    damage: str | None
    """Where and why its journal is damaged; the rest is from before that place."""
    foreign: str | None = None
    """Why it cannot be proven to be ours; what it says is shown, and never acted upon."""
    rehearsal: bool = False
    """Its answers are oraclepack's own: no model was asked."""
    run_dir: str = ""
    """Relative to the project root."""
    accepted: int = 0
    """How many of the steps that are ok have an answer that a person accepted as it is."""
    cost: CostTotal = NO_COST
    """What its calls cost, as far as it is known."""

    @property
    def name(self) -> str:
        """What `runs show` takes: a rehearsal may have the id of a real run."""
        in_rehearsals = self.run_dir.startswith(REHEARSALS)
        return f"rehearsals/{self.run_id}" if in_rehearsals else self.run_id


class RunList(Paged, frozen=True, kw_only=True):
    """The runs of a project, the newest first."""

    runs: tuple[RunListEntry, ...]


class StepDetails(StepEntry, frozen=True, kw_only=True):
    """A step of `steps.json`; its status may also be `running` or `interrupted`."""

    state: str


class CallTimes(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of a tool spent its time on."""

    step_id: str
    attempt: int
    call: int
    tool: str
    ok: bool | None
    """null while nothing is known of its end."""
    cache_hit: bool
    tries: int
    duration_ms: int
    waits: dict[str, int]
    """Milliseconds by reason: `slot`, `rate`, `retry` and so on."""


class RunDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One run in full."""

    run: RunListEntry
    run_dir: str
    manifest: RunManifest | None
    """As in `run.json`; null when the journal does not say which run it is."""
    steps: tuple[StepDetails, ...]
    calls: tuple[CallTimes, ...] = ()
    """All calls in the order in which they arrived, with what they waited for."""


def listed(
    run_id: str,
    run_dir: str,
    state: RunState,
    holder: str | None,
    damage: str | None,
    foreign: Foreign | None = None,
    activity: str = RUNNING,
) -> RunListEntry:
    """A run at a glance; without a holder, what says that it runs was killed.

    `activity` is what it is called while a command works on it.
    """
    created = state.created
    statuses = [state.step(step_id).status for step_id in state.step_ids]
    return RunListEntry(
        run_id=run_id,
        pack_path=created.pack_path if created else None,
        git_sha=created.git_sha if created else None,
        status="foreign" if foreign else _status(state, holder, damage, activity),
        ok=statuses.count(Status.OK),
        accepted=sum(state.step(step_id).is_accepted for step_id in state.step_ids),
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
        cost=state.cost(),
    )


def age(run: RunListEntry) -> tuple[str, str]:
    """Sorts runs from the oldest to the newest; a run without a time is sorted by its name."""
    return (run.created_at or run.run_id, run.run_id)


def call_times(events: Iterable[AnyEvent], now: str | None) -> Iterator[CallTimes]:
    """How long every call took, and what it waited for; `now` ends what still lasts."""
    for one in call_timelines(events):
        waits = [part for part in one.segments if part.kind is SegmentKind.WAIT]
        reasons = sorted({part.reason for part in waits})
        yield CallTimes(
            step_id=one.step,
            attempt=one.attempt,
            call=one.call,
            tool=one.tool,
            ok=one.ok,
            cache_hit=one.cache_hit,
            tries=len({part.number for part in one.segments if part.kind is SegmentKind.TRY}),
            duration_ms=one.milliseconds(now),
            waits={
                reason: sum(part.milliseconds(now) for part in waits if part.reason == reason)
                for reason in reasons
            },
        )


def details_of(
    run: RunListEntry, state: RunState, pack: Pack | None, events: Iterable[AnyEvent] = ()
) -> RunDetails:
    steps = steps_manifest(pack, state).steps
    held = run.holder is not None
    return RunDetails(
        run=run,
        run_dir=run.run_dir,
        manifest=run_manifest(state),
        steps=tuple(_step(entry, state, held=held) for entry in steps),
        calls=tuple(call_times(events, state.last_at)),
    )


def step_word(state: RunState, step_id: str, *, held: bool) -> str:
    """The status of a step: one that never ended, in a run that is not in use, was interrupted."""
    step = state.step(step_id)
    return "interrupted" if step.status is Status.RUNNING and not held else step.word


def worked_ms(state: RunState) -> int:
    """How long commands have worked on a run: a killed one until its last event."""
    total = 0
    times: list[str] | None = None
    for session, later in zip_longest(state.sessions, state.sessions[1:]):
        began, ended = session.started.at, session.finished
        if ended is not None:
            took = ended.duration_ms
            total += _between(began, ended.at) if took is None else took
        elif later is None:
            total += _between(began, state.last_at or began)
        else:
            times = _event_times(state) if times is None else times
            before = bisect_left(times, later.started.at)
            total += _between(began, times[before - 1] if before else began)
    return total


def _event_times(state: RunState) -> list[str]:
    """When something happened to steps and calls, in order."""
    calls = (call for step in state.steps.values() for call in step.invocations)
    times = [event.at for call in calls for event in (call.intent, call.outcome) if event]
    times += [
        at for step in state.steps.values() for at in (step.started_at, step.finished_at) if at
    ]
    return sorted(times)


def _between(began: str, ended: str) -> int:
    try:
        span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except ValueError:
        return 0
    # The clock of a machine may have been set back in between.
    return max(0, round(span.total_seconds() * 1000))


def _step(entry: StepEntry, state: RunState, *, held: bool) -> StepDetails:
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return StepDetails(**fields, state=step_word(state, entry.step_id, held=held))


def _status(state: RunState, holder: str | None, damage: str | None, activity: str) -> str:
    if damage is not None:
        return "damaged"
    if holder is not None:
        return activity
    if state.created is None:
        return "empty"
    return "interrupted" if state.status == "running" else state.status


class InspectedRun(msgspec.Struct, frozen=True):
    """A run as recorded in its journal, as far as that is signed and intact."""

    run: RunDir
    state: RunState = EMPTY
    damage: str | None = None
    events: int = 0
    foreign: Foreign | None = None
    all_events: tuple[AnyEvent, ...] = ()


def inspect_run(run: RunDir) -> InspectedRun:
    """Read a run; damage is reported in the result, not raised."""
    try:
        examined = run_dir.examine(run)
    except InputError as trouble:
        return InspectedRun(run, damage=trouble.message)
    reading = examined.reading
    state = fold(reading.events)
    return InspectedRun(
        run, state, _damage(reading), len(reading.events), examined.foreign, reading.events
    )


def _damage(reading: JournalContent) -> str | None:
    damage = reading.damage
    return None if damage is None else f"line {damage.line}: {damage.reason}"


def list_runs(root: Path) -> RunList:
    """Every run and rehearsal of the project, the newest first."""
    listings = [listing_of(inspect_run(run)) for run in run_dir.every_run(root)]
    return RunList(runs=tuple(sorted(listings, key=age, reverse=True)))


def show_run(root: Path, name: str) -> RunDetails:
    """One run in full; damaged ones too, up to the damage."""
    inspected = inspect_run(named_run(root, name))
    created = inspected.state.created
    pack = pack_of(root, created.pack_path, created.pack_hash) if created else None
    return details_of(listing_of(inspected), inspected.state, pack, inspected.all_events)


LATEST = "latest"


def named_run(root: Path, name: str, *, other_than: RunDir | None = None) -> RunDir:
    """The run with this name, the only one whose name begins so, or with `latest` the newest.

    A rehearsal is `rehearsals/ID`, or just its id where no real run has that.
    """
    known = run_dir.every_run(root)
    if name == LATEST:
        others = [run for run in known if other_than is None or run.name != other_than.name]
        return _latest(others)
    for fitting in (
        [run for run in known if run.name == name],
        [run for run in known if name and run.name.startswith(name)],
        [run for run in known if name and run.run_id.startswith(name)],
    ):
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise UsageError(
                f"{name} is the beginning of {len(fitting)} runs",
                hint=f"one of {', '.join(run.name for run in fitting)}",
            )
    raise NotFoundError(
        f"there is no run {name}", hint=f"`oraclepack runs list` shows them ({len(known)} here)"
    )


def _latest(runs: Sequence[RunDir]) -> RunDir:
    """The run that something happened to last, rehearsals aside where there are real ones."""
    real = [run for run in runs if run.folder != REHEARSALS] or runs
    if not real:
        raise UsageError("there are no runs yet", hint="`oraclepack run PACK` begins one")
    return max(real, key=_last_change)


def _last_change(run: RunDir) -> tuple[int, str]:
    try:
        return run.journal.stat().st_mtime_ns, run.run_id
    except OSError:
        return 0, run.run_id


def pack_of(root: Path, path: str, pack_hash: str) -> Pack | None:
    """The pack of a run, if it is still there with the same content."""
    try:
        pack = read_pack(root / path)
    except OraclePackError:
        return None
    return pack if pack.pack_hash == pack_hash else None


def last_statuses(root: Path, pack: Pack) -> tuple[str | None, Mapping[str, str]]:
    """The status of each step in the run that a command would continue; its name, if there is one.

    Asks git only when a run of this pack exists and git's files alone do not give the commit.
    """
    ids = [one for one in run_dir.run_ids(root) if hash_in(one) == pack.pack_hash[:8]]
    if not ids:
        return None, {}
    sha = git.head_commit(root) or git.work_tree_state(root, environment.environment()).sha
    runs = (run for run in run_dir.summaries(root, pack.pack_hash) if run.foreign is None)
    # A rehearsal completes no step: what was only rehearsed has not been answered.
    choice = choose_run(runs, pack.pack_hash, sha, mutating=mutates(pack), rehearsal=False)
    if choice.run is None:
        return None, {}
    inspected = inspect_run(RunDir(root, choice.run.run_id))
    held = locks.holder_of(inspected.run.path) is not None
    words = {str(step.id): step_word(inspected.state, step.id, held=held) for step in pack.steps}
    return choice.run.run_id, words


def listing_of(inspected: InspectedRun) -> RunListEntry:
    """A run as `runs list` shows it."""
    # A foreign run is never in use by us, so its lock is not read.
    holder = locks.holder_of(inspected.run.path) if inspected.foreign is None else None
    holder_text = None if holder is None else str(holder)
    return listed(
        inspected.run.run_id,
        inspected.run.relative,
        inspected.state,
        holder_text,
        inspected.damage,
        inspected.foreign,
        activity_word(inspected.all_events) if holder is not None else RUNNING,
    )
