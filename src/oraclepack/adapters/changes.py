"""One file before a command changed it, and the way back."""

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from oraclepack.adapters import disk, files
from oraclepack.errors import InputError


@dataclass(frozen=True, slots=True)
class Before:
    """A file as it stood."""

    content: bytes
    mode: int
    access_ns: int
    modified_ns: int


def look(path: Path) -> Before | None:
    """The file at a path, or None. Anything but a plain file is refused."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        raise files.cannot("look at", path, trouble) from trouble
    if not stat.S_ISREG(found.st_mode):
        raise InputError(
            f"{path} is not a plain file", hint="move it away, or choose another place"
        )
    content = files.read(path)
    if content is None:
        return None
    return Before(content, stat.S_IMODE(found.st_mode), found.st_atime_ns, found.st_mtime_ns)


def put_back(path: Path, before: Before) -> None:
    """The old file again, byte for byte, with its mode and times."""
    files.write_atomic(path, before.content, mode=before.mode)
    try:
        disk.set_times(path, before.access_ns, before.modified_ns)
    except OSError as trouble:
        raise files.cannot("set the times of", path, trouble) from trouble


def missing_directories(path: Path) -> tuple[Path, ...]:
    """The directories that must be made before a file can be written, the outermost first."""
    missing = []
    for folder in path.parents:
        if folder.exists():
            break
        missing.append(folder)
    return tuple(reversed(missing))


def remove_empty(directories: Iterable[Path]) -> None:
    """Remove directories we made, the innermost first; one that is in use stays."""
    for folder in sorted(directories, key=lambda path: -len(path.parts)):
        try:
            disk.remove_directory(folder)
        except OSError:
            continue
