"""Directories that a client may use, and reading inside them without being led out by a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, MissingFileError, UsageError

_LONGEST = 4096


class OutsideRootsError(UsageError):
    """A path leads out of the directories that a client may use."""

    code = "OUTSIDE_ROOTS"


class Roots(msgspec.Struct, frozen=True):
    """Resolved directories, the first of which is where relative paths begin."""

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> Roots:
        """Resolve directories, links included; raises UsageError for what is none."""
        resolved = []
        for name in names:
            place = Path(os.path.realpath(name))
            if not place.is_dir():
                raise UsageError(f"--root {name}: no such directory")
            resolved.append(place)
        return cls(tuple(dict.fromkeys(resolved)))

    @property
    def first(self) -> Path:
        return self.paths[0]

    def resolve(self, path: str) -> Path:
        """Where a path leads, with every link on the way; raises OutsideRootsError."""
        if "\0" in path or len(path) > _LONGEST or not path:
            raise OutsideRootsError(f"{path[:80]!r} is no path")
        # realpath follows links before it applies `..`, as the kernel does.
        place = Path(os.path.realpath(self.first / path))
        self.root_of(place)
        return place

    def root_of(self, place: Path) -> Path:
        """The innermost root that a resolved path lies in."""
        inside = [root for root in self.paths if place.is_relative_to(root)]
        if not inside:
            raise OutsideRootsError(
                f"{place} lies outside of the roots",
                hint=f"roots are {', '.join(map(str, self.paths))}; the user sets them with --root",
            )
        return max(inside, key=lambda root: len(root.parts))

    def named(self, path: str) -> str:
        """A path as use cases take it: resolved, relative to the first root where it lies in it."""
        place = self.resolve(path)
        if place.is_relative_to(self.first):
            return place.relative_to(self.first).as_posix()
        return str(place)

    def read(self, path: str, largest: int) -> bytes:
        """The bytes of a regular file. Each directory is opened by itself, and no link is followed.

        A link that is put in place between the check and the opening is refused by the kernel.
        """
        place = self.resolve(path)
        root = self.root_of(place)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            folder = os.open(root, flags | os.O_DIRECTORY)
            try:
                for name in place.relative_to(root).parts[:-1]:
                    inner = os.open(name, flags | os.O_DIRECTORY, dir_fd=folder)
                    os.close(folder)
                    folder = inner
                descriptor = os.open(place.name, flags | os.O_NONBLOCK, dir_fd=folder)
            finally:
                os.close(folder)
        except FileNotFoundError:
            raise MissingFileError(f"{path}: no such file") from None
        except OSError as trouble:
            raise InputError(f"{path}: cannot be read: {trouble.strerror}") from None
        return _content(descriptor, path, largest)


def _content(descriptor: int, path: str, largest: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path} is no regular file")
        if found.st_size > largest:
            raise InputError(f"{path} has more than {largest} bytes", hint="read it another way")
        return file.read(largest)
