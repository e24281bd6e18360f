"""A repository at a commit: files, texts, history, by bounded calls of `git`."""

import re
import shlex
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from oraclepack.errors import InputError, MachineError, UsageError
from oraclepack.system.git import LONG_TIMEOUT, NO_REPOSITORY, Git, GitError

MOST_COMMITS = 1000
"""How far back the history is read."""
_MOST_UNCOMPRESSED = 20_000_000
"""Bytes of all texts, from which on they are held compressed."""
_WIDEST = 4
"""Bytes of a character in UTF-8, at most."""
_REGULAR = ("100644", "100755")
_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")

IsWanted = Callable[[str, int], bool]
"""Whether the content of a file (path, size) is worth reading."""


class StoredText:
    """The text of a file, compressed where a repository is so large that memory counts."""

    __slots__ = ("_packed", "_text", "length")

    def __init__(self, text: str, *, compressed: bool = False) -> None:
        self.length = len(text)
        """Characters."""
        self._text = "" if compressed else text
        self._packed = zlib.compress(text.encode(), 1) if compressed else b""

    def read(self) -> str:
        return zlib.decompress(self._packed).decode() if self._packed else self._text

    def head(self, most: int) -> str:
        """The first characters."""
        if not self._packed:
            return self._text[:most]
        raw = zlib.decompressobj().decompress(self._packed, most * _WIDEST)
        return raw.decode("utf-8", "ignore")[:most]


class TrackedFile(NamedTuple):
    """A file of the commit that is also in the work tree."""

    path: str
    """POSIX, relative to the project root."""
    size: int
    """Bytes; the greater one of commit and work tree."""
    content: StoredText | None = None
    """None when it is binary or was not worth reading."""

    @property
    def text(self) -> str | None:
        return self.content.read() if self.content is not None else None


class Commit(NamedTuple):
    """One commit of the history."""

    sha: str
    subject: str
    paths: tuple[str, ...]


class Hunk(NamedTuple):
    """One stretch of a diff."""

    line: int
    """Its first line in the present text."""
    lines: tuple[str, ...]
    """With the sign of each: a blank, `+` or `-`."""


class FileChange(NamedTuple):
    """What changed in a file."""

    hunks: tuple[Hunk, ...]
    touched: frozenset[int]
    """Lines of the present text that are new, or beside which something was deleted."""
    added: frozenset[int]
    """Lines of the present text that are new."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed between the fork point from another commit and HEAD."""

    since: str
    """The other commit, as the user named it."""
    base: str
    """The fork point."""
    commits: tuple[Commit, ...]
    """The newest first."""
    files: Mapping[str, FileChange]


@dataclass(frozen=True, slots=True)
class GitRepository:
    """Everything a survey may know. Nothing in it depends on where the clone lies."""

    files: tuple[TrackedFile, ...]
    """In the order of their paths."""
    commits: tuple[Commit, ...] = ()
    """The newest first; merges left out."""
    sha: str | None = None
    date: str | None = None
    """The day of the commit in UTC, `YYYY-MM-DD`."""
    is_dirty: bool = False
    """Tracked files of the work tree differ from the commit."""
    is_shallow: bool = False
    """The clone holds only the end of the history."""


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    blob: str
    """Empty where a partial clone does not have it."""
    size: int


def read_git_repository(
    root: Path, environment: Mapping[str, str], wanted: IsWanted
) -> GitRepository:
    """The tracked files at HEAD that are in the work tree, with what the history says of them.

    Contents come from the commit, not from the work tree: the same commit gives the same value
    whatever lies around. In a repository without a commit the index replaces it.
    """
    try:
        return _read(Git(root, environment, LONG_TIMEOUT), root, wanted)
    except GitError as trouble:
        hint = "install git" if trouble.missing else ""
        raise MachineError(trouble.reason, hint=hint) from None


