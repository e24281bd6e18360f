"""Files written atomically: readers never see half of one."""

import errno
import itertools
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.errors import InputError, MachineError
from oraclepack.system import disk


def shipped(package: str, name: str) -> bytes:
    """A file beside the modules of a loaded package.

    As `pkgutil.get_data`, whose module takes longer to load than the file.
    """
    home = sys.modules[package]
    loader: Any = home.__loader__
    data: bytes = loader.get_data(f"{home.__path__[0]}/{name}")
    return data


class Content(msgspec.Struct, frozen=True):
    """The content of a path: its bytes, or why they cannot be read."""

    data: bytes | None = None
    trouble: str | None = None


PRIVATE_FILE = 0o600
PUBLIC_FILE = 0o644
"""For reports in the project: readable for others, whatever the umask, and not writable."""
PRIVATE_DIRECTORY = 0o700

LARGEST = 256 * 1024 * 1024
"""Bytes. What we read at once is text, which is far smaller. Most readers demand less."""

HOME = ".oraclepack"
"""The directory in a project that holds everything of ours."""
_TEMPORARY_MARK = ".oraclepack-"
_TEMPORARY = re.compile(r"\.oraclepack-(\d+)-\d+\.tmp")
_numbers = itertools.count(1)

HINTS = {
    errno.ENOSPC: "free some space on the disk; nothing was lost, the same command continues",
    errno.EDQUOT: "your disk quota is used up; nothing was lost, the same command continues",
    errno.EROFS: "the file system is read-only; mount it writable or choose another directory",
    errno.EACCES: "check the owner and the permissions of the directory",
    errno.EPERM: "check the owner and the permissions of the directory",
    errno.ENOENT: "the directory is gone; was it removed while the command ran?",
    errno.ENOTDIR: "there is a file where a directory is needed",
    errno.EISDIR: "there is a directory where the file should be",
    errno.ENAMETOOLONG: "the name is too long for the file system",
}
"""What to do where the machine refuses a change."""
TRANSIENT = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
        *(errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ETXTBSY),
    )
)
"""Something has run out or is in use: the same change may succeed later."""


def cannot(doing: str, path: Path | str, trouble: OSError) -> MachineError:
    """The error for an operation that the machine refused."""
    reason = trouble.strerror or str(trouble)
    return MachineError(
        f"cannot {doing} {path}: {reason}",
        hint=HINTS.get(trouble.errno or 0, ""),
        detail=errno.errorcode.get(trouble.errno or 0, ""),
        retryable=trouble.errno in TRANSIENT,
    )


