"""The whole work tree as one git tree, so that what a step changed can be told and taken back.

The trees are built with an index and an object store of our own: neither the user's index nor
the repository's objects are touched. Ignored files and `.oraclepack/` are no part of them.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from oraclepack.adapters import git
from oraclepack.adapters.files import make_private

_EXCLUDED = (":(exclude,top).oraclepack", ":(exclude,glob)**/.oraclepack/**")
TIMEOUT = 120.0


class WorktreeError(Exception):
    """Git would not; the reason is its message."""


class Worktree(msgspec.Struct, frozen=True):
    """A work tree, and a folder of ours for what git needs to describe it."""

    top: Path
    folder: Path
    environment: Mapping[str, str]

    @classmethod
    def around(cls, root: Path, folder: Path, environment: Mapping[str, str]) -> "Worktree | None":
        """The work tree a project lies in; None outside of git."""
        top = git.top_level(root, environment)
        return None if top is None else cls(top, folder, environment)

    def snapshot(self) -> str:
        """The tree as it is now: tracked and untracked files, whatever is staged."""
        make_private(self.folder / "objects")
        index = self.folder / "index"
        index.unlink(missing_ok=True)
        own = self._git("rev-parse", "--git-path", "index").decode().strip()
        place = self.top / own
        if place.is_file():
            shutil.copyfile(place, index)  # git then hashes only what has changed
        self._git("add", "--all", "--", ".", *_EXCLUDED)
        return self._git("write-tree").decode().strip()

    def status(self) -> dict[str, tuple[str, int, int]]:
        """What differs from HEAD or is new, cheaply: by name, size and time, nothing is read."""
        listed = self._git(
            "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"
        )
        found: dict[str, tuple[str, int, int]] = {}
        for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
            if entry:
                path = entry[3:]
                found[path] = (entry[:2], *_stamp(self.top / path))
        return found

    def difference(self, before: str, after: str) -> bytes:
        """What leads from one tree to the other, as a patch that git can apply and reverse."""
        return self._git(
            "diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", before, after
        )

    def touched(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ, relative to the top of the work tree."""
        listed = self._git("diff", "--name-only", "-z", "--no-ext-diff", before, after)
        names = listed.decode("utf-8", "surrogateescape").split("\0")
        return tuple(sorted(name for name in names if name))

    def holds(self, patch: Path) -> bool:
        """The changes of a patch are in the tree, unchanged."""
        try:
            self._git("apply", "--reverse", "--check", str(patch.resolve()))
        except WorktreeError:
            return False
        return True

    def take_back(self, patch: Path) -> None:
        """Apply a patch in reverse: all of it or nothing."""
        self._git("apply", "--reverse", "--whitespace=nowarn", str(patch.resolve()))

    def forget(self) -> None:
        """Remove what describing the tree left in our folder."""
        shutil.rmtree(self.folder / "objects", ignore_errors=True)
        (self.folder / "index").unlink(missing_ok=True)

    def _git(self, *words: str) -> bytes:
        env = git.clean_environment(self.environment)
        if (self.folder / "objects").is_dir():
            env |= self._own_store(env)
        return _run(["git", *words], self.top, env)

    def _own_store(self, env: Mapping[str, str]) -> dict[str, str]:
        objects = _run(["git", "rev-parse", "--git-path", "objects"], self.top, env)
        theirs = self.top / objects.decode().strip()
        return {
            "GIT_INDEX_FILE": str(self.folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(self.folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(theirs),
        }


def _stamp(path: Path) -> tuple[int, int]:
    try:
        told = path.lstat()
    except OSError:
        return (-1, -1)
    return (told.st_size, told.st_mtime_ns)


def _run(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> bytes:
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as trouble:
        raise WorktreeError(str(trouble)) from None
    if done.returncode != 0:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise WorktreeError(told[0] if told else "git failed without a word")
    return done.stdout
