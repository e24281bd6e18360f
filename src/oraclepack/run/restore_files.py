"""The quarantine as a whole: what is in it, and getting it back."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from oraclepack.errors import InputError, LockedError, Refusal, UsageError
from oraclepack.journal import events as j
from oraclepack.journal import journal_file, run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Move
from oraclepack.pack.model import Pack
from oraclepack.run.past_runs import InspectedRun, look_at
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
from oraclepack.system.clock import SystemClock, rfc3339
from oraclepack.system.ownership import ForeignError, tracked_files
from oraclepack.system.path_jail import stays_inside
from oraclepack.system.secrets import Redactor


def list_quarantine(root: Path, pack: Pack | None = None) -> QuarantineList:
    """Everything in quarantine, or what belongs to the runs of one pack."""
    runs = [look_at(RunDir(root, run_id)) for run_id in run_dir.run_ids(root)]
    reasons = {
        move.target: event.reason
        for looked in runs
        for step in looked.state.steps.values()
        for event in step.quarantined
        for move in event.moves
        if event.reason
    }
    reasons |= {place: ROLLED_BACK for one in runs for place in one.state.rolled_back_outputs}
    return QuarantineList(files=tuple(_entry_of(root, kept, reasons) for kept in find(root, pack)))


def find(root: Path, pack: Pack | None = None) -> tuple[QuarantineFile, ...]:
    """The files in quarantine; the journals tell in which directories they are."""
    runs = [look_at(RunDir(root, run_id)) for run_id in run_dir.run_ids(root)]
    foreign = {looked.run.run_id for looked in runs if looked.foreign is not None}
    runs = [looked for looked in runs if looked.foreign is None]
    own = [looked for looked in runs if pack is None or _is_of(looked, pack, root)]
    others = {looked.run.run_id for looked in runs} - {looked.run.run_id for looked in own}
    folders = {folder for looked in own for folder in _folders(root, looked)}
    if pack is not None and pack.out_dir is not None:
        folders.add(failed_folder(root, pack.out_dir, root))
    found = {kept.path: kept for folder in folders for kept in listed(folder)}
    others |= foreign  # what their runs say of them is not believed, nor are they moved
    return tuple(found[path] for path in sorted(found) if found[path].run_id not in others)


def restore_files(
    root: Path, paths: Sequence[str], *, force: bool
) -> tuple[QuarantineRestoreReport, tuple[str, ...]]:
    """Bring files back, and write that down where it can be; the moves, and what to warn of.

    `paths` are files in quarantine or directories of it. Everything that stands against it is
    found before the first file moves.
    """
    chosen = _chosen(root, paths)
    _refuse_foreign(root, chosen)
    _refuse_twins(chosen)
    if not force:
        _refuse_occupied(root, chosen)
    moves: list[Move] = []
    warnings: list[str] = []
    for run_id in sorted({kept.run_id for kept in chosen}):
        mine = [kept for kept in chosen if kept.run_id == run_id]
        done, trouble = _restore_of_run(root, run_id, mine, force=force)
        moves += done
        warnings += [trouble] if trouble else []
    return QuarantineRestoreReport(moves=tuple(moves)), tuple(warnings)


def _restore_of_run(
    root: Path, run_id: str, chosen: Sequence[QuarantineFile], *, force: bool
) -> tuple[list[Move], str]:
    run = RunDir(root, run_id)
    if run_id not in run_dir.run_ids(root):
        return [move for kept in chosen for move in _back(root, kept, force=force)], ""
    clock = SystemClock()
    holder = locks.Holder(
        pid=environment.process_id(),
        host=environment.host(),
        started_at=rfc3339(clock.now()),
        command="quarantine restore",
    )
    held = locks.acquire(run.path, holder)
    if isinstance(held, locks.Holder):
        raise LockedError(
            f"run {run_id} is in use by {held}",
            hint="wait for it to end: it may be about to write the same files",
        )
    with held:
        return _told_to_journal(root, run, chosen, clock, force=force)


def _told_to_journal(
    root: Path, run: RunDir, chosen: Sequence[QuarantineFile], clock: SystemClock, *, force: bool
) -> tuple[list[Move], str]:
    try:
        file = journal_file.JournalFile(run.journal, clock, Redactor.of(environment.environment()))
    except InputError as trouble:
        moves = [move for kept in chosen for move in _back(root, kept, force=force)]
        return moves, f"restored, but not written down: {trouble.message}"
    done: list[Move] = []
    with file:
        for kept in chosen:
            back = _back(root, kept, force=force)
            file.append(j.Restored(step=kept.step, moves=back))
            done += back
    return done, ""


def _back(root: Path, kept: QuarantineFile, *, force: bool) -> tuple[Move, ...]:
    moves = restore(root, kept, force=force)
    if isinstance(moves, Refusal):
        raise InputError(f"{moves.subject} cannot be restored: {moves.reason}")
    return moves


def _chosen(root: Path, paths: Sequence[str]) -> list[QuarantineFile]:
    everything = find(root)
    chosen: dict[Path, QuarantineFile] = {}
    for path in paths:
        places = {_absolute(start / path) for start in (Path.cwd(), root)}
        mine = [kept for kept in everything if places & {kept.path, *kept.path.parents}]
        if not mine:
            raise UsageError(
                f"{path} is not in quarantine",
                hint=_where(path, everything) or "`oraclepack quarantine list` shows what is",
            )
        chosen |= {kept.path: kept for kept in mine}
    return [chosen[path] for path in sorted(chosen)]


def _absolute(path: Path) -> Path:
    # Not resolved: a file in quarantine may be a symbolic link itself.
    return Path(os.path.normpath(path))


def _where(path: str, everything: Iterable[QuarantineFile]) -> str:
    """For someone who named the place a file came from."""
    wanted = PurePosixPath(path).as_posix()
    found = [str(kept.path) for kept in everything if kept.original == wanted]
    return f"what came from there is {' and '.join(found)}" if found else ""


def _refuse_foreign(root: Path, chosen: Iterable[QuarantineFile]) -> None:
    """What git tracks, or lies behind a link, was not put into quarantine by us."""
    folders = {kept.path.parents[len(PurePosixPath(kept.name).parts)] for kept in chosen}
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
    for kept in chosen:
        twin = first.setdefault(kept.original, kept)
        if twin is not kept:
            raise UsageError(
                f"two of the files belong at {kept.original}: {twin.path} and {kept.path}",
                hint="name one of them; nothing was changed",
            )


def _refuse_occupied(root: Path, chosen: Iterable[QuarantineFile]) -> None:
    taken = [kept.original for kept in chosen if os.path.lexists(root / kept.original)]
    if taken:
        raise InputError(
            f"a file stands at {', '.join(taken)} now; nothing was changed",
            hint="--force lets the two change places: the one that stands there goes to quarantine",
        )


def _entry_of(root: Path, kept: QuarantineFile, reasons: Mapping[str, str]) -> QuarantineEntry:
    path = _relative(root, kept.path)
    return QuarantineEntry(
        path=path,
        reason=reasons.get(path),
        original=kept.original,
        run_id=kept.run_id,
        step_id=kept.step,
        attempt=kept.attempt,
        bytes=kept.bytes,
        occupied=os.path.lexists(root / kept.original),
    )


def _is_of(looked: InspectedRun, pack: Pack, root: Path) -> bool:
    created = looked.state.created
    if created is None:
        return False
    same_file = (root / created.pack_path).resolve() == Path(pack.path).resolve()
    return same_file or created.pack_hash == pack.pack_hash


def _folders(root: Path, looked: InspectedRun) -> Iterator[Path]:
    yield looked.run.failed
    for target in _targets(looked.state):
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