def open_regular(path: Path | str) -> int:
    """A descriptor of a regular file to read from.

    Raises OSError, also for what is no regular file: a pipe may never open, a device never end.
    """
    # Looked at first, since opening a device may do something already; and again once it is open,
    # since another file may have taken its place.
    _refuse_irregular(os.stat(path).st_mode, path)  # it may be a string
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _refuse_irregular(os.fstat(descriptor).st_mode, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_irregular(mode: int, path: Path | str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_beginning(path: Path | str, most: int) -> bytes:
    """The first bytes of a regular file. Raises OSError."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(most)


def read_regular(path: Path | str, largest: int = LARGEST) -> bytes:
    """The content of a regular file of at most so many bytes. Raises OSError."""
    with os.fdopen(open_regular(path), "rb") as file:
        size = min(os.fstat(file.fileno()).st_size, largest)
        data = file.read(size + 1)
        if len(data) == size + 1:  # it has grown, or its size was not known
            data += file.read(largest - size)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest} bytes", str(path))
    return data


def read(path: Path, largest: int = LARGEST) -> bytes | None:
    """The content of a file, or None when there is none."""
    try:
        return read_regular(path, largest)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        raise InputError(f"cannot read {path}: {trouble.strerror or trouble}") from trouble


def write_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    follow: bool = False,
    durable: bool = True,
) -> None:
    """Put a file in place at once: readers see the old one or the new one.

    Without a mode the one of the file it replaces is kept, else the umask decides.
    A symbolic link is replaced, never written through, unless `follow` is set. What
    can be computed again may go without `durable`: still complete, but after a power cut perhaps
    the previous version.
    """
    target = Path(os.path.realpath(path)) if follow else path
    temporary = temporary_beside(target)
    try:
        _fill(
            temporary,
            data,
            _mode_for(target) if mode is None else mode,
            disk.sync if durable else None,
        )
        disk.rename(temporary, target)
        if durable:
            disk.sync_directory(target.parent)
    except OSError as trouble:
        forget(temporary)
        raise cannot("write", path, trouble) from trouble
    except BaseException:
        forget(temporary)
        raise


def write_together(writes: Sequence[tuple[Path, bytes, int | None]]) -> None:
    """Put several files in place as `write_atomic` does, each with its mode.

    All are written before the first is synced: the disk then has one thing to finish instead of
    two for each file, which takes a fifth of the time.
    """
    temporaries = {path: temporary_beside(path) for path, _, _ in writes}
    at = Path()
    try:
        for at, data, mode in writes:
            _fill(temporaries[at], data, _mode_for(at) if mode is None else mode, disk.begin_sync)
        for at, temporary in temporaries.items():  # noqa: B007 - named in the error
            disk.sync_file(temporary)
        for at, temporary in temporaries.items():
            disk.rename(temporary, at)
        for directory in sorted({path.parent for path in temporaries}):
            disk.sync_directory(directory)
    except BaseException as trouble:
        for temporary in temporaries.values():
            forget(temporary)
        if isinstance(trouble, OSError):
            raise cannot("write", at, trouble) from trouble
        raise


def _fill(
    path: Path, data: bytes, mode: int | None, then: Callable[[int, Path], None] | None
) -> None:
    descriptor = disk.create(path, 0o666 if mode is None else PRIVATE_FILE)
    try:
        if mode is not None:
            disk.set_mode(descriptor, mode, path)
        disk.write(descriptor, data, path)
        if then is not None:
            then(descriptor, path)
    finally:
        os.close(descriptor)


def _mode_for(path: Path) -> int | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None


def temporary_beside(target: Path) -> Path:
    """A free name in the same directory, which `sweep` recognises if its maker is killed."""
    while True:
        path = target.parent / f"{_TEMPORARY_MARK}{os.getpid()}-{next(_numbers)}.tmp"
        # In containers the same process number comes back with every start.
        if not os.path.lexists(path):
            return path


def forget(temporary: Path) -> None:
    """Remove a temporary file, if it is there and the disk lets us."""
    try:
        disk.remove(temporary)
    except OSError:
        return  # never created, or the disk refuses everything: the next sweep finds it


def make_private(*directories: Path, durable: bool = True) -> None:
    """Make directories of ours and their parents; only their owner may enter the new ones."""
    make_directories(*directories, mode=PRIVATE_DIRECTORY, durable=durable)


def make_directories(*directories: Path, mode: int = 0o777, durable: bool = True) -> None:
    """Directories with the parents they lack: first made, then synced, each place once."""
    grown: set[Path] = set()
    at = Path()
    try:
        try:
            for at in directories:
                lacking = itertools.takewhile(lambda one: not one.is_dir(), (at, *at.parents))
                for path in reversed([*lacking]):
                    _hide_from_git(path.parent)
                    if _is_made(path, mode):
                        grown.add(path.parent)
        finally:
            # Also when a later one fails: the next command would find these, and not sync them.
            for parent in sorted(grown) if durable else ():
                disk.sync_directory(parent)
    except OSError as trouble:
        raise cannot("make the directory", at, trouble) from trouble


def _hide_from_git(directory: Path) -> None:
    """Write `.gitignore` into a `.oraclepack` that is still empty.

    Done before anything else is made in it: a kill before that leaves an empty one.
    A file that a person removed or changed later stays as it is.
    """
    if directory.name != HOME or not directory.is_dir():
        return
    if all(name.startswith(_TEMPORARY_MARK) for name in _names_in(directory)):
        sweep(directory)  # a killed process can have left half of this very file
        write_atomic(directory / ".gitignore", b"*\n", mode=PRIVATE_FILE)


def _is_made(path: Path, mode: int) -> bool:
    """Make a directory, unless another process already has."""
    try:
        disk.make_directory(path, mode)
    except FileExistsError:
        if not path.is_dir():
            raise
        return False
    return True


def remove_tree(path: Path) -> None:
    """Remove a file, a link, or a directory with all that is in it. Raises OSError."""
    if path.is_symlink() or not path.is_dir():
        disk.remove(path)
        return
    import shutil

    shutil.rmtree(path, ignore_errors=True)
    if path.exists():  # a directory in it may have been closed to us, though it is ours
        _open_up(path)
        shutil.rmtree(path)


def _open_up(folder: Path) -> None:
    folder.chmod(0o700)
    for entry in list(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            _open_up(entry)


def sweep(directory: Path) -> tuple[Path, ...]:
    """Remove what killed processes left half written; returns what it removed."""
    stale = [
        directory / name
        for name in _names_in(directory)
        if (match := _TEMPORARY.fullmatch(name)) and not _is_alive(int(match[1]))
    ]
    for path in stale:
        forget(path)
    return tuple(stale)


def _names_in(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # a project may have thousands
    except OSError:
        return []


def walk(top: Path | str, *, strict: bool = False) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, which recurses before Python 3.12: a tree of a thousand levels ends it.

    Directories that cannot be read are passed over, or raise OSError if `strict`.
    """
    waiting = [str(top)]
    while waiting:
        parent = waiting.pop()
        folders: list[str] = []
        names: list[str] = []
        try:
            with os.scandir(parent) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else names).append(entry.name)
        except OSError:
            if strict:
                raise
            continue
        yield parent, folders, names
        inner = (f"{parent}/{name}" for name in reversed(folders))
        waiting += [path for path in inner if not os.path.islink(path)]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_temporary(name: str) -> bool:
    """Whether a name is one of those that whole files are written under first."""
    return _TEMPORARY.fullmatch(name) is not None


def _is_alive(pid: int) -> bool:
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


_HINTS = {
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n) or run fewer at once",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "there is no memory left; end something else, or run fewer at once",
    errno.EIO: "the disk fails; look after it before you go on",
} | {code: HINTS[code] for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)}


def exhausted(trouble: OSError) -> MachineError | None:
    """The error for an exhausted machine; None where it may be a bug."""
    hint = _HINTS.get(trouble.errno or 0)
    if hint is None:
        return None
    where = f" ({trouble.filename})" if trouble.filename else ""
    return MachineError(
        f"this machine cannot go on: {trouble.strerror}{where}",
        hint=hint,
        detail=errno.errorcode[trouble.errno or 0],
        retryable=trouble.errno in TRANSIENT,
    )
