"""A repository as its commit tells it: tracked files, their texts, who changed with whom."""

import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from oraclepack.errors import InputError, MachineError
from oraclepack.system.git import LONG_TIMEOUT, NO_REPOSITORY, Git, GitError


@dataclass(frozen=True, slots=True)
class TrackedFile:
    """A file of the commit that also stands in the work tree."""

    path: str
    """POSIX, relative to the project root."""
    size: int
    """Bytes; the greater one of commit and work tree."""
    text: str | None = None
    """The beginning of its content; None when it is binary or was not worth reading."""


@dataclass(frozen=True, slots=True)
class RepositorySnapshot:
    """Everything a survey may know. Nothing in it depends on where the clone lies."""

    files: tuple[TrackedFile, ...]
    """In the order of their paths."""
    commits: tuple[tuple[str, ...], ...] = ()
    """The paths each commit touched, the newest commit first; merges left out."""
    sha: str | None = None
    date: str | None = None
    """The day of the commit in UTC, `YYYY-MM-DD`."""
    dirty: bool = False
    """Tracked files of the work tree differ from the commit."""
    shallow: bool = False
    """The clone holds only the end of the history."""


MOST_COMMITS = 1000
"""How far back the history is looked at."""
_BATCH = 256
"""How many contents are fetched at once: it bounds what is held in memory."""
_REGULAR = ("100644", "100755")

Wanted = Callable[[str, int], bool]
"""Whether the content of a file (path, size) is worth reading."""


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    blob: str
    size: int


def read_repository(
    root: Path, environment: Mapping[str, str], wanted: Wanted
) -> RepositorySnapshot:
    """The tracked files at HEAD that stand in the work tree, with what the history says of them.

    Contents come from the commit, not from the work tree: the same commit gives the same value
    whatever lies around. In a repository without a commit the index stands in for it.
    """
    try:
        return _read(Git(root, environment, LONG_TIMEOUT), root, wanted)
    except GitError as trouble:
        hint = "install git" if trouble.missing else ""
        raise MachineError(trouble.reason, hint=hint) from None


def _read(git: Git, root: Path, wanted: Wanted) -> RepositorySnapshot:
    _refuse_elsewhere(git, root)
    sha = (git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or b"").decode().strip()
    entries = sorted(_entries(git, root, sha), key=lambda entry: entry.path)
    there = [entry for entry in entries if entry.size >= 0]
    texts = dict(_texts(git, [e for e in there if wanted(e.path, e.size)]))
    files = tuple(TrackedFile(entry.path, entry.size, texts.get(entry.path)) for entry in there)
    if not sha:
        return RepositorySnapshot(files)
    stamp = (git.ask("log", "-1", "--format=%ct", "--no-show-signature") or b"0").strip()
    status = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    dirty = bool(git.ask(*status, "--", "."))
    day = datetime.fromtimestamp(int(stamp), UTC).date().isoformat()
    shallow = (git.ask("rev-parse", "--is-shallow-repository") or b"").strip() == b"true"
    return RepositorySnapshot(files, tuple(_commits(git)), sha, day, dirty, shallow)


def _refuse_elsewhere(git: Git, root: Path) -> None:
    try:
        told = git.run("rev-parse", "--is-inside-work-tree")
    except GitError as trouble:
        if trouble.slow or trouble.missing:
            raise
        if trouble.reason != NO_REPOSITORY:
            raise InputError(
                f"{root}: {trouble.reason}",
                hint="git itself refuses this directory; do what it says",
            ) from None
        told = b""
    if told.strip() != b"true":
        raise InputError(
            f"{root} is not in a git repository",
            hint="only tracked files are looked at: git init, git add, then the same command",
        )


def _entries(git: Git, root: Path, sha: str) -> Iterator[_Entry]:
    """Regular files only: no links, no submodules. A size below 0 means: not in the work tree."""
    if sha:
        listed = git.ask("ls-tree", "-r", "-z", "-l", "--end-of-options", sha) or b""
    else:
        listed = git.ask("ls-files", "-s", "-z") or b""
    for row in listed.split(b"\0"):
        facts, tab, raw = row.partition(b"\t")
        words = facts.decode("ascii", "replace").split()
        if not tab or words[0] not in _REGULAR:
            continue
        try:
            path = raw.decode()
        except UnicodeDecodeError:
            continue  # a name that no pack can hold
        # ls-tree: mode type blob size; ls-files: mode blob stage.
        blob, size = (words[2], int(words[3])) if sha else (words[1], 0)
        yield _Entry(path, blob, _size_now(root / path, size))


def _size_now(path: Path, committed: int) -> int:
    try:
        found = path.lstat()
    except OSError:
        return -1
    return max(found.st_size, committed) if stat.S_ISREG(found.st_mode) else -1


def _texts(git: Git, entries: Sequence[_Entry]) -> Iterator[tuple[str, str]]:
    """Path and text of each; what holds a NUL byte is no text and left out."""
    for start in range(0, len(entries), _BATCH):
        batch = entries[start : start + _BATCH]
        names = "".join(f"{entry.blob}\n" for entry in batch).encode()
        told = git.ask("cat-file", "--batch", said=names) or b""
        at = 0
        for entry in batch:
            end = told.find(b"\n", at)
            head = told[at:end].split()
            if end < 0 or len(head) != 3 or head[1] != b"blob":  # noqa: PLR2004
                break
            size = int(head[2])
            content = told[end + 1 : end + 1 + size]
            at = end + size + 2
            if b"\0" not in content:
                text = content.decode("utf-8", "replace")
                yield entry.path, text.replace("\r\n", "\n").removeprefix("\ufeff")


def _commits(git: Git) -> Iterator[tuple[str, ...]]:
    """The paths of each commit, the newest first, without merges."""
    told = git.ask(
        *("log", f"-n{MOST_COMMITS}", "--no-merges", "--no-renames", "--no-show-signature"),
        *("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--relative"),
        *("--name-only", "-z", "--format=format:%x01", "--", "."),
    )
    for commit in (told or b"").split(b"\x01")[1:]:
        names = (name.lstrip(b"\n") for name in commit.split(b"\0"))
        yield tuple(name.decode("utf-8", "replace") for name in names if name)
