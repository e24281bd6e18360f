"""The quarantine: where the outputs of failed attempts go. Nothing in it is ever deleted.

    <out_dir>/_failed/<run_id>/step-NN/<attempt>/<path relative to out_dir>

A file from outside the out_dir keeps its path relative to the project root. Where each came
from is in `step-NN/<attempt>.origins.json`, written before the first file moves, so that it
can be brought back without the journal. A file that is not named there, as in quarantines of
0.1.0, came from its path relative to the project root. An attempt directory that already holds
one of the files is left alone: the next one is `<attempt>-2`, `<attempt>-3` and so on.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from posixpath import normpath

import msgspec
from msgspec.structs import replace

from oraclepack.calls.answers import publishing
from oraclepack.errors import (
    InputError,
    LockedError,
    MachineError,
    NotFoundError,
    Refusal,
    UsageError,
)
from oraclepack.journal import events as j
from oraclepack.journal import journal_file, run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Move
from oraclepack.pack.model import Pack
from oraclepack.system import environment, file_moves, files, locks
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import canonical_file
from oraclepack.system.ownership import ForeignError, tracked_files
from oraclepack.system.paging import Paged
from oraclepack.system.path_jail import inside, jail, stays_inside
from oraclepack.system.secrets import Redactor
from oraclepack.view.run import RunView, read_view

ROLLED_BACK = "rolled_back"
"""The reason of a file whose step was ok and was taken back with its command."""


class QuarantineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file in quarantine. Its paths are relative to the project root."""

    path: str
    original: str
    """Where it came from."""
    run_id: str
    step_id: str
    attempt: str
    bytes: int
    occupied: bool
    """Something is at its old place now."""
    reason: str | None = None
    """`rolled_back`, or a sentence about a person's edit; null where its attempt failed."""

    @property
    def cause(self) -> str:
        """Why it is here, in two words."""
        return {None: "failed", ROLLED_BACK: "rolled back"}.get(self.reason, "changed by hand")

    @property
    def name(self) -> str:
        """Its path inside the directory of the attempt."""
        return self.path.partition(f"/{self.run_id}/step-{self.step_id}/{self.attempt}/")[2]

    def folder(self, root: Path) -> Path:
        """The directory of the attempt."""
        return (root / self.path).parents[len(PurePosixPath(self.name).parts) - 1]


class QuarantineList(Paged, frozen=True, kw_only=True):
    """Everything in quarantine, in the order of the paths."""

    files: tuple[QuarantineEntry, ...]


class QuarantineRestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was moved, in the order it was moved."""

    moves: tuple[Move, ...]


FOLDER = "_failed"

_STEP = re.compile(r"step-(\d\d)")
_ATTEMPT = re.compile(r"\d+(?:-\d+)?")


class FileOrigins(msgspec.Struct, frozen=True):
    """`<attempt>.origins.json`: where the files of one attempt directory came from.

    By their path in it, each as `{"original": PATH}`.
    """

    files: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    version: int = 1


def move_to_quarantine(
    root: Path,
    folder: Path,
    run_id: str,
    step: str,
    attempt: int,
    paths: Sequence[str],
) -> tuple[Move, ...]:
    """Move the outputs of an attempt into quarantine; those that do not exist are left out.

    `folder` is the `_failed` directory; `paths` are relative to the project root, as
    are those of the moves.
    """
    named: dict[str, str] = {}
    twins: list[str] = []
    for path in dict.fromkeys(paths):
        if not (root / path).is_symlink() and not (root / path).is_file():
            continue
        name = _name(root, folder, path)
        if name in named:
            twins.append(path)  # one from the out_dir, one from outside: they need two directories
        else:
            named[name] = path
    if not named:
        return ()
    moved = _move_one(root, folder / run_id / f"step-{step}", str(attempt), named)
    if not twins:
        return moved
    return moved + move_to_quarantine(root, folder, run_id, step, attempt, twins)


def _move_one(
    root: Path,
    step: Path,
    attempt: str,
    named: Mapping[str, str],
) -> tuple[Move, ...]:
    """Move files into the next free directory of an attempt, by the names they get there."""
    place, number = step / attempt, 1
    while any(os.path.lexists(place / name) for name in named):
        number += 1
        place = step / f"{attempt}-{number}"
    if not stays_inside(root, place):
        raise MachineError(
            f"{place}: cannot hold the quarantine: it leads out of the project",
            hint="a link is in the way; move it away",
        )
    origins = {name: {"original": normpath(path)} for name, path in named.items()}
    files.make_directories(place.parent)
    content = canonical_file(FileOrigins({**_origins_of(place).files, **origins}))
    files.write_atomic(_origins_path(place), content, mode=files.PRIVATE_FILE)
    return tuple(_move(root, root / path, place / name) for name, path in named.items())


def _name(root: Path, folder: Path, path: str) -> str:
    """A file's path in quarantine: relative to the out_dir, or to the project if it is outside."""
    source = root / path
    real = os.path.join(os.path.realpath(source.parent), source.name)  # as text
    return inside(os.path.realpath(folder.parent), real) or normpath(path)


