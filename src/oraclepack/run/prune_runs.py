"""Removing finished runs, as far as nothing is lost by it and nothing is paid for again."""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import msgspec

from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_store import project_cache
from oraclepack.errors import InputError, MachineError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.blobs import FOLDER as BLOBS
from oraclepack.journal.run_dir import OWN_NAMES, RunDir, is_run_id
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.journal.step_state import StepState
from oraclepack.run.quarantine import find as find_quarantined
from oraclepack.system import disk, files, locks, trust_key
from oraclepack.system.backlog_notes import read_person_notes
from oraclepack.system.clock import Clock, SystemClock, rfc3339
from oraclepack.system.digests import keyed_digest, same_digest, sha256_bytes
from oraclepack.system.ownership import foreign_folder, tracked
from oraclepack.system.path_jail import REHEARSALS, RUNS
from oraclepack.tools.tool_names import ORACLE
from oraclepack.view.run import RunView, read_view

_GOING = ".pruned-"


def strange_names(run: RunDir) -> tuple[str, ...]:
    """What is in a run directory and is none of the names that we make."""
    names = sorted(os.listdir(run.path))  # names only
    return tuple(name for name in names if name not in OWN_NAMES and not files.is_temporary(name))


def size_of(directory: Path) -> int:
    places = (Path(at, name) for at, _, names in os.walk(directory) for name in names)
    return sum(path.lstat().st_size for path in places)


def remove_run(run: RunDir) -> None:
    """Remove a run directory. Needs its lock.

    It is renamed first: a kill in between leaves no half of a run, only a directory
    that `finish_removals` knows by the signature in its name.
    """
    renamed = run.path.parent / _name_for(run)
    try:
        disk.rename(run.path, renamed)
        disk.sync_directory(renamed.parent)
    except OSError as trouble:
        raise files.cannot("remove", run.path, trouble) from trouble
    _remove_tree(renamed)


def finish_removals(root: Path) -> None:
    """Remove what an earlier command was about to when it was killed."""
    for folder in (RUNS, REHEARSALS):
        place = root / folder
        if foreign_folder(root, folder) is None and place.is_dir():
            for path in sorted(place.glob(f"{_GOING}*")):
                if _is_ours(root, folder, path):
                    _remove_tree(path)


def _is_ours(root: Path, folder: str, path: Path) -> bool:
    run_id = path.name.rpartition("-.")[2]
    if not is_run_id(run_id) or path.is_symlink() or not path.is_dir():
        return False
    expected = _name_for(RunDir(root, run_id, folder))
    return same_digest(path.name, expected) and not tracked(root, f"{folder}/{path.name}")


def _name_for(run: RunDir) -> str:
    mac = keyed_digest(trust_key.make_key(), "pruned run", run.relative.encode())
    return f"{_GOING}{mac}-.{run.run_id}"


def _remove_tree(directory: Path) -> None:
    """Bottom up; a symbolic link is removed, never followed."""
    at = directory
    try:
        for parent, folders, names in os.walk(directory, topdown=False):
            for name in names:
                at = Path(parent, name)
                disk.remove(at)
            for name in folders:
                at = Path(parent, name)
                (disk.remove if at.is_symlink() else disk.remove_directory)(at)
        at = directory
        disk.remove_directory(directory)
        disk.sync_directory(directory.parent)
    except OSError as trouble:
        raise files.cannot("remove", at, trouble) from trouble


FINISHED = "ok"
"""The status of a run in which nothing is left to do."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a run that decide whether it is removed."""

    run_id: str
    """Its name: that of a rehearsal begins with `rehearsals/`."""
    is_rehearsal: bool = False
    """It starts over whenever it is given again, so there is nothing to finish in it."""
    pack_path: str = ""
    pack_hash: str = ""
    status: str = FINISHED
    """As `runs list` shows it."""
    last_at: str = ""
    has_open_calls: bool = False
    is_rolling_back: bool = False
    quarantined: int = 0
    """Files of it that are in quarantine."""


class RemovedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was removed, or would be."""

    run_id: str
    bytes: int


class RetainedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that stays, and why."""

    run_id: str
    reason: str


class RunsPruneReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `runs prune` answers."""

    removed: tuple[RemovedRun, ...]
    """With `dry_run`: what would be."""
    kept: tuple[RetainedRun, ...]
    bytes: int
    dry_run: bool = False


def newest_first(runs: Sequence[RunFacts]) -> list[RunFacts]:
    return sorted(runs, key=lambda run: (run.last_at, run.run_id), reverse=True)


def reasons_to_keep(
    runs: Sequence[RunFacts], *, before: str | None, keep: int | None
) -> dict[str, str]:
    """The runs that stay whatever is in them, with the reason, by their id.

    `before`: only runs that nothing happened to since then may go. `keep`: so many of the
    newest of each pack stay.
    """
    newer: Counter[tuple[str, bool]] = Counter()
    reasons: dict[str, str] = {}
    for run in newest_first(runs):
        reason = _unfinished(run)
        kind = (run.pack_path, run.is_rehearsal)
        newer[kind] += 1
        if reason is None and keep is not None and newer[kind] <= keep:
            reason = f"among the newest {keep} of its pack"
        if reason is None and before is not None and run.last_at >= before:
            reason = "not old enough"
        if reason is not None:
            reasons[run.run_id] = reason
    return reasons


def continued_ones(runs: Sequence[RunFacts]) -> frozenset[str]:
    """The newest run of each pack as it is written: the one that the next `run` goes by."""
    newest: dict[str, str] = {}
    for run in newest_first(runs):
        if not run.is_rehearsal:
            newest.setdefault(run.pack_hash, run.run_id)
    return frozenset(newest.values())


def unpaid_again(state: RunState, cached: Collection[str]) -> str | None:
    """Why the next `run` of the pack would pay again without this run; None when it would not."""
    for step in state.steps.values():
        if step.imported and step.outputs:
            return (
                "the next run would ask again: no cache has what was taken over from a state file"
            )
        if step.accepted:
            return "the next run would ask again: no cache has what a person accepted"
        for call in step.invocations:
            outcome = call.outcome
            if outcome is None:
                continue
            if outcome.unmet_sha256 is not None and not _is_answered(step, outcome):
                return "the next run would ask again: no cache has an answer that was corrected"
            if not outcome.ok:
                continue
            if outcome.tool != ORACLE:
                return f"the next run would call {outcome.tool} again"
            if outcome.sha256 is None or outcome.sha256 not in cached:
                return "the next run would ask again: not all of its answers are in the cache"
    return None


def _is_answered(step: StepState, failed: j.InvocationOutcome) -> bool:
    """The same question was answered after a call that failed."""
    ended = (call.outcome for call in step.invocations if call.outcome is not None)
    return any(one.ok and one.key == failed.key and one.seq > failed.seq for one in ended)


def _unfinished(run: RunFacts) -> str | None:
    if run.status != FINISHED and not (run.is_rehearsal and run.status in _TO_FINISH):
        return _WORDS.get(run.status, run.status)
    if run.has_open_calls and not run.is_rehearsal:
        return "a call of it may still be answered"
    if run.is_rolling_back:
        return "a rollback of it is not finished"
    if run.quarantined:
        return f"{run.quarantined} file(s) of it are in quarantine"
    return None


_TO_FINISH = frozenset(("failed", "incomplete", "interrupted"))
_WORDS = {
    "running": "in use",
    "failed": "unfinished: a step failed",
    "incomplete": "unfinished",
    "interrupted": "unfinished: interrupted",
    "damaged": "its journal is damaged; see `oraclepack runs repair`",
    "empty": "its journal says nothing",
    "foreign": "foreign: not known to be yours",
}


_REPLACED = ("backups", "aside", "_failed")
"""Folders of a run with files that its steps replaced, or that failed."""
_COPIES = ("outputs", "answers", BLOBS, *_REPLACED)
"""What of a run may be the only copy of something."""


def prune_runs(
    root: Path, *, older_than: float | None = None, keep: int | None = None, dry_run: bool = False
) -> RunsPruneReport:
    """Remove the runs that may be removed, or only list them."""
    if not dry_run:
        finish_removals(root)
    clock, before = SystemClock(), None
    if older_than is not None:
        before = rfc3339(clock.now() - timedelta(seconds=older_than))
    return _Pruning(root, clock, dry_run=dry_run).prune(before, keep)


class _Pruning:
    """One look at all runs of a project, and what becomes of them."""

    def __init__(self, root: Path, clock: Clock, *, dry_run: bool) -> None:
        self._root = root
        self._clock = clock
        self._dry_run = dry_run
        self._inspected = {run.name: read_view(run) for run in run_dir.every_run(root)}
        self._cached = _cached_hashes(root)
        self._copies: set[str] = set()
        """What stays: the SHA-256 of answers in runs that are kept."""

    def prune(self, before: str | None, keep: int | None) -> RunsPruneReport:
        waiting = Counter(entry.run_id for entry in find_quarantined(self._root))
        facts = [_facts(view, waiting) for view in self._inspected.values()]
        entry = reasons_to_keep(facts, before=before, keep=keep)
        continued = continued_ones(facts)
        for run_id in entry:
            self._keep(self._inspected[run_id])
        removed: list[RemovedRun] = []
        # The newest first: of several runs with the same answer the newest one keeps it.
        for run_id in (run.run_id for run in newest_first(facts) if run.run_id not in entry):
            view = self._inspected[run_id]
            size = size_of(view.run.path)
            reason = self._reason(view, is_continued=run_id in continued)
            reason = reason or (None if self._dry_run else self._remove(view))
            if reason is None:
                removed.append(RemovedRun(run_id=run_id, bytes=size))
            else:
                entry[run_id] = reason
                self._keep(view)
        return RunsPruneReport(
            removed=tuple(sorted(removed, key=lambda one: one.run_id)),
            kept=tuple(RetainedRun(run_id=name, reason=entry[name]) for name in sorted(entry)),
            bytes=sum(one.bytes for one in removed),
            dry_run=self._dry_run,
        )

    def _keep(self, view: RunView) -> None:
        if view.foreign is None and view.run.folder == RUNS:
            with suppress(InputError):  # what cannot be read is no copy
                self._copies |= {sha256_bytes(data) for _, data in _contents(view.run, _COPIES)}

    def _reason(self, view: RunView, *, is_continued: bool) -> str | None:
        """Why a finished run is retained."""
        strange = strange_names(view.run)
        if strange:
            return f"it holds {strange[0]}, which oraclepack did not make"
        if _has_own_words(view.run):
            return "its backlog holds text of yours"
        if is_continued and (reason := unpaid_again(view.state, self._cached)) is not None:
            return reason
        try:
            return self._only_copy(view)
        except InputError as trouble:
            return f"it cannot be read: {trouble.message}"

    def _only_copy(self, view: RunView) -> str | None:
        elsewhere = self._cached | self._copies | _in_project(self._root, view)
        # Nothing that a rehearsal answered was paid for.
        is_real = view.run.folder == RUNS
        replaced = {one.sha256 for one in view.events if isinstance(one, j.OutputBackedUp)}
        for path, data in _contents(view.run, _COPIES if is_real else (BLOBS, *_REPLACED)):
            is_answer = not is_real and path.parent.name == BLOBS and path.name not in replaced
            if not is_answer and sha256_bytes(data) not in elsewhere:
                return f"the only copy of {path.relative_to(view.run.path).as_posix()}"
        return None

    def _remove(self, view: RunView) -> str | None:
        """Remove a run under its lock; why not, if not."""
        locked = locks.acquire(view.run.path, locks.this_process("runs prune", self._clock))
        if isinstance(locked, locks.Holder):
            return f"in use by {locked}"
        with locked:
            now = read_view(view.run)
            if now.foreign is not None or len(now.events) != len(view.events):
                return "another command has worked on it meanwhile"
            try:
                remove_run(view.run)
            except MachineError as trouble:
                return trouble.message
        return None


def _facts(view: RunView, waiting: Counter[str]) -> RunFacts:
    state, created = view.state, view.state.created
    calls = (call for step in state.steps.values() for call in step.invocations)
    return RunFacts(
        run_id=view.run.name,
        is_rehearsal=view.run.folder != RUNS,
        pack_path=created.pack_path if created else "",
        pack_hash=created.pack_hash if created else view.run.run_id,
        status=view.status,
        last_at=state.last_at or "",
        has_open_calls=any(call.is_open for call in calls),
        is_rolling_back=state.rollback is not None
        and state.rollback.status is not RollbackStatus.COMPLETED,
        quarantined=waiting[view.run.run_id],
    )


def _cached_hashes(root: Path) -> frozenset[str]:
    """The SHA-256 of every answer that the cache would give again."""
    cache = project_cache(root)
    if cache.foreign is not None:
        return frozenset()
    return frozenset(one.entry.sha256 for one in cache.entries() if one.state == GOOD)


def _in_project(root: Path, view: RunView) -> frozenset[str]:
    """The SHA-256 of the run's outputs that stand unchanged where the pack asked for them."""
    hashes: set[str] = set()
    for step in view.state.steps.values():
        for output in step.outputs:
            declared = output.declared_path
            path = (root / declared).resolve() if declared else None
            if path is not None and path.is_relative_to(root.resolve()) and path.is_file():
                data = files.read(path)
                hashes |= {sha256_bytes(data)} if data is not None else set()
    return frozenset(hashes)


def _contents(run: RunDir, folders: Sequence[str]) -> Iterator[tuple[Path, bytes]]:
    """The files in some folders of a run."""
    for folder in folders:
        for path in sorted((run.path / folder).rglob("*")):
            if path.is_symlink() or not path.is_file() or _is_bookkeeping(path, folder):
                continue
            data = files.read(path)
            if data:
                yield path, data


def _is_bookkeeping(path: Path, folder: str) -> bool:
    """Entries and the lock of the run's own cache, half-written files."""
    is_entry = folder == "answers" and path.suffix != ".md"
    return is_entry or files.is_temporary(path.name)


def _has_own_words(run: RunDir) -> bool:
    backlog = files.read(run.path / "actionizer" / "backlog.md")
    if backlog is None:
        return False
    try:
        texts = read_person_notes(backlog.decode("utf-8", "replace"))
    except InputError:
        return True
    return any(text.strip() for text in texts.values())
