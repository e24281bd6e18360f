"""The user's own key, with which journals, cached answers and claims are signed.

It is made on first use. A key that several machines share replaces it: `ORACLEPACK_TRUST_KEY`, or
a file that the user's own configuration names.
"""

import os
from pathlib import Path

from oraclepack.errors import MachineError, UsageError
from oraclepack.system.environment import TRUST_KEY_VARIABLE
from oraclepack.system.user_secrets import make_secret, read_secret, secret_file

NAME = "trust.key"
SHORTEST = 32
"""Characters: those of 16 random bytes in hex."""
_WHAT = "the trust key"


class _KeyFile:
    file: str = ""


def use_file(path: str) -> None:
    """Use the key in a file that the user's configuration names; an empty path means none."""
    _KeyFile.file = path


def key_file() -> Path:
    """Where this user's key is kept, unless a shared one replaces it."""
    return secret_file(NAME, _WHAT)


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
        content = read_secret(path, _WHAT)
        if content is None:
            raise MachineError(f"trust_key_file: {path} is gone", hint="write the shared key there")
        return _digest(content, str(path))
    content = read_secret(key_file(), _WHAT)
    return None if content is None else _digest(content, str(key_file()))


def make_key() -> bytes:
    """The key; one is made if there is none."""
    existing = find_key()
    if existing is not None:
        return existing
    try:
        path = key_file()
        return _digest(make_secret(path, _WHAT), str(path))
    except MachineError as trouble:
        hint = f"{trouble.hint}; or give a key of your own in {TRUST_KEY_VARIABLE}".lstrip("; ")
        raise MachineError(trouble.message, hint=hint, detail=trouble.detail) from trouble


def _digest(content: bytes, where: str) -> bytes:
    """The same for the same text, whether a variable or a file holds it."""
    import hashlib

    text = content.strip()
    if len(text) < SHORTEST:
        raise UsageError(
            f"{where}: a trust key has at least {SHORTEST} characters",
            hint="`openssl rand -hex 32` makes one",
        )
    return hashlib.sha256(b"oraclepack runs trust key\0" + text).digest()
