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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from oraclepack.errors import MachineError, Refusal
from oraclepack.journal.statuses import Move
from oraclepack.system import file_moves, files
from oraclepack.system.digests import canonical_file
from oraclepack.system.paging import Paged
from oraclepack.system.path_jail import inside, jail, stays_inside

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


class QuarantineList(Paged, frozen=True, kw_only=True):
    """Everything in quarantine, in the order of the paths."""

    files: tuple[QuarantineEntry, ...]


class QuarantineRestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was moved, in the order it was moved."""

    moves: tuple[Move, ...]


FOLDER = "_failed"

_STEP = re.compile(r"step-(\d\d)")
_ATTEMPT = re.compile(r"\d+(?:-\d+)?")


class QuarantineFile(msgspec.Struct, frozen=True):
    """A file in quarantine."""

    path: Path
    run_id: str
    step: str
    attempt: str
    original: str
    """Where it came from, relative to the project root."""
    bytes: int
    name: str
    """Its path inside the directory of the attempt."""


class FileOrigin(msgspec.Struct, frozen=True):
    """Where one file of an attempt came from."""

    original: str


class FileOrigins(msgspec.Struct, frozen=True):
    """`<attempt>.origins.json`: the files of one attempt directory by their path in it."""

    files: dict[str, FileOrigin] = msgspec.field(default_factory=dict)
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
        if not _is_file(root / path):
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
    place = _free_place(step, attempt, [*named])
    if not stays_inside(root, place):
        raise MachineError(
            f"{place}: cannot hold the quarantine: it leads out of the project",
            hint="a link is in the way; move it away",
        )
    _write_origins(place, {name: FileOrigin(_plain(path)) for name, path in named.items()})
    return tuple(_move(root, root / path, place / name) for name, path in named.items())


def _name(root: Path, folder: Path, path: str) -> str:
    """A file's path in quarantine: relative to the out_dir, or to the project if it is outside."""
    source = root / path
    real = os.path.join(os.path.realpath(source.parent), source.name)  # as text
    return inside(os.path.realpath(folder.parent), real) or _plain(path)


def _plain(path: str) -> str:
    return PurePosixPath(os.path.normpath(path)).as_posix()


def _origins_of(place: Path) -> FileOrigins:
    data = files.read(_origins_path(place))
    try:
        return msgspec.json.decode(data or b"{}", type=FileOrigins)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return FileOrigins()


def _write_origins(place: Path, origins: Mapping[str, FileOrigin]) -> None:
    known = _origins_of(place)
    files.make_directories(place.parent)
    content = canonical_file(FileOrigins({**known.files, **origins}))
    files.write_atomic(_origins_path(place), content, mode=files.PRIVATE_FILE)


def _origins_path(place: Path) -> Path:
    return place.with_name(f"{place.name}.origins.json")


def _free_place(step: Path, attempt: str, paths: Sequence[str]) -> Path:
    place, number = step / attempt, 1
    while any(os.path.lexists(place / path) for path in paths):
        number += 1
        place = step / f"{attempt}-{number}"
    return place


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _move(root: Path, source: Path, target: Path) -> Move:
    files.make_directories(target.parent)
    try:
        file_moves.move(source, target)
    except OSError as trouble:
        if _is_one_file(source, target):  # the first name cannot be removed, so the second goes
            files.forget(target)
        raise files.cannot("quarantine", source, trouble) from trouble
    return _named(root, source, target)


def _is_one_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def _named(root: Path, source: Path, target: Path) -> Move:
    return Move(source=_relative(root, source), target=_relative(root, target))


def _relative(root: Path, path: Path) -> str:
    return PurePosixPath(os.path.relpath(path, root)).as_posix()


def listed(folder: Path) -> tuple[QuarantineFile, ...]:
    """Everything in a `_failed` directory, in the order of its paths."""
    return tuple(sorted(_walk(folder), key=lambda file: file.path))


def _walk(folder: Path) -> Iterator[QuarantineFile]:
    known: dict[Path, FileOrigins] = {}
    for parent, _, names in files.walk(folder):
        for name in names:
            file = _quarantine_file(folder, Path(parent, name), known)
            if file is not None:
                yield file


def _quarantine_file(
    folder: Path, path: Path, known: dict[Path, FileOrigins]
) -> QuarantineFile | None:
    match path.relative_to(folder).parts:
        case (run_id, step, attempt, _, *_) if _ATTEMPT.fullmatch(attempt):
            match = _STEP.fullmatch(step)
            if match is None:
                return None
            place = folder / run_id / step / attempt
            if place not in known:
                known[place] = _origins_of(place)
            name = path.relative_to(place).as_posix()
            origin = known[place].files.get(name, FileOrigin(name))
            size = path.lstat().st_size
            return QuarantineFile(path, run_id, match[1], attempt, origin.original, size, name)
    return None


def restore(root: Path, file: QuarantineFile, *, force: bool = False) -> tuple[Move, ...] | Refusal:
    """Bring a file back to where it came from.

    With `force` a file that is there now changes places with it: it goes into
    quarantine itself, beside the attempt.
    """
    verdict = jail(root, file.original)
    if isinstance(verdict, Refusal):
        return verdict
    target = root / file.original
    if not os.path.lexists(target):
        return (_move(root, file.path, target),)
    if not force:
        return Refusal("a file is there now; it is not overwritten", subject=file.original)
    attempt = file.attempt.partition("-")[0]
    away = _move_one(root, _step_of(file), attempt, {file.name: file.original})
    return (*away, _move(root, file.path, target))


def _step_of(file: QuarantineFile) -> Path:
    return file.path.parents[len(PurePosixPath(file.name).parts)]


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
