"""The path jail: what a tool may write is decided by the disk, not by the text alone."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from posixpath import isabs, join, normpath

import msgspec

from oraclepack.errors import InputError, Refusal
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content
from oraclepack.system.printable import readable

RUNS, CACHE = ".oraclepack/runs", ".oraclepack/cache"
REHEARSALS = ".oraclepack/rehearsals"
"""Under the project root: what only oraclepack itself writes."""

GIT = ".git"
"""At any depth: git's own."""

LONGEST_NAME = 255
LONGEST_PATH = 4000
"""Below the 4096 bytes of most systems, to leave room for names of temporary files."""

_CONTROL = frozenset(map(chr, [*range(32), 127]))


def fault_of(path: str) -> str | None:
    """Why no file of this name can be written safely anywhere, or None."""
    if not path:
        return "the path is empty"
    if path == "-":
        return "`-` means standard output, not a file"
    if any(char in _CONTROL for char in path):
        return "the path holds a control character or a line end"
    if path.startswith("~"):
        return "the shell did not expand `~`; write the path out or use $HOME"
    if path.endswith("/") or path.rsplit("/", 1)[-1] in {".", ".."}:
        return "the path names a directory, not a file"
    return _too_long(path)


def climbs(path: str) -> bool:
    """Whether `..` is among the names of a path: no output may be written so."""
    return ".." in path.split("/")


def _too_long(path: str) -> str | None:
    try:
        names = [name.encode() for name in path.split("/")]
    except UnicodeEncodeError:
        return "the path is not valid UTF-8"
    if sum(map(len, names)) + len(names) > LONGEST_PATH:
        return "the path is too long"
    if max(map(len, names)) > LONGEST_NAME:
        return f"a name in the path is longer than {LONGEST_NAME} bytes"
    return None


def inside(root: str, path: str, base: str | None = None) -> str | None:
    """The path relative to the root, or None when its text leads out of it."""
    place = normpath(path if isabs(path) else join(base or root, path))
    home = normpath(root)
    if place == home:
        return ""
    prefix = home if home.endswith("/") else home + "/"
    return place[len(prefix) :] if place.startswith(prefix) else None


def guarded_place(relative: str) -> str | None:
    """Which protected place of a project a path lies in, if in one."""
    # Case is folded since some file systems do: `.GIT/config` is git's own there.
    names = [name.casefold() for name in relative.split("/")]
    if GIT in names:
        return GIT
    place = "/".join(names[:2])
    return place if place in {RUNS, CACHE, REHEARSALS} else None


class AllowedPath(msgspec.Struct, frozen=True):
    """A path a step may write to."""

    path: Path
    """Absolute, with every symbolic link resolved."""
    relative: str
    """POSIX, relative to the project root."""


def jail(root: Path, path: str, base: Path | None = None) -> AllowedPath | Refusal:
    """Judge an output path as it is now; a relative one is read from `base`, else the root.

    The answer holds for this moment: a step that swaps directories for links while
    its own tool writes can still fool it, but such a step could write there directly.
    """
    fault = fault_of(path)
    if fault is not None:
        return Refusal(fault, subject=path)
    try:
        return _judge(root, path, base or root)
    except OSError as trouble:
        return Refusal(f"it cannot be looked at: {trouble.strerror or trouble}", subject=path)


def place_of(root: Path, path: str) -> Path:
    """The file that a path leads to, by whose name all runs lock it; also where it is refused."""
    verdict = jail(root, path)
    return root / path if isinstance(verdict, Refusal) else verdict.path


def _judge(root: Path, path: str, base: Path) -> AllowedPath | Refusal:
    if os.path.normpath(base / path).startswith("/proc/"):
        return Refusal("it means another place for every process", subject=path)
    home = os.path.realpath(root)
    relative = inside(home, os.path.realpath(base / path))
    if relative is None:
        return Refusal(f"it leads out of the project root {root}", subject=path)
    # Of a link no record could keep the words, although where it leads has a name.
    link = str((base / path).readlink()) if (base / path).is_symlink() else ""
    if readable(relative) != relative or readable(link) != link:
        return Refusal("a directory or a link on its way is not valid UTF-8", subject=path)
    # As written too: `.git` may itself be a link to a place that looks harmless.
    written = inside(str(root), path, str(base)) or ""
    place = guarded_place(relative) or guarded_place(written)
    if place is not None:
        return Refusal(f"it lies in {place}, which no step may write to", subject=path)
    reason = _occupied(base / path) if relative else "it is the project root itself"
    return Refusal(reason, subject=path) if reason else AllowedPath(Path(home, relative), relative)


