"""The user's own key, with which journals, cached answers and claims are signed.

It lies in the user's state directory, readable for its owner alone, and is made on first use.
A key that several machines share replaces it: `ORACLEPACK_TRUST_KEY`, or a file that the user's
own configuration names.
"""

import os
import stat
from pathlib import Path

from oraclepack.errors import MachineError, UsageError
from oraclepack.system import disk, file_moves, files
from oraclepack.system.environment import TRUST_KEY_VARIABLE, state_directory
from oraclepack.system.ownership import is_tracked

NAME = "trust.key"
SHORTEST = 32
"""Characters: those of 16 random bytes in hex."""
_LONGEST = 4096


class _KeyFile:
    file: str = ""


def use_file(path: str) -> None:
    """Use the key in a file that the user's configuration names; an empty path means none."""
    _KeyFile.file = path


def key_file() -> Path:
    """Where this user's key is kept, unless a shared one replaces it."""
    path = state_directory() / NAME
    if not path.is_absolute():
        # With an odd HOME it would lie in the project, and could come from the repository.
        raise MachineError(
            f"there is no place for the trust key: {path} is not an absolute path",
            hint=f"set HOME to an absolute path, or give a key in {TRUST_KEY_VARIABLE}",
        )
    return path


def find_key() -> bytes | None:
    """The key, or None when there is none yet. Changes nothing."""
    shared = os.environ.get(TRUST_KEY_VARIABLE, "")
    if shared:
        return _digest(shared.encode("utf-8", "surrogateescape"), TRUST_KEY_VARIABLE)
    if _KeyFile.file:
        path = Path(_KeyFile.file).expanduser()
        if not path.is_absolute():
            # From the current directory it could be a file of the repository.
            raise UsageError(f"trust_key_file: {path} is not an absolute path")
        content = _read(path)
        if content is None:
            raise MachineError(f"trust_key_file: {path} is gone", hint="write the shared key there")
        return _digest(content, str(path))
    content = _read(key_file())
    return None if content is None else _digest(content, str(key_file()))


def make_key() -> bytes:
    """The key; one is made if there is none."""
    path = key_file()
    files.sweep(path.parent)  # a process killed while making it may have left half a file
    existing = find_key()
    if existing is not None:
        return existing
    try:
        files.make_private(path.parent)
        _write(path)
    except MachineError as trouble:
        hint = f"{trouble.hint}; or give a key of your own in {TRUST_KEY_VARIABLE}".lstrip("; ")
        raise MachineError(trouble.message, hint=hint, detail=trouble.detail) from trouble
    created = find_key()
    if created is None:
        raise MachineError(f"{path} is gone right after it was made", hint="try again")
    return created


def _write(path: Path) -> None:
    """Another process may do the same at this moment; the first one's key stays."""
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


def _read(path: Path) -> bytes | None:
    """The content of a key file; raises MachineError where others could have written or read it."""
    try:
        # O_NONBLOCK: opening a pipe in its place would block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        if path.is_symlink():
            raise _unsafe(path, "it is a symbolic link") from None
        raise files.cannot("read", path, trouble) from trouble
    try:
        _check(path, os.fstat(descriptor))
        return os.read(descriptor, _LONGEST)
    except OSError as trouble:
        raise files.cannot("read", path, trouble) from trouble
    finally:
        os.close(descriptor)


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unsafe(path, "it is no regular file")
    if status.st_uid != os.getuid():
        raise _unsafe(path, "it belongs to another user")
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise _unsafe(path, "others may read or write it", f"`chmod 600 {path}`; ")
    if is_tracked(path):
        # With a home inside of a clone, and a strict umask, it may be the repository's.
        raise _unsafe(path, "git tracks it, so others know it")


def _unsafe(path: Path, reason: str, first: str = "") -> MachineError:
    hint = f"{first}if you do not know it, move it away: a new one is made"
    return MachineError(f"the trust key {path} is not used: {reason}", hint=hint)


def _digest(content: bytes, where: str) -> bytes:
    """The same for the same text, whether a variable or a file holds it."""
    import hashlib

    text = content.strip()
    if len(text) < SHORTEST:
        raise UsageError(
            f"{where}: a trust key has at least {SHORTEST} characters",
            hint="`openssl rand -hex 32` makes one",
        )
    return hashlib.sha256(b"oraclepack trust key\0" + text).digest()
