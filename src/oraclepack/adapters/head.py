"""HEAD of a repository, read from its files: cheap enough to look after every step."""

from pathlib import Path

_DEEPEST = 4
"""A branch may stand for another one, seldom more than once."""


def peek(root: Path) -> str | None:
    """The commit HEAD stands on; None where the files do not tell (no commit, other formats)."""
    try:
        folder = _folder(root / ".git")
        return _commit(folder, _shared(folder), "HEAD", _DEEPEST)
    except (OSError, UnicodeDecodeError):
        return None


def _folder(place: Path) -> Path:
    """In a worktree or submodule `.git` is a file that names the directory."""
    if place.is_dir():
        return place
    named = place.read_text(encoding="utf-8").removeprefix("gitdir: ").strip()
    return place.parent / named


def _shared(folder: Path) -> Path:
    """Where the branches are: worktrees share those of the main one."""
    try:
        return folder / (folder / "commondir").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return folder


def _commit(folder: Path, shared: Path, name: str, depth: int) -> str | None:
    if depth == 0:
        return None
    for place in (folder / name, shared / name):
        if place.is_file():
            told = place.read_text(encoding="ascii").strip()
            if told.startswith("ref: "):
                return _commit(folder, shared, told.removeprefix("ref: "), depth - 1)
            return told or None
    return _packed(shared, name)


def _packed(shared: Path, name: str) -> str | None:
    for line in (shared / "packed-refs").read_text(encoding="utf-8").splitlines():
        sha, _, packed = line.partition(" ")
        if packed == name:
            return sha
    return None