def changes_since(root: Path, environment: Mapping[str, str], reference: str) -> Changes:
    """What changed between the fork point of HEAD and another commit, and HEAD."""
    git = Git(root, environment, LONG_TIMEOUT)
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    other = (git.ask(*words) or b"").decode().strip()
    if not _COMMIT.fullmatch(other):
        raise UsageError(
            f"--since: {reference!r} names no commit",
            hint="give a branch, a tag or a commit, such as --since origin/main",
        )
    base = (git.ask("merge-base", other, "HEAD") or b"").decode().strip() or other
    diff = git.ask(
        *("diff-tree", "-r", "-p", "--find-renames", "--no-ext-diff", "--no-textconv"),
        *("--no-color", "--ignore-submodules=all", "--relative", "--src-prefix=a/"),
        *("--dst-prefix=b/", base, "HEAD", "--", "."),
    )
    commits = tuple(_commits(git, f"{base}..HEAD"))
    return Changes(reference, base, commits, _file_changes(diff or b""))


def lines_of_commits(
    root: Path, environment: Mapping[str, str], path: str, oldest: str
) -> list[str]:
    """For each line of a file at HEAD the commit that changed it last; empty if git fails."""
    git = Git(root, environment, LONG_TIMEOUT)
    words = ("blame", "-l", "-s", "-w", "--no-textconv", "--root", f"{oldest}^..HEAD", "--", path)
    output = git.ask(*words)
    if output is None:
        output = git.ask("blame", "-l", "-s", "-w", "--no-textconv", "--root", "HEAD", "--", path)
    lines = (output or b"").split(b"\n")
    return [line.split(b" ", 1)[0].decode("ascii", "replace") for line in lines if line]


def _read(git: Git, root: Path, wanted: IsWanted) -> GitRepository:
    _refuse_elsewhere(git, root)
    sha = (git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or b"").decode().strip()
    entries = sorted(_entries(git, root, sha), key=lambda entry: entry.path)
    there = [entry for entry in entries if entry.size >= 0]
    readable = [e for e in there if e.blob and wanted(e.path, e.size)]
    is_large = sum(entry.size for entry in readable) > _MOST_UNCOMPRESSED
    texts = {p: StoredText(text, compressed=is_large) for p, text in _texts(git, readable)}
    files = tuple(TrackedFile(entry.path, entry.size, texts.get(entry.path)) for entry in there)
    if not sha:
        return GitRepository(files)
    stamp = (git.ask("log", "-1", "--format=%ct", "--no-show-signature") or b"0").strip()
    status = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    dirty = bool(git.ask(*status, "--", "."))
    day = datetime.fromtimestamp(int(stamp), UTC).date().isoformat()
    shallow = (git.ask("rev-parse", "--is-shallow-repository") or b"").strip() == b"true"
    return GitRepository(files, tuple(_commits(git, sha)), sha, day, dirty, shallow)


def refused_hint(root: Path, reason: str) -> str:
    """Git's own advice, which it prints after its reason."""
    if "dubious ownership" in reason:
        return f"if you trust it: git config --global --add safe.directory {shlex.quote(str(root))}"
    return "git itself refuses this directory; call git there to see why"


def _refuse_elsewhere(git: Git, root: Path) -> None:
    try:
        inside = git.run("rev-parse", "--is-inside-work-tree")
    except GitError as trouble:
        if trouble.slow or trouble.missing:
            raise
        if trouble.reason != NO_REPOSITORY:
            raise InputError(
                f"{root}: {trouble.reason}",
                hint=refused_hint(root, trouble.reason),
            ) from None
        inside = b""
    if inside.strip() != b"true":
        if all((root / name).exists() for name in ("HEAD", "objects", "refs")):
            raise InputError(
                f"{root} is a bare git repository: it has no work tree to attach files from",
                hint="git clone it, then run the same command in the clone",
            )
        raise InputError(
            f"{root} is not in a git repository",
            hint="only tracked files are read: git init, git add, then the same command",
        )


