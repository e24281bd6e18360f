"""A repository as its commit tells it, by a few bounded calls of the `git` program."""

import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from oraclepack.core.errors import InputError, WorldError
from oraclepack.core.repository import Repository, Tracked

MOST_COMMITS = 1000
"""How far back the history is looked at."""
_BATCH = 256
"""How many contents are fetched at once: it bounds what is held in memory."""
_TIMEOUT = 120.0
_REGULAR = ("100644", "100755")

Wanted = Callable[[str, int], bool]
"""Whether the content of a file (path, size) is worth reading."""


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    blob: str
    size: int


def read_repository(root: Path, environment: Mapping[str, str], wanted: Wanted) -> Repository:
    """The tracked files at HEAD that stand in the work tree, with what the history says of them.

    Contents come from the commit, not from the work tree: the same commit gives the same value
    whatever lies around. In a repository without a commit the index stands in for it.
    """
    git = _Git(root, environment)
    _refuse_elsewhere(git, root)
    sha = (git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or b"").decode().strip()
    entries = sorted(_entries(git, root, sha), key=lambda entry: entry.path)
    there = [entry for entry in entries if entry.size >= 0]
    texts = dict(_texts(git, [e for e in there if wanted(e.path, e.size)]))
    files = tuple(Tracked(entry.path, entry.size, texts.get(entry.path)) for entry in there)
    if not sha:
        return Repository(files)
    stamp = (git.ask("log", "-1", "--format=%ct", "--no-show-signature") or b"0").strip()
    dirty = bool(git.ask("status", "--porcelain", "--untracked-files=no", "--", "."))
    day = datetime.fromtimestamp(int(stamp), UTC).date().isoformat()
    shallow = (git.ask("rev-parse", "--is-shallow-repository") or b"").strip() == b"true"
    return Repository(files, tuple(_commits(git)), sha, day, dirty, shallow)


@dataclass(frozen=True, slots=True)
class _Git:
    root: Path
    environment: Mapping[str, str]

    def ask(self, *command: str, given: bytes = b"") -> bytes | None:
        """What git prints, or None when it refuses."""
        ran = self.run(*command, given=given)
        return ran.stdout if ran.returncode == 0 else None

    def run(self, *command: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        # Neither a monitor nor replaced objects: looking must not run anything, and every clone
        # of a commit must look the same.
        argv = ["git", "--no-replace-objects", "-c", "core.fsmonitor=false", *command]
        try:
            return subprocess.run(
                argv,
                cwd=self.root,
                env=self._clean(),
                input=given,
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except FileNotFoundError:
            raise WorldError("git is not installed", hint="install git") from None
        except subprocess.TimeoutExpired:
            raise WorldError(f"git did not answer within {_TIMEOUT:g} s") from None

    def _clean(self) -> dict[str, str]:
        kept = {k: v for k, v in self.environment.items() if not k.startswith("GIT_")}
        return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _refuse_elsewhere(git: _Git, root: Path) -> None:
    ran = git.run("rev-parse", "--is-inside-work-tree")
    if ran.returncode == 0 and ran.stdout.strip() == b"true":
        return
    said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
    elsewhere = not said or "not a git repository" in said[0]
    raise InputError(
        f"{root} is not in a git repository" if elsewhere else f"{root}: {said[0]}",
        hint="only tracked files are looked at: git init, git add, then the same command"
        if elsewhere
        else "git itself refuses this directory; do what it says",
    )


def _entries(git: _Git, root: Path, sha: str) -> Iterator[_Entry]:
    """Regular files only: no links, no submodules. A size below 0 means: not in the work tree."""
    if sha:
        listed = git.ask("ls-tree", "-r", "-z", "-l", sha) or b""
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


def _texts(git: _Git, entries: Sequence[_Entry]) -> Iterator[tuple[str, str]]:
    """Path and text of each; what holds a NUL byte is no text and left out."""
    for start in range(0, len(entries), _BATCH):
        batch = entries[start : start + _BATCH]
        names = "".join(f"{entry.blob}\n" for entry in batch).encode()
        told = git.ask("cat-file", "--batch", given=names) or b""
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


def _commits(git: _Git) -> Iterator[tuple[str, ...]]:
    """The paths of each commit, the newest first, without merges."""
    told = git.ask(
        *("log", f"-n{MOST_COMMITS}", "--no-merges", "--no-renames", "--no-show-signature"),
        *("--no-ext-diff", "--relative", "--name-only", "-z", "--format=format:%x01", "--", "."),
    )
    for commit in (told or b"").split(b"\x01")[1:]:
        names = (name.lstrip(b"\n") for name in commit.split(b"\0"))
        yield tuple(name.decode("utf-8", "replace") for name in names if name)
