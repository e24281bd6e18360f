"""Removing a whole run directory: gone for everybody at once, then file by file."""

import os
from collections.abc import Iterator
from pathlib import Path

from oraclepack.adapters import disk, files, trust_key
from oraclepack.adapters.ownership import foreign_folder, tracked
from oraclepack.adapters.rundir import RunDir
from oraclepack.core.digest import keyed_digest, same_digest
from oraclepack.core.outpath import RUNS
from oraclepack.core.runid import is_run_id

_GOING = ".pruned-"
_OWN_NAMES = frozenset(
    (
        *("journal.jsonl", "run.json", "steps.json", "lock", "outputs", "logs", "steps"),
        *("backups", "_failed", "actionizer", "answers"),
    )
)


def strange_names(run: RunDir) -> tuple[str, ...]:
    """What stands in a run directory and is none of the names that we make."""
    names = sorted(os.listdir(run.path))  # noqa: PTH208 - names only
    return tuple(name for name in names if name not in _OWN_NAMES and not files.is_temporary(name))


def size_of(directory: Path) -> int:
    return sum(path.lstat().st_size for path in _files_below(directory))


def remove_run(run: RunDir) -> None:
    """Remove a run directory. Needs its lock.

    It is renamed first: whoever is killed in between leaves no half of a run, only a directory
    that `finish_removals` knows by the signature in its name.
    """
    aside = run.path.parent / _name_for(run.run_id)
    try:
        disk.rename(run.path, aside)
        disk.sync_directory(aside.parent)
    except OSError as trouble:
        raise files.cannot("remove", run.path, trouble) from trouble
    _remove_tree(aside)


def finish_removals(root: Path) -> None:
    """Remove what an earlier command was about to when it was killed."""
    folder = root / RUNS
    if foreign_folder(root, RUNS) is not None or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        run_id = path.name.rpartition("-.")[2] if path.name.startswith(_GOING) else ""
        if not is_run_id(run_id) or path.is_symlink() or not path.is_dir():
            continue
        if same_digest(path.name, _name_for(run_id)) and not tracked(root, f"{RUNS}/{path.name}"):
            _remove_tree(path)


def _name_for(run_id: str) -> str:
    mac = keyed_digest(trust_key.make_key(), "pruned run", run_id.encode())
    return f"{_GOING}{mac}-.{run_id}"


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