def _origins_of(place: Path) -> FileOrigins:
    data = files.read(_origins_path(place))
    try:
        return msgspec.json.decode(data or b"{}", type=FileOrigins)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return FileOrigins()


def _origins_path(place: Path) -> Path:
    return place.with_name(f"{place.name}.origins.json")


def _move(root: Path, source: Path, target: Path) -> Move:
    files.make_directories(target.parent)
    try:
        file_moves.move(source, target)
    except OSError as trouble:
        if _is_one_file(source, target):  # the first name cannot be removed, so the second goes
            files.forget(target)
        raise files.cannot("quarantine", source, trouble) from trouble
    return Move(source=_relative(root, source), target=_relative(root, target))


def _is_one_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def _relative(root: Path, path: Path) -> str:
    return PurePosixPath(os.path.relpath(path, root)).as_posix()


def listed(root: Path, folder: Path) -> tuple[QuarantineEntry, ...]:
    """Everything in a `_failed` directory, in the order of its paths."""
    paths = sorted(Path(parent, name) for parent, _, names in files.walk(folder) for name in names)
    known: dict[Path, FileOrigins] = {}
    found = (_entry(root, folder, path, known) for path in paths)
    return tuple(one for one in found if one is not None)


def _entry(
    root: Path, folder: Path, path: Path, known: dict[Path, FileOrigins]
) -> QuarantineEntry | None:
    match path.relative_to(folder).parts:
        case (run_id, step, attempt, _, *_) if _ATTEMPT.fullmatch(attempt):
            match = _STEP.fullmatch(step)
            if match is None:
                return None
            place = folder / run_id / step / attempt
            if place not in known:
                known[place] = _origins_of(place)
            name = path.relative_to(place).as_posix()
            original = known[place].files.get(name, {}).get("original", name)
            return QuarantineEntry(
                path=_relative(root, path),
                original=original,
                run_id=run_id,
                step_id=match[1],
                attempt=attempt,
                bytes=path.lstat().st_size,
                occupied=os.path.lexists(root / original),
            )
    return None


def restore(
    root: Path, file: QuarantineEntry, *, force: bool = False
) -> tuple[Move, ...] | Refusal:
    """Bring a file back to where it came from.

    With `force` a file that is there now changes places with it: it goes into
    quarantine itself, beside the attempt.
    """
    verdict = jail(root, file.original)
    if isinstance(verdict, Refusal):
        return verdict
    source, target = root / file.path, root / file.original
    if not os.path.lexists(target):
        return (_move(root, source, target),)
    if not force:
        return Refusal("a file is there now; it is not overwritten", subject=file.original)
    attempt = file.attempt.partition("-")[0]
    away = _move_one(root, file.folder(root).parent, attempt, {file.name: file.original})
    return (*away, _move(root, source, target))


def failed_folder(root: Path, out_dir: str | None, run_dir: Path) -> Path:
    """The quarantine of a pack: in its out_dir, or in the run directory if it has none."""
    if out_dir is None:
        return run_dir / FOLDER
    place = jail(root, f"{out_dir.rstrip('/')}/{FOLDER}/x")
    if isinstance(place, Refusal):
        raise MachineError(
            f"{out_dir}: cannot hold the quarantine: {place.reason}",
            hint="give an out_dir inside the project with --out-dir",
        )
    return place.path.parent


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
    return QuarantineList(
        files=tuple(replace(file, reason=reasons.get(file.path)) for file in find(root, pack))
    )