def stays_inside(root: Path, place: Path) -> bool:
    """Whether a path, with every link resolved, lies in the project."""
    return inside(os.path.realpath(root), os.path.realpath(place)) is not None


def leads_out(root: Path, place: Path) -> bool:
    """Whether a path in the project leads out of it by a link: a clone may have brought it.

    A path that the user names outside of the project is theirs to judge.
    """
    written = os.path.abspath(place)  # links stay
    homes = (os.path.abspath(root), os.path.realpath(root))
    is_written_inside = any(inside(home, written) is not None for home in homes)
    return is_written_inside and not stays_inside(root, place)


def refuse_link_out(root: Path, place: Path) -> None:
    """Raise InputError where a path in the project leads out of it by a link."""
    if leads_out(root, place):
        raise InputError(
            f"{place} leads out of the project {root} by a symbolic link",
            hint="remove the link, or name a directory outside of the project yourself",
        )


def refuse_own_links_out(root: Path) -> None:
    """Refuse a project whose `.oraclepack`, or a folder in it, leads out of it by a link.

    A single run that is a link is foreign, and shown as that.
    """
    own_folder = root / ".oraclepack"
    refuse_link_out(root, own_folder)
    try:
        with os.scandir(own_folder) as entries:
            linked = sorted(entry.path for entry in entries if entry.is_symlink())
    except OSError:
        return  # there is none, or its reader reports why it cannot be read
    for path in linked:
        refuse_link_out(root, Path(path))


def judge_entry(root: Path, path: str) -> Refusal | None:
    """Why what is at a path, itself perhaps a link, may not be moved or replaced by us.

    Unlike `jail` it does not follow the last name: a link there is judged as the link it is.
    """
    fault = fault_of(path)
    if fault is not None:
        return Refusal(fault, subject=path)
    place = Path(os.path.normpath(root / path))
    home = os.path.realpath(root)
    real = inside(home, str(Path(os.path.realpath(place.parent), place.name)))
    if real is None:
        return Refusal(f"its directory leads out of the project root {root}", subject=path)
    guarded = guarded_place(real) or guarded_place(inside(str(root), path) or "")
    return None if guarded is None else Refusal(f"it lies in {guarded}", subject=path)


def plain_file(folder: Path, relative: str) -> Path | None:
    """A regular file below a folder of ours, if no link is on the way to it."""
    place = plain_place(folder, relative)
    return place if place is not None and place.is_file() else None


def plain_place(folder: Path, relative: str) -> Path | None:
    """A path below a folder of ours, whether or not a file is there, if no link is on the way."""
    names = relative.split("/")
    if not relative or any(name in {"", ".", ".."} for name in names):
        return None
    place = folder
    for name in names:
        place /= name
        if place.is_symlink():
            return None
    return place


def _occupied(path: Path) -> str | None:
    """What is in the way of writing a plain file there."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return "there is a file where one of its directories should be"
    if stat.S_ISDIR(status.st_mode):
        return "a directory has that name"
    return None if stat.S_ISREG(status.st_mode) else "it is not a regular file"


def content_at(root: Path, path: str) -> Content:
    """The bytes of an output inside the project, or why they cannot be read."""
    verdict = jail(root, path)
    if isinstance(verdict, Refusal):
        return Content(trouble=verdict.reason)
    return read_content(verdict.path)


def read_content(place: Path) -> Content:
    try:
        return Content(files.read_regular(place))
    except FileNotFoundError:
        return Content(trouble="missing")
    except OSError as trouble:
        return Content(trouble=trouble.strerror or str(trouble))


def hashes_of(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """SHA-256 of every path that is a readable file; others are left out."""
    hashes: dict[str, str] = {}
    for path in paths:
        content = read_content(root / path).data
        if content is not None:
            hashes[path] = sha256_bytes(content)
    return hashes
