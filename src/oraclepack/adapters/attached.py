"""The files a call names, as the disk has them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from oraclepack.core.attached import AttachedFile, Kind, Listing
from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes

_GITIGNORE = ".gitignore"
_LARGEST_IGNORE = 1024 * 1024
_NEVER_ATTACHED = frozenset((".git", "node_modules"))
"""Not walked through unless a pattern begins below them; they hold most of many trees."""


def kind_of(cwd: str, value: str) -> Kind:
    """What a plain name stands for."""
    path = Path(cwd, value)
    if path.is_dir():
        return Kind.DIRECTORY
    return Kind.FILE if path.is_file() else Kind.MISSING


def read_attached(cwd: str, paths: Iterable[str]) -> tuple[AttachedFile, ...]:
    """Every file with its content, named relative to the working directory. Raises InputError."""
    return tuple(_read(cwd, path) for path in dict.fromkeys(map(os.path.normpath, paths)))


def _read(cwd: str, path: str) -> AttachedFile:
    try:
        data = files.read_regular(Path(cwd, path))
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise InputError(f"cannot read the attached file {path}: {reason}") from trouble
    shown = os.path.relpath(path, cwd) if Path(path).is_absolute() else path
    return AttachedFile(Path(shown).as_posix(), data, sha256_bytes(data))


def list_files(cwd: str, values: Sequence[str], bases: Iterable[str]) -> Listing:
    """The files below the given directories, and the ignore files below the working directory."""
    directories = frozenset(value for value in values if kind_of(cwd, value) is Kind.DIRECTORY)
    named = [value.rstrip("/") for value in values if kind_of(cwd, value) is Kind.FILE]
    below = sorted({*bases, *directories})
    walked = [path for base in below for path in _walk(cwd, base)]
    plain = [path for path in map(os.path.normpath, named) if not Path(cwd, path).is_symlink()]
    found = tuple(sorted({*walked, *plain}))
    return Listing(found, directories, _ignores(cwd))


def _walk(cwd: str, base: str) -> Iterator[str]:
    inside = frozenset(Path(base).parts)
    for parent, folders, names in files.walk(Path(cwd, base)):
        folders[:] = sorted(set(folders) - (_NEVER_ATTACHED - inside))
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - a hundred thousand times
            if not os.path.islink(path):  # noqa: PTH114
                yield os.path.relpath(path, cwd)


def _ignores(cwd: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for parent, folders, names in files.walk(cwd):
        folders[:] = sorted(set(folders) - _NEVER_ATTACHED)
        if _GITIGNORE in names:
            folder = os.path.relpath(parent, cwd)
            try:
                data = files.read_regular(Path(parent, _GITIGNORE), _LARGEST_IGNORE)
            except OSError:
                continue
            found["" if folder == "." else folder] = tuple(
                data.decode("utf-8", "replace").split("\n")
            )
    return found