def find(root: Path, pack: Pack | None = None) -> tuple[QuarantineEntry, ...]:
    """The files in quarantine; the journals name their directories."""
    runs = [read_view(RunDir(root, run_id)) for run_id in run_dir.run_ids(root)]
    foreign = {view.run.run_id for view in runs if view.foreign is not None}
    runs = [view for view in runs if view.foreign is None]
    own = [view for view in runs if pack is None or _is_of(view, pack, root)]
    others = {view.run.run_id for view in runs} - {view.run.run_id for view in own}
    folders = {folder for view in own for folder in _folders(root, view)}
    if pack is not None and pack.out_dir is not None:
        folders.add(failed_folder(root, pack.out_dir, root))
    by_path = {file.path: file for folder in folders for file in listed(root, folder)}
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
    occupied = [file.original for file in chosen if file.occupied]
    if occupied and not force:
        raise InputError(
            f"there is a file at {', '.join(occupied)} now; nothing was changed",
            hint="--force swaps the two: the file that is there goes to quarantine",
        )
    moves: list[Move] = []
    warnings: list[str] = []
    for run_id in sorted({file.run_id for file in chosen}):
        mine = [file for file in chosen if file.run_id == run_id]
        done, trouble = _restore_of_run(root, run_id, mine, force=force)
        moves += done
        warnings += [trouble] if trouble else []
    return QuarantineRestoreReport(moves=tuple(moves)), tuple(warnings)


def _restore_of_run(
    root: Path, run_id: str, chosen: Sequence[QuarantineEntry], *, force: bool
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
    root: Path, run: RunDir, chosen: Sequence[QuarantineEntry], clock: SystemClock, *, force: bool
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
            file.append(j.Restored(step=restored.step_id, moves=back))
            done += back
    return done, ""


def _back(root: Path, file: QuarantineEntry, *, force: bool) -> tuple[Move, ...]:
    with publishing(root):
        moves = restore(root, file, force=force)
    if isinstance(moves, Refusal):
        raise InputError(f"{moves.subject} cannot be restored: {moves.reason}")
    return moves


def _chosen(root: Path, paths: Sequence[str]) -> list[QuarantineEntry]:
    everything = find(root)
    chosen: dict[str, QuarantineEntry] = {}
    for path in paths:
        # Not resolved: a file in quarantine may be a symbolic link itself.
        places = {Path(os.path.normpath(start / path)) for start in (Path.cwd(), root)}
        mine = [one for one in everything if places & {root / one.path, *(root / one.path).parents}]
        if not mine:
            original = PurePosixPath(path).as_posix()
            there = [one.path for one in everything if one.original == original]
            hint = f"what came from there is {' and '.join(there)}" if there else ""
            raise NotFoundError(
                f"{path} is not in quarantine",
                hint=hint or "`oraclepack step quarantine` shows what is",
            )
        chosen |= {file.path: file for file in mine}
    return [chosen[path] for path in sorted(chosen)]


def _refuse_foreign(root: Path, chosen: Iterable[QuarantineEntry]) -> None:
    """What git tracks, or lies behind a link, was not put into quarantine by us."""
    folders = {file.folder(root) for file in chosen}
    for folder in sorted(folders):
        if not stays_inside(root, folder):
            raise ForeignError(f"{folder} leads out of the project", hint="nothing was changed")
        named = tracked_files(root, _relative(root, folder))
        if named:
            raise ForeignError(
                f"git tracks {named[0]}: it was not put into quarantine here",
                hint="nothing was changed; move the file yourself, if you want it",
            )


def _refuse_twins(chosen: Iterable[QuarantineEntry]) -> None:
    first: dict[str, QuarantineEntry] = {}
    for file in chosen:
        twin = first.setdefault(file.original, file)
        if twin is not file:
            raise UsageError(
                f"two of the files belong at {file.original}: {twin.path} and {file.path}",
                hint="name one of them; nothing was changed",
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
