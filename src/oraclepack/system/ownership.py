"""Whether a place below `.oraclepack` can hold records of ours: no link, nothing that git tracks.

Git is started only where its index contains `.oraclepack`, and once for each state of the
index: most projects ignore the folder, and then reading the index is enough.
"""

import os
import stat
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

import msgspec

from oraclepack.errors import InputError
from oraclepack.system import environment, files, git
from oraclepack.system.git import git_folder


class ForeignReason(StrEnum):
    """Why a record may have come from another person."""

    UNSIGNED = "unsigned"
    """It has no signature: written by oraclepack 0.1.0 or by another person."""
    OTHER_KEY = "other_key"
    """Its signature is not one of this user's key."""
    TRACKED = "tracked"
    """Git tracks it, so it changes with every pull."""
    LINKED = "linked"
    """A symbolic link stands for it, or on the way to it."""


_MESSAGES = {
    ForeignReason.UNSIGNED: "it is not signed (oraclepack 0.1.0 signed nothing)",
    ForeignReason.OTHER_KEY: "it is not signed with your key",
}
_ADOPTABLE = frozenset(_MESSAGES)


class Foreign(msgspec.Struct, frozen=True):
    """Why a record is not taken for ours."""

    kind: ForeignReason
    path: str = ""
    """What git tracks, or the link; relative to the project root."""

    @property
    def reason(self) -> str:
        if self.kind is ForeignReason.TRACKED:
            return f"git tracks {self.path}"
        if self.kind is ForeignReason.LINKED:
            return f"{self.path} is a symbolic link"
        return _MESSAGES[self.kind]

    @property
    def may_be_ours(self) -> bool:
        """Whether the user can say so with `oraclepack runs trust`."""
        return self.kind in _ADOPTABLE

    @property
    def way_out(self) -> str:
        """What makes it count."""
        if self.may_be_ours:
            return (
                "`oraclepack runs trust` takes over what you know to be yours, see docs/security.md"
            )
        if self.kind is ForeignReason.TRACKED:
            return f"if it is yours: `git rm -r --cached {self.path}`, and ignore .oraclepack/"
        return f"put a real directory in the place of {self.path}"


class TrustReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `trust` took over."""

    run_id: str | None = None
    reason: str | None = None
    """Why the run was foreign."""
    answers: tuple[str, ...] = ()
    """The keys of the answers that are signed now."""
    claims: int = 0
    """Calls under way, or cut off, that are signed now."""
    still_foreign: tuple[str, ...] = ()
    """What stays foreign, and why."""


class ForeignError(InputError):
    """What a command would act upon is not ours."""

    code = "FOREIGN"


def foreign_run(run_id: str, foreign: Foreign, ways: str = "") -> ForeignError:
    """The error where a run would have to be acted upon that is not ours."""
    trust = f"`oraclepack runs trust {run_id}` takes it over, if you know where it comes from"
    hint = trust if foreign.may_be_ours else foreign.way_out
    return ForeignError(
        f"run {run_id} is foreign: {foreign.reason}", hint=f"{hint}{ways and '; '}{ways}"
    )


HOME = ".oraclepack"
_SIGNATURE = b"DIRC"
_WHOLE_NAMES = (2, 3)
"""The versions of the index in which every path is written out."""
_SPLIT = b"link\0"
"""How the extension begins of an index whose other half is another file."""


def foreign_folder(root: Path, relative: str) -> Foreign | None:
    """Why a folder below the project root cannot be ours, whatever is in it.

    That git tracks some of its files does not matter: those are foreign one by one.
    """
    if (link := linked(root, relative)) is not None:
        return link
    # A link or a repository within the repository, which git tracks in place of a folder.
    prefix = f"{relative}/".casefold()
    above = (path for path in _tracked_below(root) if prefix.startswith(f"{path}/".casefold()))
    return next((Foreign(ForeignReason.TRACKED, path) for path in above), None)


def linked(root: Path, relative: str) -> Foreign | None:
    """The outermost symbolic link on the way to a path below the project root, itself included."""
    path = ""
    for name in relative.split("/"):
        path = f"{path}/{name}" if path else name
        try:
            kind = os.lstat(f"{root}/{path}").st_mode
        except OSError:
            return None  # nothing is there: what we make will be no link
        if stat.S_ISLNK(kind):
            return Foreign(ForeignReason.LINKED, path)
    return None


def tracked(root: Path, relative: str) -> Foreign | None:
    """What git tracks of a path: the path, something below it, or a link in place of a parent."""
    folded = relative.casefold()
    for path in _tracked_below(root):
        path_folded = path.casefold()
        if (
            path_folded == folded
            or path_folded.startswith(f"{folded}/")
            or folded.startswith(f"{path_folded}/")
        ):
            return Foreign(ForeignReason.TRACKED, path if len(path) < len(relative) else relative)
    return None


def folder_tracks(root: Path, folder: Path, name: str) -> bool:
    """Whether git tracks a file of a folder in the project."""
    return tracked(root, Path(os.path.relpath(folder / name, root)).as_posix()) is not None


def came_with_repository(root: Path, relative: str) -> bool:
    """Whether git tracks a file anywhere in the project; True where git fails."""
    return bool(tracked_files(root, relative))


def tracked_files(root: Path, relative: str) -> tuple[str, ...]:
    """What git tracks at or below any path of the project; everything where git fails."""
    index = _index_of(root)
    if index is None or not Path(index).exists():
        return ()
    paths = git.tracked(root, environment.environment(), f":(literal){relative}")
    return (relative,) if paths is None else paths


@lru_cache(maxsize=8)
def is_tracked(path: Path) -> bool:
    """Whether the repository that a file lies in, if it lies in one, tracks it."""
    return _tracking(path) is True


def is_untracked(path: Path) -> bool:
    """Whether a file lies in a repository, and is neither tracked by it nor a link."""
    return _tracking(path) is False and not path.is_symlink()


def _tracking(path: Path) -> bool | None:
    """Whether the repository around a file tracks it; None where there is no repository."""
    for folder in path.parents:
        if git_folder(folder) is not None:
            return came_with_repository(folder, path.relative_to(folder).as_posix())
    return None


def _tracked_below(root: Path) -> tuple[str, ...]:
    index = _index_of(root)
    if index is None:
        return ()
    try:
        status = os.stat(index)  # for every cached answer
    except OSError:
        return ()  # nothing was ever added
    return _tracked_paths(root, index, (status.st_ino, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=8)
def _tracked_paths(root: Path, index: str, _version: tuple[int, int, int]) -> tuple[str, ...]:
    try:
        data = files.read_regular(index)
    except OSError:
        data = b""
    if _holds_every_path(data) and HOME.encode() not in data.lower():
        return ()
    paths = git.tracked(root, environment.environment(), f":(icase){HOME}")
    # Where git fails, nothing is known to be ours.
    return (HOME,) if paths is None else paths


def _holds_every_path(index: bytes) -> bool:
    """Whether every path is in the file, letter by letter."""
    version = int.from_bytes(index[4:8], "big")
    return index.startswith(_SIGNATURE) and version in _WHOLE_NAMES and _SPLIT not in index


def _index_of(root: Path) -> str | None:
    """The index of the repository around a directory."""
    for folder in (root, *root.parents):
        place = git_folder(folder)
        if place is not None:
            return f"{place}/index"
    return None
