"""Removing finished runs, as far as nothing is lost by it and nothing is paid for again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from oraclepack.adapters.run_removal import finish_removals, remove_run, size_of, strange_names
from oraclepack.app.quarantine import find as find_quarantined
from oraclepack.app.runs import Looked, listing_of, look_at
from oraclepack.calls.cache import GOOD, AnswerCache
from oraclepack.core.run_pruning import (
    RunFacts,
    RunKept,
    RunRemoved,
    RunsPruned,
    continued_ones,
    newest_first,
    reasons_to_keep,
    unpaid_again,
)
from oraclepack.errors import InputError, WorldError
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.system import environment, files, locks
from oraclepack.system.clock import Clock, rfc3339
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import CACHE, RUNS

_REPLACED = ("backups", "aside", "_failed")
"""Folders of a run with files that its steps replaced, or that failed."""
_COPIES = ("outputs", "answers", *_REPLACED)
"""What of a run may be the only copy of something."""


def prune_runs(
    root: Path, clock: Clock, *, older_than: float | None, keep: int | None, dry_run: bool
) -> RunsPruned:
    """Remove the runs that may go, or only tell which."""
    if not dry_run:
        finish_removals(root)
    before = None
    if older_than is not None:
        before = rfc3339(clock.now() - timedelta(seconds=older_than))
    return _Pruning(root, clock, dry_run=dry_run).prune(before, keep)


class _Pruning:
    """One look at all runs of a project, and what becomes of them."""

    def __init__(self, root: Path, clock: Clock, *, dry_run: bool) -> None:
        self._root = root
        self._clock = clock
        self._dry_run = dry_run
        self._looked = {run.name: look_at(run) for run in run_dir.every_run(root)}
        self._cached = _cached_hashes(root)
        self._copies: set[str] = set()
        """What stays: the SHA-256 of answers in runs that are kept."""

    def prune(self, before: str | None, keep: int | None) -> RunsPruned:
        waiting = Counter(kept.run_id for kept in find_quarantined(self._root))
        facts = [_facts(looked, waiting) for looked in self._looked.values()]
        kept = reasons_to_keep(facts, before=before, keep=keep)
        continued = continued_ones(facts)
        for run_id in kept:
            self._keep(self._looked[run_id])
        removed: list[RunRemoved] = []
        # The newest first: of several runs with the same answer the newest one keeps it.
        for run_id in (run.run_id for run in newest_first(facts) if run.run_id not in kept):
            looked = self._looked[run_id]
            size = size_of(looked.run.path)
            reason = self._reason(looked, is_continued=run_id in continued)
            reason = reason or (None if self._dry_run else self._remove(looked))
            if reason is None:
                removed.append(RunRemoved(run_id=run_id, bytes=size))
            else:
                kept[run_id] = reason
                self._keep(looked)
        return RunsPruned(
            removed=tuple(sorted(removed, key=lambda one: one.run_id)),
            kept=tuple(RunKept(run_id=name, reason=kept[name]) for name in sorted(kept)),
            bytes=sum(one.bytes for one in removed),
            dry_run=self._dry_run,
        )

    def _keep(self, looked: Looked) -> None:
        if looked.foreign is None and looked.run.folder == RUNS:
            with suppress(InputError):  # what cannot be read is no copy
                self._copies |= {sha256_bytes(data) for _, data in _contents(looked.run, _COPIES)}

    def _reason(self, looked: Looked, *, is_continued: bool) -> str | None:
        """Why a finished run stays all the same."""
        strange = strange_names(looked.run)
        if strange:
            return f"it holds {strange[0]}, which oraclepack did not make"
        if _has_own_words(looked.run):
            return "its backlog holds text of yours"
        if is_continued and (reason := unpaid_again(looked.state, self._cached)) is not None:
            return reason
        try:
            return self._only_copy(looked)
        except InputError as trouble:
            return f"it cannot be read: {trouble.message}"

    def _only_copy(self, looked: Looked) -> str | None:
        elsewhere = self._cached | self._copies | _in_project(self._root, looked)
        # Nothing that a rehearsal answered was paid for.
        folders = _COPIES if looked.run.folder == RUNS else _REPLACED
        for path, data in _contents(looked.run, folders):
            if sha256_bytes(data) not in elsewhere:
                return f"the only copy of {path.relative_to(looked.run.path).as_posix()}"
        return None

    def _remove(self, looked: Looked) -> str | None:
        """Remove a run under its lock; why not, if not."""
        holder = locks.Holder(
            pid=environment.process_id(),
            host=environment.host(),
            started_at=rfc3339(self._clock.now()),
            command="runs prune",
        )
        held = locks.acquire(looked.run.path, holder)
        if isinstance(held, locks.Holder):
            return f"in use by {held}"
        with held:
            now = look_at(looked.run)
            if now.foreign is not None or now.events != looked.events:
                return "another command has worked on it meanwhile"
            try:
                remove_run(looked.run)
            except WorldError as trouble:
                return trouble.message
        return None


def _facts(looked: Looked, waiting: Counter[str]) -> RunFacts:
    state, created = looked.state, looked.state.created
    calls = (call for step in state.steps.values() for call in step.invocations)
    return RunFacts(
        run_id=looked.run.name,
        is_rehearsal=looked.run.folder != RUNS,
        pack_path=created.pack_path if created else "",
        pack_hash=created.pack_hash if created else looked.run.run_id,
        status=listing_of(looked).status,
        last_at=state.last_at or "",
        has_open_calls=any(call.is_open for call in calls),
        is_rolling_back=state.rollback is not None
        and state.rollback.status is not RollbackStatus.COMPLETED,
        quarantined=waiting[looked.run.run_id],
    )


def _cached_hashes(root: Path) -> frozenset[str]:
    """The SHA-256 of every answer that the cache would give again."""
    cache = AnswerCache(root, root / CACHE)
    if cache.foreign is not None:
        return frozenset()
    return frozenset(one.entry.sha256 for one in cache.entries() if one.state == GOOD)


def _in_project(root: Path, looked: Looked) -> frozenset[str]:
    """The SHA-256 of the run's outputs that stand unchanged where the pack asked for them."""
    found: set[str] = set()
    for step in looked.state.steps.values():
        for output in step.outputs:
            declared = output.declared_path
            path = (root / declared).resolve() if declared else None
            if path is not None and path.is_relative_to(root.resolve()) and path.is_file():
                data = files.read(path)
                found |= {sha256_bytes(data)} if data is not None else set()
    return frozenset(found)


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
    from oraclepack.system.kept_text import read_kept  # noqa: PLC0415 - only where there is one

    try:
        kept = read_kept(backlog.decode("utf-8", "replace"))
    except InputError:
        return True
    return any(text.strip() for text in kept.values())
