"""Which run a command works on, looked up without changing anything, then opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

import msgspec

from oraclepack.errors import (
    InputError,
    LockedError,
    MachineError,
    NotFoundError,
    OraclePackError,
    RunAbortedError,
    UsageError,
)
from oraclepack.journal import events as j
from oraclepack.journal import journal_file, run_dir
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.journal_file import Observer
from oraclepack.journal.run_dir import (
    RunChoice,
    RunDir,
    choose_run,
    free_run_id,
    is_rehearsal,
    pack_id,
)
from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.pack.model import Pack, Step
from oraclepack.pack.pack_files import check_name
from oraclepack.pack.tree_policy import mutates
from oraclepack.run.files import LockedRun
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.quarantine import failed_folder
from oraclepack.run.recover import sweep
from oraclepack.system import environment, git, locks
from oraclepack.system import git as head
from oraclepack.system.clock import Clock
from oraclepack.system.files import exhausted
from oraclepack.system.ownership import ForeignError, foreign_folder, foreign_run
from oraclepack.system.path_jail import REHEARSALS, RUNS
from oraclepack.system.secrets import Redactor
from oraclepack.view.manifests import refresh_manifests, write_manifests
from oraclepack.view.past_runs import summaries

IN_PLACE = "in_place"
"""What a rehearsal in the project itself is called among the settings it records."""


class SelectedRun(msgspec.Struct, frozen=True):
    """The run a command would work on, and its state as it is now."""

    run: RunDir
    state: RunState
    tree: git.WorkTreeState
    is_new: bool
    reason: str
    notice: str = ""


def find_run(
    root: Path, pack: Pack, arguments: RunArguments, clock: Clock, *, rehearsal: bool | None = None
) -> SelectedRun:
    """Decide which run a command works on: one by its name, a fresh one, or whatever fits.

    `rehearsal` is whether it is to be one; None takes what there is. Changes nothing.
    """
    tree = _where(root)
    today = clock.now().astimezone().date().isoformat()
    name = pack_id(pack.path, pack.pack_hash, tree.sha, today)
    if rehearsal:
        return _rehearsal(root, arguments, tree, name)
    if arguments.run_id is not None:
        return _named(root, pack, arguments.run_id, tree, rehearsal=rehearsal)
    # Listed before the runs are read: one that another command begins meanwhile gets no second
    # name. Both commands then want the same run, and its lock decides.
    known = run_dir.run_ids(root)
    if not arguments.new_run:
        choice = _choice(root, pack, tree.sha, rehearsal=rehearsal)
        if choice.run is not None:
            run = RunDir(root, choice.run.run_id)
            state = _state(run)
            return SelectedRun(run, state, tree, is_new=False, reason=choice.reason)
        notice, reason = choice.notice, choice.reason
    else:
        notice, reason = "", "--new-run was given"
    run = RunDir(root, free_run_id(name, known))
    _refuse_foreign_place(run)
    return SelectedRun(run, EMPTY, tree, is_new=True, reason=reason, notice=notice)


def step_of(pack: Pack, name: str) -> Step:
    """The step that a person named. Raises NotFoundError."""
    step = pack.step(name.zfill(2))
    if step is None:
        known = ", ".join(one.id for one in pack.steps)
        raise NotFoundError(f"there is no step {name}", hint=f"the pack has the steps {known}")
    return step


def refuse_new(selected: SelectedRun, purpose: str) -> None:
    """Raise where the run would have to be made first."""
    if selected.is_new:
        raise UsageError(
            f"there is no run to {purpose}: {selected.reason}",
            hint="`oraclepack runs list` shows the runs; --run-id names one",
        )


def _choice(root: Path, pack: Pack, head: str | None, *, rehearsal: bool | None) -> RunChoice:
    """The run of ours that goes on.

    A foreign run in its place that may be the user's own is not ignored: its answers may be paid
    for. Any other foreign run is ignored.
    """
    runs, mutating = summaries(root, pack.pack_hash), mutates(pack)

    def choose(*, foreign: bool) -> RunChoice:
        some = (run for run in runs if (run.foreign is not None) == foreign)
        return choose_run(some, pack.pack_hash, head, mutating=mutating, rehearsal=rehearsal)

    own, other = choose(foreign=False), choose(foreign=True).run
    if own.run is not None or other is None or other.foreign is None:
        return own
    if other.foreign.may_be_ours:
        raise foreign_run(other.run_id, other.foreign, "--new-run starts afresh and may pay again")
    notice = f"run {other.run_id} is foreign and left alone: {other.foreign.reason}"
    return msgspec.structs.replace(own, notice=notice)


def _refuse_foreign_place(run: RunDir) -> None:
    """A new run is not made behind a link, or in a folder that git brings."""
    foreign = foreign_folder(run.root, run.relative)
    if foreign is not None:
        raise ForeignError(
            f"no run can be kept in {run.folder}: {foreign.reason}", hint=foreign.way_out
        )


def _rehearsal(
    root: Path, arguments: RunArguments, tree: git.WorkTreeState, name: str
) -> SelectedRun:
    """A rehearsal starts over; one that changed the project itself is kept, so is its record."""
    if arguments.run_id is not None:
        raise UsageError(
            "--run-id: a rehearsal always starts over, and continues no run",
            hint="leave --run-id out, or drop --engine rehearsal",
        )
    known = run_dir.run_ids(root, REHEARSALS)
    usable = [one for one in known if arguments.in_place or _stays(RunDir(root, one, REHEARSALS))]
    run = RunDir(root, free_run_id(name, usable), REHEARSALS)
    _refuse_foreign_place(run)
    return SelectedRun(run, EMPTY, tree, is_new=True, reason="a rehearsal starts over")


def _stays(rehearsal: RunDir) -> bool:
    """Whether a rehearsal is not to be replaced: it is not ours, or it changed the project."""
    try:
        examined = run_dir.examine(rehearsal)
    except InputError:
        return True
    created = examined.state.created
    in_place = created is not None and bool(created.settings.get(IN_PLACE))
    return in_place or examined.foreign is not None


def _where(root: Path) -> git.WorkTreeState:
    """The commit, from git's files if possible: starting git takes longer than all else here."""
    sha = head.head_commit(root)
    if sha is not None:
        return git.WorkTreeState(sha)
    if head.is_unborn(root):
        return git.WorkTreeState(reason=git.NO_COMMIT)
    return git.work_tree_state(root, environment.environment())


