"""Files around a call, as the disk shows them: all paths relative to its working directory."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What a name given to `--file` stands for."""

    FILE = "file"
    DIRECTORY = "directory"
    MISSING = "missing"


class Listing(msgspec.Struct, frozen=True):
    """The files a call could attach."""

    files: Sequence[str]
    """Plain files; symbolic links are none."""
    directories: frozenset[str] = frozenset()
    """Of the values of `--file`, those that are directories."""
    ignores: Mapping[str, Sequence[str]] = {}
    """The lines of each `.gitignore`, by its directory (empty for the working directory)."""


class AttachedFile(msgspec.Struct, frozen=True):
    """A file of a call and what is in it."""

    path: str
    data: bytes
    sha256: str
