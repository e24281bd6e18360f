"""HEAD of a repository, read from its files: cheap enough to look after every step.

By names and descriptors, since pathlib would take longer than the files themselves.
"""

import os
import stat
from functools import cache, lru_cache
from pathlib import Path

from oraclepack.adapters import files
from oraclepack.core.regex import regex

_DEEPEST = 4
"""A branch may stand for another one, seldom more than once."""
_LONGEST = 1 << 16
_LARGEST_PACKED = 64 * 1024 * 1024
_FILES = (
    *("HEAD", "commondir", "config", "config.worktree", "index", "packed-refs", "shallow"),
    *("info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout"),
    "objects/info/alternates",
)
"""What git reads of its own before it does anything."""
_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def peek(root: Path) -> str | None:
    """The commit HEAD stands on; None where the files do not tell (no commit, other formats)."""
    try:
        folder, shared = _places(f"{root}/.git")
        told = _text(f"{folder}/HEAD")
        if told is None:
            _places.cache_clear()  # there is no repository, or no longer that one
            return None
        return _commit(folder, shared, told, _DEEPEST)
    except (OSError, UnicodeDecodeError):
        return None


def is_unborn(root: Path) -> bool:
    """Whether the files tell that there is no commit yet; False where they do not tell."""
    try:
        folder, shared = _places(f"{root}/.git")
        told = _text(f"{folder}/HEAD") or ""
        # Where branches are kept in another format, HEAD names one that cannot be.
        on_branch = told.startswith("ref: refs/heads/") and not told.strip().endswith(".invalid")
        return on_branch and _commit(folder, shared, told, _DEEPEST) is None
    except (OSError, UnicodeDecodeError):
        return False


def odd_file(root: Path) -> str | None:
    """A file of git's own around a directory that is none: a pipe or a device, on which git hangs.

    The repository may have come with an archive, which holds whatever its maker likes.
    """
    for folder in (root, *root.parents):
        try:
            places = _places(f"{folder}/.git")
        except (OSError, UnicodeDecodeError):
            continue
        for place in dict.fromkeys(places):
            for name in _FILES:
                if _is_odd(f"{place}/{name}"):
                    return f"{place}/{name}"
        if os.path.isdir(places[0]):  # noqa: PTH112 - see above
            return None
    return None


def _is_odd(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - see above
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def git_folder(root: Path) -> str | None:
    """Where git keeps HEAD and the index of a work tree; None where `root` is not its top."""
    try:
        folder, _ = _places(f"{root}/.git")
    except (OSError, UnicodeDecodeError):
        return None
    if os.path.isfile(f"{folder}/HEAD"):  # noqa: PTH113 - see above
        return folder
    _places.cache_clear()  # there is no repository, or no longer that one
    return None


@cache
def _places(git: str) -> tuple[str, str]:
    """The directory of HEAD and that of the branches; worktrees share those of the main one."""
    folder = _folder(git)
    told = _text(f"{folder}/commondir")
    return folder, folder if told is None else os.path.join(folder, told.strip())  # noqa: PTH118 - see above


def _folder(place: str) -> str:
    """In a worktree or submodule `.git` is a file that names the directory."""
    told = _text(place)
    if told is None:
        return place
    return os.path.join(os.path.dirname(place), told.removeprefix("gitdir: ").strip())  # noqa: PTH118, PTH120 - see above


def _commit(folder: str, shared: str, told: str, depth: int) -> str | None:
    """What a file of git stands for: the commit it names, or that of the branch it names."""
    told = told.strip()
    if not told.startswith("ref: "):
        return told if _COMMIT.fullmatch(told) else None
    name = told.removeprefix("ref: ")
    # What leads out of git's directory is no branch, and not ours to read.
    if depth == 0 or not name.startswith("refs/") or ".." in name.split("/"):
        return None
    for place in dict.fromkeys((folder, shared)):
        inner = _text(f"{place}/{name}")
        if inner is not None:
            return _commit(folder, shared, inner, depth - 1)
    return _packed(shared, name)


def _packed(shared: str, name: str) -> str | None:
    """After a `git gc` branches stand in one file, which may be long: read again when it changes.

    Git itself goes by the same marks; it always writes a new file.
    """
    place = f"{shared}/packed-refs"
    try:
        found = os.stat(place)  # noqa: PTH116 - see above
    except FileNotFoundError:
        return None
    return _packed_then(place, name, (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=8)
def _packed_then(place: str, name: str, _version: tuple[int, int, int]) -> str | None:
    data = files.read_regular(place, _LARGEST_PACKED)
    for line in data.decode().splitlines():
        sha, _, packed = line.partition(" ")
        if packed == name:
            return sha
    return None


def _text(place: str) -> str | None:
    """What a short file holds; None where there is none, or a directory."""
    try:
        return files.read_beginning(place, _LONGEST).decode()
    except (FileNotFoundError, IsADirectoryError):
        return None