def described(selected: SelectedRun, meanwhile: Callable[[], None]) -> SelectedRun:
    """The same, and whether files differ from the commit, which only git knows.

    That takes a while, in which something else can be done; if that fails, git is not waited for.
    """
    tree = selected.tree
    if selected.state.created is not None or tree.dirty is not None:
        meanwhile()
        return selected
    work_tree = git.begin_work_tree_state(selected.run.root, environment.environment())
    meanwhile()
    full = work_tree()
    known = git.WorkTreeState(tree.sha or full.sha, full.dirty, full.reason)
    return msgspec.structs.replace(selected, tree=known)


@contextmanager
def opened(
    selected: SelectedRun,
    pack: Pack,
    clock: Clock,
    command: str,
    *,
    is_new: bool = False,
    legacy_files: bool = True,
    observers: Sequence[Observer] = (),
) -> Iterator[LockedRun]:
    """Lock the run and open its journal; both are released at the end.

    With `is_new` no run of another command will do, even one that began at the same moment.
    """
    check_name(Path(pack.path))
    rehearsal = selected.is_new and selected.run.folder == REHEARSALS
    selected.run.create()
    locked = locks.acquire(selected.run.path, locks.this_process(command, clock))
    if isinstance(locked, locks.Holder):
        raise LockedError(
            f"run {selected.run.run_id} is in use by {locked}",
            hint="wait for it to end"
            + ("" if rehearsal else ", or start another one with --new-run"),
        )
    with locked:
        if rehearsal:
            from oraclepack.run.rehearsing import start_over

            start_over(selected.run)
        else:
            sweep(selected.run, pack, selected.state)
        redactor = Redactor.of(environment.environment())
        legacy = legacy_files if selected.run.folder == RUNS else None
        manifests = _LiveManifests(selected.run, pack, legacy=legacy)
        record = journal_file.JournalFile(
            selected.run.journal, clock, redactor, observers=(*observers, manifests.event)
        )
        try:
            with record:
                if is_new and selected.is_new and record.state.created is not None:
                    raise LockedError(
                        f"another command began run {selected.run.run_id} at the same moment",
                        hint="run the command again",
                        retry_after=1.0,
                    )
                with _concluded(record, manifests):
                    folder = failed_folder(selected.run.root, pack.out_dir, selected.run.path)
                    yield LockedRun(selected.run.root, selected.run, record, folder)
        except (MachineError, OSError) as trouble:
            exhaustion = trouble if isinstance(trouble, MachineError) else exhausted(trouble)
            if exhaustion is None:
                raise
            raise RunAbortedError(
                exhaustion.message, hint=exhaustion.hint, detail=exhaustion.detail
            ) from trouble


