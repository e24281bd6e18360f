"""Which files a call attaches: as its arguments say, as the tool says, and which are ours."""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from posixpath import basename, normpath

import msgspec

from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import CACHE, REHEARSALS, RUNS


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
    """What oracle says, or would say, that it would send."""

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


IGNORED_DIRECTORIES = frozenset(
    ("node_modules", "dist", "coverage", ".git", ".turbo", ".next", "build", "tmp")
)
_SIGNS = frozenset("*?[]{}()!+@\\|")


def base_of(pattern: str) -> str:
    """The directory below which all matches of a pattern lie."""
    names = pattern.removeprefix("!").split("/")
    fixed = next((at for at, name in enumerate(names) if _SIGNS & set(name)), len(names) - 1)
    return "/".join(names[:fixed]) or ("/" if pattern.startswith("/") and fixed else ".")


def choose(values: Sequence[str], listing: FileListing) -> Rendering:
    """The files that the values of `--file` name, once one of them is no plain file.

    Only a rehearsal relies on this imitation; for a real call the tool lists the files.
    """
    included = [_pattern(value, listing) for value in values if not value.startswith("!")]
    refused = [glob(_pattern(value[1:], listing)) for value in values if value.startswith("!")]
    matches = [glob(pattern) for pattern in included]
    names = {name for pattern in included for name in pattern.split("/")} - {".", ".."}
    hidden = any(name.startswith(".") for name in names)
    named = frozenset(normpath(value) for value in values if is_plain(value))
    files: list[str] = []
    notes: list[str] = []
    for path in sorted(set(listing.files)):
        if not any(match.fullmatch(path) for match in matches):
            continue
        if any(match.fullmatch(path) for match in refused) or _is_ignored(path, listing):
            continue
        if basename(path).startswith(".") and not hidden:
            continue
        skipped = _default_ignored(path, named, listing)
        if skipped is None:
            files.append(path)
        else:
            notes.append(f"Skipping default-ignored path: {path} (matches {skipped})")
    return Rendering(tuple(files), tuple(notes))


def _pattern(value: str, listing: FileListing) -> str:
    path = normpath(value) if is_plain(value) else value.removeprefix("./")
    if value not in listing.directories:
        return path
    return "**/*" if path == "." else f"{path}/**/*"


def _is_ignored(path: str, listing: FileListing) -> bool:
    """Whether the `.gitignore` files exclude it, read in the tool's simplified way."""
    for folder, lines in listing.ignores.items():
        inner = path.removeprefix(f"{folder}/") if folder else path
        if folder and inner == path:
            continue
        if any(_line_ignores(line.strip(), inner) for line in lines):
            return True
    return False


def _line_ignores(line: str, path: str) -> bool:
    if not line or line.startswith("#"):
        return False
    if line.endswith("/"):
        return path.startswith(line)
    pieces = re.split(r"(\*\*|\*)", line)
    spelled = {"**": ".*", "*": "[^/]*"}
    return re.fullmatch("".join(spelled.get(p) or re.escape(p) for p in pieces), path) is not None


def _default_ignored(path: str, named: frozenset[str], listing: FileListing) -> str | None:
    parents = path.split("/")[:-1]
    above = ["/".join(parents[: at + 1]) for at in range(len(parents))]
    if path in named or any(
        folder in named and basename(folder) in IGNORED_DIRECTORIES for folder in above
    ):
        return None
    for folder in above:
        if basename(folder) in IGNORED_DIRECTORIES and folder not in listing.ignores:
            return basename(folder)
    return None


def glob(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression: `*`, `**`, `?`, `[…]` and `{a,b}`."""
    return re.compile(_translated(pattern))


_TOKEN = re.compile(
    r"(?P<deep>\*\*/)|(?P<rest>\*\*)|(?P<star>\*)|(?P<one>\?)"
    r"|\[(?P<not>[!^]?)(?P<set>[^\]]+)\]|\{(?P<choice>[^{}]*)\}|\\?(?P<plain>.)",
    re.DOTALL,
)


def _translated(pattern: str) -> str:
    return "".join(_piece(token) for token in _TOKEN.finditer(pattern))


def _piece(token: re.Match[str]) -> str:
    fixed = {"deep": "(?:[^/]+/)*", "rest": ".*", "star": "[^/]*", "one": "[^/]"}
    if token.lastgroup in fixed:
        return fixed[token.lastgroup]
    if token["set"] is not None:
        inner = token["set"].replace("\\", "\\\\").replace("[", "\\[")
        return f"[{'^' if token['not'] else ''}{inner}]"
    if token["choice"] is not None:
        return f"(?:{'|'.join(_translated(part) for part in _choices(token['choice']))})"
    return re.escape(token["plain"])


def _choices(text: str) -> list[str]:
    bounds = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if bounds is None:
        return text.split(",")
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    return [str(number) for number in range(low, min(high, low + 999) + 1)]


RECORDS = (RUNS, CACHE, REHEARSALS, ".oraclepack/_failed", ".oraclepack/published")
_SPECIAL = frozenset("*?[]{}()!+@,\\")


class OwnFiles(msgspec.Struct, frozen=True):
    """Paths relative to the project root that are not attached by a pattern.

    Otherwise every run would send the journal and the answers of the last one, and ask a new
    question each time.
    """

    folders: tuple[str, ...] = RECORDS
    files: tuple[str, ...] = ()
    """State and report of the pack."""
    outputs: tuple[str, ...] = ()
    """Of the whole pack: taken in by patterns that begin with their directory, for a synthesis."""
    mine: tuple[str, ...] = ()
    """Of the step itself: never taken in, it would ask another question the next time."""


def exclusions(root: str, cwd: str, values: Sequence[str], own: OwnFiles) -> tuple[str, ...]:
    """The values of `--file` to add to a call, so that none of these files is sent.

    An exclusion changes how oracle treats literal files (they go through its patterns too), so one
    is added only where a pattern, a directory or an exclusion is there already.
    """
    plain = [value for value in values if is_plain(value)]
    named = [value for value in plain if kind_of(cwd, value) is not FileArgumentKind.DIRECTORY]
    if only_plain(values) and len(named) == len(values):
        return ()
    literal = {os.path.normpath(os.path.join(cwd, value)) for value in named}
    starts = [
        os.path.normpath(os.path.join(cwd, value if is_plain(value) else literal_part(value)))
        for value in values
        if value not in named and not value.startswith("!")
    ]
    folders = (os.path.join(root, path) for path in own.folders)
    excluded = [
        f"{path}/**" for path in folders if not any(name.startswith(f"{path}/") for name in literal)
    ]
    files = {os.path.normpath(os.path.join(root, path)) for path in (*own.files, *own.mine)}
    files |= set(_not_asked_for(root, own.outputs, starts))
    excluded += sorted(files - literal)
    return tuple(f"!{_escaped(os.path.relpath(path, cwd))}" for path in excluded)


def _not_asked_for(root: str, outputs: Iterable[str], starts: Sequence[str]) -> Iterable[str]:
    """The outputs whose directory no pattern begins with."""
    for path in outputs:
        place = os.path.normpath(os.path.join(root, path))
        folder = posixpath.dirname(place)
        begins = (start == folder or start.startswith(f"{folder}/") for start in starts)
        if folder == os.path.normpath(root) or not any(begins):
            yield place


def _escaped(path: str) -> str:
    """A pattern that matches a path: what oracle reads as a sign of its own becomes `?`."""
    body, ending = (path[:-3], "/**") if path.endswith("/**") else (path, "")
    return "".join("?" if char in _SPECIAL else char for char in body) + ending
