"""The quarantine: where the outputs of failed attempts go. Nothing in it is ever deleted.

    <out_dir>/_failed/<run_id>/step-NN/<attempt>/<path relative to the project root>

The path of a file tells where it came from, so it can be brought back without the
journal. An attempt directory that already holds one of the files is left alone: the
next one is `<attempt>-2`, `<attempt>-3` and so on.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from oraclepack.adapters import files, relocate
from oraclepack.adapters.jail import Refused, jail, stays_inside
from oraclepack.core.errors import WorldError
from oraclepack.core.regex import regex
from oraclepack.core.result import Move

FOLDER = "_failed"

_STEP = regex(r"step-(\d\d)")
_ATTEMPT = regex(r"\d+(?:-\d+)?")


class Kept(msgspec.Struct, frozen=True):
    """A file in quarantine."""

    path: Path
    run_id: str
    step: str
    attempt: str
    original: str
    """Where it came from, relative to the project root."""
    bytes: int


def put_aside(
    root: Path, folder: Path, run_id: str, step: str, attempt: int, paths: Sequence[str]
) -> tuple[Move, ...]:
    """Move the outputs of an attempt into quarantine; those that do not exist are left out.

    `folder` is the `_failed` directory; `paths` are relative to the project root, as
    are those of the moves.
    """
    there = [path for path in dict.fromkeys(paths) if _is_file(root / path)]
    if not there:
        return ()
    place = _free_place(folder / run_id / f"step-{step}", str(attempt), there)
    if not stays_inside(root, place):
        raise WorldError(
            f"{folder}: cannot hold the quarantine: it leads out of the project",
            hint="a link stands in its way; move that away",
        )
    return tuple(_move(root, root / path, place / path) for path in there)


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
        relocate.move(source, target)
    except OSError as trouble:
        raise files.cannot("set aside", source, trouble) from trouble
    return Move(source=_relative(root, source), target=_relative(root, target))


def _relative(root: Path, path: Path) -> str:
    return PurePosixPath(os.path.relpath(path, root)).as_posix()


def listed(folder: Path) -> tuple[Kept, ...]:
    """Everything in a `_failed` directory, in the order of its paths."""
    return tuple(sorted(_walk(folder), key=lambda kept: kept.path))


def _walk(folder: Path) -> Iterator[Kept]:
    for parent, _, names in os.walk(folder):
        for name in names:
            kept = _kept(folder, Path(parent, name))
            if kept is not None:
                yield kept


def _kept(folder: Path, path: Path) -> Kept | None:
    match path.relative_to(folder).parts:
        case (run_id, step, attempt, _, *_) if _ATTEMPT.fullmatch(attempt):
            found = _STEP.fullmatch(step)
            original = path.relative_to(folder / run_id / step / attempt).as_posix()
            if found is not None:
                size = path.lstat().st_size
                return Kept(path, run_id, found[1], attempt, original, size)
    return None


def restore(root: Path, kept: Kept, *, force: bool = False) -> tuple[Move, ...] | Refused:
    """Bring a file back to where it came from.

    With `force` a file that stands there now changes places with it: it goes into
    quarantine itself, beside the attempt.
    """
    verdict = jail(root, kept.original)
    if isinstance(verdict, Refused):
        return verdict
    target = root / kept.original
    if not os.path.lexists(target):
        return (_move(root, kept.path, target),)
    if not force:
        return Refused(kept.original, "a file stands there now; it is not overwritten")
    aside = _free_place(_step_of(kept), kept.attempt.partition("-")[0], [kept.original])
    return (_move(root, target, aside / kept.original), _move(root, kept.path, target))


def _step_of(kept: Kept) -> Path:
    depth = len(PurePosixPath(kept.original).parts)
    return kept.path.parents[depth]


def failed_folder(root: Path, out_dir: str | None, run_dir: Path) -> Path:
    """The quarantine of a pack: in its out_dir, or in the run directory if it has none."""
    if out_dir is None:
        return run_dir / FOLDER
    place = jail(root, f"{out_dir.rstrip('/')}/{FOLDER}/x")
    if isinstance(place, Refused):
        raise WorldError(
            f"{out_dir}: cannot hold the quarantine: {place.reason}",
            hint="give an out_dir inside the project with --out-dir",
        )
    return place.path.parent
