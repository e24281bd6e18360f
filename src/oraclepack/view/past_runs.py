"""Queries of runs: all of a project, one in full, those of each pack, the status of its steps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, NotFoundError, UsageError
from oraclepack.journal import run_dir
from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.journal.journal_file import NAME as JOURNAL
from oraclepack.journal.run_dir import RunDir, RunSummary, choose_run, hash_in
from oraclepack.journal.statuses import Status
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import find_packs
from oraclepack.pack.tree_policy import mutates
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.store.index import Fact, indexed, version_of
from oraclepack.system import environment, git, locks
from oraclepack.system.ownership import HOME
from oraclepack.system.paging import Paged
from oraclepack.system.path_jail import REHEARSALS
from oraclepack.view.calls import RunCall
from oraclepack.view.manifests import RunManifest, run_manifest
from oraclepack.view.run import RunView, read_view
from oraclepack.view.step import StepView, shaped, step_word


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


class RunDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One run in full."""

    run: RunListEntry
    run_dir: str
    manifest: RunManifest | None
    """As in `run.json`; null when the journal does not say which run it is."""
    steps: tuple[StepView, ...]
    calls: tuple[RunCall, ...] = ()
    """All calls in the order in which they arrived, with what they waited for."""


def age(run: RunListEntry) -> tuple[str, str]:
    """Sorts runs from the oldest to the newest; a run without a time is sorted by its name."""
    return (run.created_at or run.run_id, run.run_id)


def list_runs(root: Path) -> RunList:
    """Every run and rehearsal of the project, the newest first."""
    listings = _known(root, run_dir.every_run(root), RunListEntry, listing_of)
    return RunList(runs=tuple(sorted(listings, key=age, reverse=True)))


def summaries(root: Path, pack_hash: str | None = None) -> tuple[RunSummary, ...]:
    """What is known of each run, or of those of one pack; rehearsals are not among them."""
    every = run_dir.run_ids(root)
    ids = [one for one in every if pack_hash is None or hash_in(one) == pack_hash[:8]]
    runs = [RunDir(root, run_id) for run_id in ids]
    return _known(root, runs, RunSummary, summary_of, is_whole=len(ids) == len(every))


def summary_of(view: RunView) -> RunSummary:
    """What decides whether a run is continued."""
    created = view.created
    if created is None:
        return RunSummary(view.run_id, "", damage=view.damage, foreign=view.foreign)
    return shaped(RunSummary, view, created, created_at=created.at, finished=bool(view.finished_at))


def _known(
    root: Path,
    runs: Iterable[RunDir],
    fact: type[Fact],
    make: Callable[[RunView], Fact],
    *,
    is_whole: bool = True,
) -> tuple[Fact, ...]:
    """Something about each run; that of a run which nobody works on is read once."""
    places = {run.name: run for run in runs}

    def read(name: str) -> tuple[Fact, bool]:
        view = read_view(places[name])
        troubles = (view.foreign, view.damage, view.locked_by)
        return make(view), all(one is None for one in troubles)

    versions = {
        # A command that locks a run, or frees it, writes to the lock.
        name: version_of(f"{run.place}/{JOURNAL}", f"{run.place}/{locks.NAME}")
        for name, run in places.items()
    }
    known = indexed(root, HOME, versions, fact, read, is_whole=is_whole)
    return tuple(known[name] for name in places)


def listing_of(view: RunView) -> RunListEntry:
    """A run as `runs list` shows it."""
    steps = [view.state.step(step_id) for step_id in view.state.step_ids]
    return shaped(
        RunListEntry,
        view,
        pack_path=view.created.pack_path if view.created else None,
        git_sha=view.created.git_sha if view.created else None,
        ok=sum(step.status is Status.OK for step in steps),
        accepted=sum(step.is_accepted for step in steps),
        total=len(steps),
        foreign=view.foreign.reason if view.foreign else None,
    )


def show_run(root: Path, name: str) -> RunDetails:
    """One run in full; damaged ones too, up to the damage."""
    return details_of(read_view(named_run(root, name), with_pack=True))


def details_of(view: RunView) -> RunDetails:
    """A run as `runs show` shows it."""
    return shaped(RunDetails, view, run=listing_of(view), manifest=run_manifest(view))


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


def last_statuses(root: Path, pack: Pack) -> tuple[str | None, Mapping[str, str]]:
    """The status of each step in the run that a command would continue; its name, if there is one.

    Asks git only when a run of this pack exists and git's files alone do not give the commit.
    """
    ids = [one for one in run_dir.run_ids(root) if hash_in(one) == pack.pack_hash[:8]]
    if not ids:
        return None, {}
    sha = git.head_commit(root) or git.work_tree_state(root, environment.environment()).sha
    runs = (run for run in summaries(root, pack.pack_hash) if run.foreign is None)
    # A rehearsal completes no step: what was only rehearsed has not been answered.
    choice = choose_run(runs, pack.pack_hash, sha, mutating=mutates(pack), rehearsal=False)
    if choice.run is None:
        return None, {}
    view = read_view(RunDir(root, choice.run.run_id))
    words = {
        str(step.id): step_word(view.state.step(step.id), is_locked=view.locked_by is not None)
        for step in pack.steps
    }
    return choice.run.run_id, words


class PackEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A pack of a project at a glance."""

    path: str
    """As it was found: the folder that was searched, and the path below it."""
    name: str
    """Relative to the project root, where it lies in the project."""
    last_run: RunListEntry | None = None
    """The newest run; a rehearsal only where there is no other."""
    runs: int = 0
    """Without rehearsals."""
    cost: CostTotal = NO_COST
    """Of all its runs."""


def list_packs(folder: str, settings: Settings | None = None) -> tuple[PackEntry, ...]:
    """The packs below a folder, or the one pack that is named; none is no error."""
    root = Path((settings or load_settings(folder)).root)
    try:
        packs = find_packs((folder,))
    except InputError:
        packs = ()
    runs = list_runs(root).runs if environment.has_runs(root) else ()
    return tuple(_entry(path, root, runs) for path in packs)


def _entry(path: Path, root: Path, runs: tuple[RunListEntry, ...]) -> PackEntry:
    place = path.resolve()
    name = place.relative_to(root).as_posix() if place.is_relative_to(root) else path.as_posix()
    own = [run for run in runs if run.pack_path == name]
    real = [run for run in own if not run.rehearsal]
    return PackEntry(
        path=path.as_posix(),
        name=name,
        last_run=next(iter(real or own), None),
        runs=len(real),
        cost=reduce(CostTotal.plus, (run.cost for run in real), NO_COST),
    )