_SHOWN = (j.PreludeStarted, j.PreludeFinished, j.StepStarted, j.StepFinished)
"""After these the manifests are written: they show every step as it is, before the next begins."""


class _LiveManifests:
    """Keeps the manifests of a run up to date while a command works on it.

    They are folds and can be rebuilt, so they are not synced while steps run. At the
    end they are written once more, and synced.
    """

    def __init__(self, run: RunDir, pack: Pack, *, legacy: bool | None) -> None:
        self._run = run
        self._pack = pack
        self._legacy = legacy
        self._lock = Lock()
        self._written = 0

    def event(self, event: KnownEvent, state: RunState) -> None:
        """Write them after an event that they show.

        It is recorded before: it may have been paid for. When they cannot be written, this raises,
        and nothing new begins.
        """
        with self._lock:
            # A thread that comes late has an older state.
            if isinstance(event, _SHOWN) and state.last_seq > self._written:
                write_manifests(self._run, self._pack, state, legacy=self._legacy, durable=False)
                self._written = state.last_seq

    def close(self, state: RunState) -> None:
        """Write them a last time, durably."""
        write = write_manifests if self._written else refresh_manifests
        write(self._run, self._pack, state, legacy=self._legacy)


@contextmanager
def _concluded(record: journal_file.JournalFile, manifests: _LiveManifests) -> Iterator[None]:
    """At the end the journal is synced, and the manifests are written a last time."""

    def conclude() -> None:
        record.sync()
        manifests.close(record.state)

    try:
        yield
    except BaseException:
        # An error now most likely has the same cause; the first one is reported.
        with suppress(OraclePackError, OSError):
            conclude()
        raise
    conclude()


def _named(
    root: Path, pack: Pack, run_id: str, tree: git.WorkTreeState, *, rehearsal: bool | None
) -> SelectedRun:
    known = run_dir.every_run(root)
    run = next((one for one in known if one.name == run_id), None)
    if run is None:
        raise NotFoundError(
            f"--run-id: there is no run {run_id}",
            hint=f"`oraclepack runs list` shows them ({len(known)} here)",
        )
    state = _state(run)
    if state.created is not None and state.created.pack_hash != pack.pack_hash:
        raise UsageError(
            f"--run-id: run {run_id} belongs to another content of the pack",
            hint="the pack was edited since; leave --run-id out to start a new run",
        )
    # A real run must not take rehearsed answers for its own.
    if rehearsal is False and state.created is not None and is_rehearsal(state.created.engine):
        raise UsageError(
            f"--run-id: run {run_id} is a rehearsal, and this is a real run",
            hint="leave --run-id out, or add --engine rehearsal to rehearse again",
        )
    return SelectedRun(run, state, tree, is_new=False, reason="--run-id names it")


def _state(run: RunDir) -> RunState:
    examined = run_dir.examine(run)
    reading, state = examined.reading, examined.own_state()
    if reading.damage is not None:
        raise journal_file.damaged(run.journal, reading)
    if not reading.events and run.has_outputs:
        raise InputError(
            f"{run.journal} is empty or gone, although the run has answers",
            hint="nothing was changed; bring the journal back, or start afresh with --new-run "
            "(answers in the cache stay free)",
        )
    return state


def path_in_project(path: str, root: Path) -> str:
    """The path of a pack as runs record it: relative to the project, if it lies inside."""
    absolute = Path(path).resolve()
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else path
