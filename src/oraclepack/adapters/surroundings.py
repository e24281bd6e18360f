"""The process we are: its environment, its name, its private directory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oraclepack.core.regex import regex
from oraclepack.errors import WorldError

_PRIVATE = regex(r"op-[0-9a-f]{12}")
_LONGEST = 75
"""Bytes: a socket lies in the directory, and the system takes no more than 103 in all."""


def environment() -> dict[str, str]:
    """A copy of our environment."""
    return dict(os.environ)


def inherited() -> dict[str, str]:
    """What other programs get of it: all but the key that only we sign with."""
    return {name: value for name, value in os.environ.items() if name != TRUST_KEY_VARIABLE}


def process_id() -> int:
    return os.getpid()


def host() -> str:
    return os.uname().nodename


def private_name() -> str:
    """A name for a private directory that nobody else has."""
    return f"op-{os.urandom(6).hex()}"


@contextmanager
def private_directory(name: str = "") -> Iterator[Path]:
    """A directory only we can read, with a short path (sockets need one), gone at the end."""
    path = _make(name or private_name())
    try:
        yield path
    finally:
        _remove(path)


def forget_private(name: str) -> None:
    """Remove what a killed command of ours could not: its private directory."""
    if not _PRIVATE.fullmatch(name):
        return
    for place in _places():
        path = place / name
        try:
            mine = path.lstat().st_uid == os.getuid()
        except OSError:
            continue
        if mine:
            _remove(path)


def _places() -> list[Path]:
    """The user's own choice first, unless what lies there could not be used."""
    given = os.environ.get("TMPDIR", "")
    places = [place for place in (given, "/tmp", "/var/tmp") if place]  # noqa: S108 - 0700 below
    return [Path(place) for place in sorted(places, key=lambda place: not _is_usable(place))]


def _is_usable(place: str) -> bool:
    """Short enough for a socket, and without a colon, since it comes to stand on PATH."""
    return len(os.fsencode(place)) <= _LONGEST and ":" not in place


def _make(name: str) -> Path:
    # Not by tempfile: with what it imports it costs as much as a step.
    trouble: OSError | None = None
    for place in _places():
        path = place / name
        try:
            path.mkdir(0o700)
        except OSError as refused:
            trouble = refused
        else:
            return path
    raise WorldError(
        f"no directory for temporary files can be made: {trouble}",
        hint="point TMPDIR to a directory you may write to",
    )


def _remove(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        from oraclepack.adapters.files import remove_tree  # noqa: PLC0415 - mostly it is empty

        with suppress(OSError):
            remove_tree(path)


MARKER_VARIABLE = "ORACLEPACK_ATTEMPT"
"""The environment variable that marks every process of an attempt with the attempt's token."""


TRUST_KEY_VARIABLE = "ORACLEPACK_TRUST_KEY"
"""Holds a key that several machines share; read from the environment alone, never from a file."""
