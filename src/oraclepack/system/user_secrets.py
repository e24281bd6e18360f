"""Random texts of the user's own, such as the trust key: made once, readable for their owner alone.

They lie in the user's state directory. One that others could have written or read is refused.
"""

import os
import stat
from pathlib import Path

from oraclepack.errors import MachineError
from oraclepack.system import disk, file_moves, files
from oraclepack.system.environment import state_directory
from oraclepack.system.ownership import is_tracked

_LONGEST = 4096


def secret_file(name: str, what: str) -> Path:
    """Where a secret of this name is kept."""
    path = state_directory() / name
    if not path.is_absolute():
        # With an odd HOME it would lie in the project, and could come from the repository.
        raise MachineError(
            f"there is no place for {what}: {path} is not an absolute path",
            hint="set HOME to an absolute path",
        )
    return path


def make_secret(path: Path, what: str) -> bytes:
    """The content of a secret file, which is made if there is none."""
    files.sweep(path.parent)  # a process killed while making it may have left half a file
    existing = read_secret(path, what)
    if existing is not None:
        return existing
    files.make_private(path.parent)
    _write(path)
    created = read_secret(path, what)
    if created is None:
        raise MachineError(f"{path} is gone right after it was made", hint="try again")
    return created


def _write(path: Path) -> None:
    """Another process may do the same at this moment; the first one's text stays."""
    temporary = files.temporary_beside(path)
    try:
        descriptor = disk.create(temporary, files.PRIVATE_FILE)
        try:
            disk.set_mode(descriptor, files.PRIVATE_FILE, temporary)
            disk.write(descriptor, os.urandom(32).hex().encode() + b"\n", temporary)
            disk.sync(descriptor, temporary)
        finally:
            os.close(descriptor)
        file_moves.move(temporary, path)
    except FileExistsError:
        files.forget(temporary)
    except OSError as trouble:
        files.forget(temporary)
        raise files.cannot("write", path, trouble) from trouble


def read_secret(path: Path, what: str) -> bytes | None:
    """The content of a secret file; MachineError where others could have written or read it."""
    try:
        # O_NONBLOCK: opening a pipe in its place would block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        if path.is_symlink():
            raise _unsafe(path, what, "it is a symbolic link") from None
        raise files.cannot("read", path, trouble) from trouble
    try:
        _check(path, what, os.fstat(descriptor))
        return os.read(descriptor, _LONGEST)
    except OSError as trouble:
        raise files.cannot("read", path, trouble) from trouble
    finally:
        os.close(descriptor)


def _check(path: Path, what: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unsafe(path, what, "it is no regular file")
    if status.st_uid != os.getuid():
        raise _unsafe(path, what, "it belongs to another user")
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise _unsafe(path, what, "others may read or write it", f"`chmod 600 {path}`; ")
    if is_tracked(path):
        # With a home inside of a clone, and a strict umask, it may be the repository's.
        raise _unsafe(path, what, "git tracks it, so others know it")


def _unsafe(path: Path, what: str, reason: str, first: str = "") -> MachineError:
    hint = f"{first}if you do not know it, move it away: a new one is made"
    return MachineError(f"{what} {path} is not used: {reason}", hint=hint)
