"""Moving and copying single files so that nothing is ever overwritten or incomplete."""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.errors import InputError
from oraclepack.system import disk, files


class PreviousFile(msgspec.Struct, frozen=True):
    """A file as it was before a change."""

    content: bytes
    mode: int
    access_ns: int
    modified_ns: int

    def is_like(self, other: "PreviousFile | None") -> bool:
        """Whether the other is the same, whoever has read it since."""
        return other is not None and replace(other, access_ns=self.access_ns) == self


def read_previous(path: Path) -> PreviousFile | None:
    """The file at a path, or None. Anything but a plain file is refused."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        raise files.cannot("look at", path, trouble) from trouble
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{path} is not a plain file", hint="move it away, or choose another place"
        )
    content = files.read(path)
    if content is None:
        return None
    return PreviousFile(
        content, stat.S_IMODE(status.st_mode), status.st_atime_ns, status.st_mtime_ns
    )


def put_back(path: Path, before: PreviousFile) -> None:
    """Restore the previous file byte for byte, with its mode and times."""
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


_BLOCK = 1 << 20
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}
"""Another file system, or one that knows no hard links."""


def move(source: Path, target: Path) -> None:
    """Move a file or a symbolic link; raises `FileExistsError` rather than overwrite.

    By hard link: first the second name, then the removal of the first. Killed in
    between, both names stay and nothing is lost. Mode and times come along.
    """
    try:
        disk.link(source, target)
    except OSError as trouble:
        if trouble.errno not in _NO_LINK:
            raise
        copy(source, target)
    disk.sync_directory(target.parent)
    disk.remove(source)
    disk.sync_directory(source.parent)


def rename(source: Path, target: Path) -> None:
    """Give a file of ours another name; what has that name is replaced."""
    try:
        disk.rename(source, target)
        disk.sync_directory(target.parent)
    except OSError as trouble:
        raise files.cannot("rename", source, trouble) from trouble


def copy(source: Path, target: Path) -> None:
    """Copy a file with its mode and times; raises `FileExistsError` rather than overwrite."""
    if source.is_symlink():
        disk.symlink(str(source.readlink()), target)
        return
    temporary = files.temporary_beside(target)
    try:
        _copy_content(source, temporary)
        _claim(temporary, target)
    finally:
        files.forget(temporary)
    disk.sync_directory(target.parent)


def link_at(path: Path) -> str | None:
    """What a symbolic link says; None where there is none."""
    return str(path.readlink()) if path.is_symlink() else None


def make_link(text: str, path: Path) -> None:
    """A symbolic link at a free path."""
    files.make_directories(path.parent)
    disk.symlink(text, path)
    disk.sync_directory(path.parent)


def replace_by_link(text: str, path: Path) -> None:
    """A symbolic link in the place of a file, at once."""
    temporary = files.temporary_beside(path)
    disk.symlink(text, temporary)
    disk.rename(temporary, path)
    disk.sync_directory(path.parent)


def _copy_content(source: Path, target: Path) -> None:
    reader = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(reader)
        writer = disk.create(target, files.PRIVATE_FILE)
        try:
            while block := os.read(reader, _BLOCK):
                disk.write(writer, block, target)
            disk.set_mode(writer, stat.S_IMODE(status.st_mode), target)
            disk.sync(writer, target)
        finally:
            os.close(writer)
    finally:
        os.close(reader)
    disk.set_times(target, status.st_atime_ns, status.st_mtime_ns)


def _claim(temporary: Path, target: Path) -> None:
    """Give a finished copy its name, which must be free."""
    try:
        disk.link(temporary, target)
    except OSError as trouble:
        if trouble.errno not in _NO_LINK:
            raise
        # Without hard links there is no atomic "only if free"; the run's lock keeps us apart.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        disk.rename(temporary, target)
