"""Moving and copying single files so that nothing is ever overwritten or half there."""

import errno
import os
import stat
from pathlib import Path

from oraclepack.adapters import disk, files

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


def resemble(source: Path, target: Path) -> None:
    """Give a file the mode and the times of another; what is so already is left alone."""
    wanted, found = source.stat(), target.stat()
    if stat.S_IMODE(wanted.st_mode) != stat.S_IMODE(found.st_mode):
        descriptor = os.open(target, os.O_RDONLY | os.O_CLOEXEC)
        try:
            disk.set_mode(descriptor, stat.S_IMODE(wanted.st_mode), target)
        finally:
            os.close(descriptor)
    if wanted.st_mtime_ns != found.st_mtime_ns:
        disk.set_times(target, wanted.st_atime_ns, wanted.st_mtime_ns)


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
        found = os.fstat(reader)
        writer = disk.create(target, files.PRIVATE_FILE)
        try:
            while block := os.read(reader, _BLOCK):
                disk.write(writer, block, target)
            disk.set_mode(writer, stat.S_IMODE(found.st_mode), target)
            disk.sync(writer, target)
        finally:
            os.close(writer)
    finally:
        os.close(reader)
    disk.set_times(target, found.st_atime_ns, found.st_mtime_ns)


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