def _entries(git: Git, root: Path, sha: str) -> Iterator[_Entry]:
    """Regular files only: no links, no submodules. A size below 0 means: not in the work tree."""
    missing: set[str] = set()
    if sha:
        listed = git.ask("ls-tree", "-r", "-z", "-l", "--end-of-options", sha)
        if listed is None:  # a partial clone does not know the sizes of what it does not have
            listed = git.ask("ls-tree", "-r", "-z", "--end-of-options", sha) or b""
            words = ("rev-list", "--objects", "--missing=print", "--no-walk", sha)
            objects = (git.ask(*words) or b"").decode("utf-8", "replace").split("\n")
            missing = {line[1:] for line in objects if line.startswith("?")}
    else:
        listed = git.ask("ls-files", "-s", "-z") or b""
    for row in listed.split(b"\0"):
        facts, tab, raw = row.partition(b"\t")
        columns = facts.decode("ascii", "replace").split()
        if not tab or columns[0] not in _REGULAR:
            continue
        try:
            path = raw.decode()
        except UnicodeDecodeError:
            continue  # a name that no pack can hold
        # ls-tree: mode type blob and, if known, size; ls-files: mode blob stage.
        blob, size = (columns[2], "".join(columns[3:])) if sha else (columns[1], "")
        size_now = _size_now(root / path, int(size) if size.isdecimal() else 0)
        yield _Entry(path, "" if blob in missing else blob, size_now)


def _size_now(path: Path, committed: int) -> int:
    try:
        status = path.lstat()
    except OSError:
        return -1
    return max(status.st_size, committed) if stat.S_ISREG(status.st_mode) else -1


def _texts(git: Git, entries: Sequence[_Entry]) -> Iterator[tuple[str, str]]:
    """Path and text of each; what holds a NUL byte is no text and left out."""
    contents = git.blobs([entry.blob for entry in entries])
    for entry, content in zip(entries, contents, strict=False):
        if content is not None and b"\0" not in content:
            yield entry.path, _decoded(content)


def _decoded(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").removeprefix("\ufeff")


def _commits(git: Git, revisions: str) -> Iterator[Commit]:
    """The paths of each commit, the newest first, without merges."""
    output = git.ask(
        *("log", f"-n{MOST_COMMITS}", "--no-merges", "--no-renames", "--no-show-signature"),
        *("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--relative"),
        *("--name-only", "-z", "--format=format:%x01%H%x02%s%x02", revisions, "--", "."),
    )
    for commit in (output or b"").split(b"\x01")[1:]:
        sha, _, rest = commit.partition(b"\x02")
        subject, _, listed = rest.partition(b"\x02")
        names = (name.lstrip(b"\n") for name in listed.split(b"\0"))
        paths = tuple(name.decode("utf-8", "replace") for name in names if name)
        yield Commit(sha.decode("ascii", "replace"), subject.decode("utf-8", "replace"), paths)


def _file_changes(diff: bytes) -> dict[str, FileChange]:
    """The files of a diff that still exist, each with what changed in it."""
    hunks: dict[str, list[tuple[int, list[str]]]] = {}
    path, in_header = "", True
    for line in diff.split(b"\n"):
        if line.startswith(b"diff --git "):
            path, in_header = "", True
        elif in_header and line.startswith(b"+++ "):
            path = _diff_path(line, b"b/")
        elif path and (match := _HUNK.match(line)):
            in_header = False
            hunks.setdefault(path, []).append((max(int(match[1]), 1), []))
        elif path and not in_header and line[:1] in {b" ", b"+", b"-"}:
            hunks[path][-1][1].append(_decoded(line.rstrip(b"\r")))
    return {
        name: _file_change([Hunk(first, tuple(lines)) for first, lines in own])
        for name, own in hunks.items()
    }


def _file_change(hunks: list[Hunk]) -> FileChange:
    touched: set[int] = set()
    added: set[int] = set()
    for hunk in hunks:
        number = hunk.line
        for line in hunk.lines:
            if line.startswith("-"):
                # What is deleted was between two lines: both are touched.
                touched |= {max(number - 1, 1), number}
                continue
            if line.startswith("+"):
                added.add(number)
            number += 1
    return FileChange(tuple(hunks), frozenset(touched | added), frozenset(added))


def _diff_path(line: bytes, prefix: bytes) -> str:
    """The path of a header line; empty for no file, and for a name that is quoted.

    A quoted name has characters that no pack can name.
    """
    name = line[4:].removeprefix(prefix).rstrip(b"\t")
    is_known = name != b"/dev/null" and name[:1] != b'"'
    return name.decode("utf-8", "replace") if is_known else ""
