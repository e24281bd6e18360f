"""Removing a whole run directory: gone for everybody at once, then file by file."""

import os
from collections.abc import Iterator
from pathlib import Path

from oraclepack.journal.run_dir import OWN_NAMES, RunDir, is_run_id
from oraclepack.system import disk, files, trust_key
from oraclepack.system.digests import keyed_digest, same_digest
from oraclepack.system.ownership import foreign_folder, tracked
from oraclepack.system.path_jail import REHEARSALS, RUNS

_GOING = ".pruned-"


def strange_names(run: RunDir) -> tuple[str, ...]:
    """What stands in a run directory and is none of the names that we make."""
    names = sorted(os.listdir(run.path))  # noqa: PTH208 - names only
    return tuple(name for name in names if name not in OWN_NAMES and not files.is_temporary(name))


def size_of(directory: Path) -> int:
    return sum(path.lstat().st_size for path in _files_below(directory))


def remove_run(run: RunDir) -> None:
    """Remove a run directory. Needs its lock.

    It is renamed first: whoever is killed in between leaves no half of a run, only a directory
    that `finish_removals` knows by the signature in its name.
    """
    aside = run.path.parent / _name_for(run)
    try:
        disk.rename(run.path, aside)
        disk.sync_directory(aside.parent)
    except OSError as trouble:
        raise files.cannot("remove", run.path, trouble) from trouble
    _remove_tree(aside)


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


def _files_below(directory: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(directory):
        yield from (Path(parent, name) for name in names)
