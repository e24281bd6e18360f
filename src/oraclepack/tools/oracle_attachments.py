"""Which files a call attaches: read from its arguments, or reported by the tool."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes


class FileArgumentKind(StrEnum):
    """What a name given to `--file` stands for."""

    FILE = "file"
    DIRECTORY = "directory"
    MISSING = "missing"


class FileListing(msgspec.Struct, frozen=True):
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


_GITIGNORE = ".gitignore"
_LARGEST_IGNORE = 1024 * 1024
_NEVER_ATTACHED = frozenset((".git", "node_modules"))
"""Not walked through unless a pattern begins below them; they hold most of many trees."""


def kind_of(cwd: str, value: str) -> FileArgumentKind:
    """What a plain name stands for."""
    path = Path(cwd, value)
    if path.is_dir():
        return FileArgumentKind.DIRECTORY
    return FileArgumentKind.FILE if path.is_file() else FileArgumentKind.MISSING


def read_attached(cwd: str, paths: Iterable[str]) -> tuple[AttachedFile, ...]:
    """Every file with its content, named relative to the working directory. Raises InputError."""
    return tuple(_read(cwd, path) for path in dict.fromkeys(map(os.path.normpath, paths)))


def _read(cwd: str, path: str) -> AttachedFile:
    try:
        data = files.read_regular(Path(cwd, path))
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise InputError(f"cannot read the attached file {path}: {reason}") from trouble
    display_path = os.path.relpath(path, cwd) if Path(path).is_absolute() else path
    return AttachedFile(Path(display_path).as_posix(), data, sha256_bytes(data))


def list_files(cwd: str, values: Sequence[str], bases: Iterable[str]) -> FileListing:
    """The files below the given directories, and the ignore files below the working directory."""
    directories = frozenset(
        value for value in values if kind_of(cwd, value) is FileArgumentKind.DIRECTORY
    )
    named = [value.rstrip("/") for value in values if kind_of(cwd, value) is FileArgumentKind.FILE]
    below = sorted({*bases, *directories})
    walked = [path for base in below for path in _walk(cwd, base)]
    plain = [path for path in map(os.path.normpath, named) if not Path(cwd, path).is_symlink()]
    paths = tuple(sorted({*walked, *plain}))
    return FileListing(paths, directories, _ignores(cwd))


def _walk(cwd: str, base: str) -> Iterator[str]:
    inside = frozenset(Path(base).parts)
    for parent, folders, names in files.walk(Path(cwd, base)):
        folders[:] = sorted(set(folders) - (_NEVER_ATTACHED - inside))
        for name in names:
            path = os.path.join(parent, name)  # a hundred thousand times
            if not os.path.islink(path):
                yield os.path.relpath(path, cwd)


def _ignores(cwd: str) -> dict[str, tuple[str, ...]]:
    ignores: dict[str, tuple[str, ...]] = {}
    for parent, folders, names in files.walk(cwd):
        folders[:] = sorted(set(folders) - _NEVER_ATTACHED)
        if _GITIGNORE in names:
            folder = os.path.relpath(parent, cwd)
            try:
                data = files.read_regular(Path(parent, _GITIGNORE), _LARGEST_IGNORE)
            except OSError:
                continue
            ignores["" if folder == "." else folder] = tuple(
                data.decode("utf-8", "replace").split("\n")
            )
    return ignores


RENDER = ("--render", "--render-plain")
"""With these oracle prints what it would send, for nothing: no key, no network, no session."""

_DYNAMIC = re.compile(r"[*?\[\]{}\\]|[@!+]\(|\([^(]*\|")
_HEADER = "### File: "
_BLANKS = re.compile(r"\n{3,}")


class Rendering(msgspec.Struct, frozen=True):
    """What oracle says it would send."""

    files: tuple[str, ...]
    """The attached files, relative to the working directory."""
    notes: tuple[str, ...] = ()
    """What it says it leaves out, and why."""


def is_plain(value: str) -> bool:
    """A value of `--file` that can only be a name, not a pattern or an exclusion."""
    return not value.startswith("!") and _DYNAMIC.search(value) is None


def is_one_value(value: str) -> bool:
    """Whether oracle reads a text given to `--file` as one value: it cuts at commas.

    A text that begins with `-` or holds control characters is none that we would write.
    """
    blank = not value or value != value.strip()
    return not (blank or "," in value or value.startswith("-")) and value.isprintable()


def names_one_file(path: str) -> bool:
    """Whether oracle takes this file's name for the name of this file, and for nothing else.

    Whatever writes an attachment into a pack asks here first: a repository may hold a file named
    `data/x,/etc/passwd`, which oracle would read as two.
    """
    return is_one_value(path) and "!" not in path and is_plain(path)


def literal_part(value: str) -> str:
    """The beginning of a value of `--file` that is no pattern: where the tool starts to look."""
    match = _DYNAMIC.search(value)
    return value if match is None else value[: match.start()].rpartition("/")[0]


def only_plain(values: Sequence[str]) -> bool:
    """No pattern anywhere; whether one of the names is a directory only the disk knows.

    One pattern, directory or exclusion sends everything, plain names too, through rules
    of its own (ignore files, links, hidden files), which are the tool's to apply.
    """
    return all(is_plain(value) for value in values)


def rendering_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """The same call, only asking what would be sent. In front: nothing can swallow it there."""
    return (*RENDER, *argv)


def read_rendering(text: str, prompt: str) -> Rendering | None:
    """The files in what oracle printed; None when it is not what we know how to read.

    The prompt may hold lines that look like file headers; the bodies of files cannot,
    since every line of theirs is numbered.
    """
    head, mark, _ = text.partition("\n[SYSTEM]\n")
    # The tool squeezes empty lines, in the prompt too.
    opening = "\n\n[USER]\n" + _BLANKS.sub("\n\n", f"{prompt.strip()}\n")
    _, has_opening, rest = text.partition(opening)
    if not mark or not has_opening:
        return None
    files = [line[len(_HEADER) :] for line in rest.split("\n") if line.startswith(_HEADER)]
    return Rendering(tuple(files), tuple(head.split("\n")[1:]))
