"""The quarantine as a whole: listing its files and restoring them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from oraclepack.calls.publication import publishing
from oraclepack.errors import InputError, LockedError, NotFoundError, Refusal, UsageError
from oraclepack.journal import events as j
from oraclepack.journal import journal_file, run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Move
from oraclepack.pack.model import Pack
from oraclepack.run.quarantine import (
    FOLDER,
    ROLLED_BACK,
    QuarantineEntry,
    QuarantineFile,
    QuarantineList,
    QuarantineRestoreReport,
    failed_folder,
    listed,
    restore,
)
from oraclepack.system import environment, locks
from oraclepack.system.clock import SystemClock
from oraclepack.system.ownership import ForeignError, tracked_files
from oraclepack.system.path_jail import stays_inside
from oraclepack.system.secrets import Redactor
from oraclepack.view.run import RunView, read_view


def list_quarantine(root: Path, pack: Pack | None = None) -> QuarantineList:
    """Everything in quarantine, or what belongs to the runs of one pack."""
    runs = [read_view(RunDir(root, run_id)) for run_id in run_dir.run_ids(root)]
    reasons = {
        move.target: event.reason
        for view in runs
        for step in view.state.steps.values()
        for event in step.quarantined
        for move in event.moves
        if event.reason
    }
    reasons |= {place: ROLLED_BACK for one in runs for place in one.state.rolled_back_outputs}
    return QuarantineList(files=tuple(_entry_of(root, file, reasons) for file in find(root, pack)))


def find(root: Path, pack: Pack | None = None) -> tuple[QuarantineFile, ...]:
    """The files in quarantine; the journals name their directories."""
    runs = [read_view(RunDir(root, run_id)) for run_id in run_dir.run_ids(root)]
    foreign = {view.run.run_id for view in runs if view.foreign is not None}
    runs = [view for view in runs if view.foreign is None]
    own = [view for view in runs if pack is None or _is_of(view, pack, root)]
    others = {view.run.run_id for view in runs} - {view.run.run_id for view in own}
    folders = {folder for view in own for folder in _folders(root, view)}
    if pack is not None and pack.out_dir is not None:
        folders.add(failed_folder(root, pack.out_dir, root))
    by_path = {file.path: file for folder in folders for file in listed(folder)}
    others |= foreign  # the records of foreign runs are not trusted, and their files are not moved
    return tuple(by_path[path] for path in sorted(by_path) if by_path[path].run_id not in others)


def restore_files(
    root: Path, paths: Sequence[str], *, force: bool
) -> tuple[QuarantineRestoreReport, tuple[str, ...]]:
    """Bring files back, and record it where possible; returns the moves and warnings.

    `paths` are files in quarantine or directories of it. Everything that prevents it is found
    before the first file moves.
    """
    chosen = _chosen(root, paths)
    _refuse_foreign(root, chosen)
    _refuse_twins(chosen)
    if not force:
        _refuse_occupied(root, chosen)
    moves: list[Move] = []
    warnings: list[str] = []
    for run_id in sorted({file.run_id for file in chosen}):
        mine = [file for file in chosen if file.run_id == run_id]
        done, trouble = _restore_of_run(root, run_id, mine, force=force)
        moves += done
        warnings += [trouble] if trouble else []
    return QuarantineRestoreReport(moves=tuple(moves)), tuple(warnings)


def _restore_of_run(
    root: Path, run_id: str, chosen: Sequence[QuarantineFile], *, force: bool
) -> tuple[list[Move], str]:
    run = RunDir(root, run_id)
    if run_id not in run_dir.run_ids(root):
        return [move for file in chosen for move in _back(root, file, force=force)], ""
    clock = SystemClock()
    locked = locks.acquire(run.path, locks.this_process("quarantine restore", clock))
    if isinstance(locked, locks.Holder):
        raise LockedError(
            f"run {run_id} is in use by {locked}",
            hint="wait for it to end: it may be about to write the same files",
        )
    with locked:
        return _record_restored(root, run, chosen, clock, force=force)


def _record_restored(
    root: Path, run: RunDir, chosen: Sequence[QuarantineFile], clock: SystemClock, *, force: bool
) -> tuple[list[Move], str]:
    try:
        file = journal_file.JournalFile(run.journal, clock, Redactor.of(environment.environment()))
    except InputError as trouble:
        moves = [move for restored in chosen for move in _back(root, restored, force=force)]
        return moves, f"restored, but not written down: {trouble.message}"
    done: list[Move] = []
    with file:
        for restored in chosen:
            back = _back(root, restored, force=force)
            file.append(j.Restored(step=restored.step, moves=back))
            done += back
    return done, ""


def _back(root: Path, file: QuarantineFile, *, force: bool) -> tuple[Move, ...]:
    with publishing(root):
        moves = restore(root, file, force=force)
    if isinstance(moves, Refusal):
        raise InputError(f"{moves.subject} cannot be restored: {moves.reason}")
    return moves


def _chosen(root: Path, paths: Sequence[str]) -> list[QuarantineFile]:
    everything = find(root)
    chosen: dict[Path, QuarantineFile] = {}
    for path in paths:
        places = {_absolute(start / path) for start in (Path.cwd(), root)}
        mine = [file for file in everything if places & {file.path, *file.path.parents}]
        if not mine:
            raise NotFoundError(
                f"{path} is not in quarantine",
                hint=_where(path, everything) or "`oraclepack step quarantine` shows what is",
            )
        chosen |= {file.path: file for file in mine}
    return [chosen[path] for path in sorted(chosen)]


def _absolute(path: Path) -> Path:
    # Not resolved: a file in quarantine may be a symbolic link itself.
    return Path(os.path.normpath(path))


def _where(path: str, everything: Iterable[QuarantineFile]) -> str:
    """A hint for a user who named the original path of a file."""
    original = PurePosixPath(path).as_posix()
    places = [str(file.path) for file in everything if file.original == original]
    return f"what came from there is {' and '.join(places)}" if places else ""


def _refuse_foreign(root: Path, chosen: Iterable[QuarantineFile]) -> None:
    """What git tracks, or lies behind a link, was not put into quarantine by us."""
    folders = {file.path.parents[len(PurePosixPath(file.name).parts)] for file in chosen}
    for folder in sorted(folders):
        if not stays_inside(root, folder):
            raise ForeignError(f"{folder} leads out of the project", hint="nothing was changed")
        named = tracked_files(root, _relative(root, folder))
        if named:
            raise ForeignError(
                f"git tracks {named[0]}: it was not put into quarantine here",
                hint="nothing was changed; move the file yourself, if you want it",
            )


def _relative(root: Path, path: Path) -> str:
    return PurePosixPath(os.path.relpath(path, root)).as_posix()


def _refuse_twins(chosen: Iterable[QuarantineFile]) -> None:
    first: dict[str, QuarantineFile] = {}
    for file in chosen:
        twin = first.setdefault(file.original, file)
        if twin is not file:
            raise UsageError(
                f"two of the files belong at {file.original}: {twin.path} and {file.path}",
                hint="name one of them; nothing was changed",
            )


def _refuse_occupied(root: Path, chosen: Iterable[QuarantineFile]) -> None:
    occupied = [file.original for file in chosen if os.path.lexists(root / file.original)]
    if occupied:
        raise InputError(
            f"there is a file at {', '.join(occupied)} now; nothing was changed",
            hint="--force swaps the two: the file that is there goes to quarantine",
        )


def _entry_of(root: Path, file: QuarantineFile, reasons: Mapping[str, str]) -> QuarantineEntry:
    path = _relative(root, file.path)
    return QuarantineEntry(
        path=path,
        reason=reasons.get(path),
        original=file.original,
        run_id=file.run_id,
        step_id=file.step,
        attempt=file.attempt,
        bytes=file.bytes,
        occupied=os.path.lexists(root / file.original),
    )


def _is_of(view: RunView, pack: Pack, root: Path) -> bool:
    created = view.state.created
    if created is None:
        return False
    same_file = (root / created.pack_path).resolve() == Path(pack.path).resolve()
    return same_file or created.pack_hash == pack.pack_hash


def _folders(root: Path, view: RunView) -> Iterator[Path]:
    yield view.run.failed
    for target in _targets(view.state):
        parts = PurePosixPath(target).parts
        if FOLDER in parts and ".." not in parts:
            yield root.joinpath(*parts[: parts.index(FOLDER) + 1])


def _targets(state: RunState) -> Iterator[str]:
    """Where the run has put files aside: in quarantine, or by a rollback."""
    for step in state.steps.values():
        for event in step.quarantined:
            yield from (move.target for move in event.moves)
    for undone in state.rollback.undone if state.rollback else ():
        if undone.quarantined_as is not None:
            yield undone.quarantined_as
