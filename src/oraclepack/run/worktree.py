"""The whole work tree as one git tree, so that the changes of a step can be shown and undone.

The trees are built with an index and an object store of our own: neither the user's index nor
the repository's objects are touched. Files stand in them as they lie on disk, whatever filters
(Git LFS, for example) there are for them. Ignored files, our own ones, and repositories within the
repository are no part of them.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from oraclepack.system import git
from oraclepack.system.files import make_private

_EXCLUDED = (
    # A pattern from its first sign on: git refuses to add anything where a plain path, although
    # it is one to leave out, is among those that .gitignore names.
    ":(exclude,top,glob)[.]oraclepack",
    ":(exclude,glob)**/.oraclepack/**",
    ":(exclude,glob)**/.oraclepack-*.tmp",
)
_DIFF = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv")
"""Unlike `git diff` it does not care how the user likes to see patches."""
_GITLINK = "160000 "
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class WorktreeError(Exception):
    """Git would not; the reason is its message."""


class Worktree(msgspec.Struct, frozen=True):
    """A work tree, and a folder of ours for what git needs to describe it."""

    top: Path
    folder: Path
    environment: Mapping[str, str]
    below: str = "."
    """Where the project root lies, seen from the top."""
    own: tuple[str, ...] = ()
    """Files that oraclepack writes while a step runs, relative to the top: no part of the tree."""

    @classmethod
    def around(
        cls,
        root: Path,
        folder: Path,
        environment: Mapping[str, str],
        own: Sequence[str] = (),
    ) -> "Worktree | None":
        """The work tree a project lies in; None outside of git. `own` is relative to the root."""
        top = git.top_level(root, environment)
        if top is None:
            return None
        below = os.path.relpath(root.resolve(), top.resolve())
        bare = cls(top, folder, environment, below)
        return msgspec.structs.replace(bare, own=tuple(map(bare.from_top, own)))

    def from_top(self, path: str) -> str:
        """A path that is relative to the project root, as git names it."""
        return os.path.normpath(f"{self.below}/{path}")

    def snapshot(self) -> str:
        """The tree as it is now: tracked and untracked files, whatever is staged."""
        make_private(self.folder / "objects")
        index = self.folder / "index"
        index.unlink(missing_ok=True)
        place = self.top / _path(self._git("rev-parse", "--git-path", "index"))
        if place.is_file():
            shutil.copyfile(place, index)  # git then hashes only what has changed
            self._unfilter()
        excluded = (f":(exclude,top,glob){_first_too(path)}" for path in self.own)
        others = (f":(exclude,top,literal){path}" for path in self.repositories())
        # By stdin, since there may be many.
        listed = (".", *_EXCLUDED, *excluded, *others)
        pathspecs = "\0".join(listed).encode("utf-8", "surrogateescape")
        self._git("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=pathspecs)
        return self._git("write-tree").decode().strip()

    def _unfilter(self) -> None:
        """Let our index forget when files with a filter changed last: they are added anew.

        The user's index holds them as their filter made them, and no filter runs here: the
        content itself would be in no tree, and an undo could not bring it back.
        """
        with _git_error():
            configured = {*self._program.filters()}
        if not configured:
            return
        entries = self._git("ls-files", "-z", "--stage").split(b"\0")
        paths = {entry.partition(b"\t")[2]: entry for entry in entries if entry}
        listed = b"".join(path + b"\0" for path in paths)
        facts = self._git("check-attr", "-z", "--stdin", "filter", stdin=listed).split(b"\0")
        rows = zip(facts[0::3], facts[2::3], strict=False)
        filtered = [paths[path] for path, name in rows if os.fsdecode(name) in configured]
        if filtered:
            listed = b"".join(entry + b"\0" for entry in filtered)
            self._git("update-index", "-z", "--index-info", stdin=listed)

    def repositories(self) -> tuple[str, ...]:
        """Repositories within this one, submodules too: their files are not ours to describe."""
        listed = self._git("ls-files", "-z", "--stage", "--others", "--exclude-standard")
        entries = listed.decode("utf-8", "surrogateescape").split("\0")
        linked = (one.partition("\t")[2] for one in entries if one.startswith(_GITLINK))
        nested = (one.rstrip("/") for one in entries if one.endswith("/"))
        return tuple(sorted({*linked, *nested}))

    def status(self) -> dict[str, tuple[str, int, int]]:
        """What differs from HEAD or is new, cheaply: by name, size and time, nothing is read."""
        listed = self._git(
            *("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"),
            "--ignore-submodules=all",
        )
        entries: dict[str, tuple[str, int, int]] = {}
        for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
            if entry:
                path = entry[3:]
                entries[path] = (entry[:2], *_stamp(self.top / path))
        return entries

    def difference(self, before: str, after: str) -> bytes:
        """What leads from one tree to the other, as a patch that git can apply and reverse."""
        return self._git(*_DIFF, "-p", "--binary", "--full-index", *_trees(before, after))

    def touched(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ, relative to the top of the work tree."""
        listed = self._git(*_DIFF, "--name-only", "-z", *_trees(before, after))
        names = listed.decode("utf-8", "surrogateescape").split("\0")
        return tuple(sorted(name for name in names if name))

    def holds(self, patch: Path, without: Sequence[str] = ()) -> bool:
        """The changes of a patch are in the tree, unchanged; some files may be left out."""
        try:
            self._reverse(patch, without, "--check")
        except WorktreeError:
            return False
        return True

    def named_in(self, patch: Path, without: Sequence[str] = ()) -> tuple[str, ...]:
        """The files that a patch changes, relative to the top of the work tree."""
        listed = self._reverse(patch, without, "--numstat", "-z").split(b"\0")
        return tuple(os.fsdecode(line.split(b"\t", 2)[2]) for line in listed if line)

    def take_back(self, patch: Path, without: Sequence[str], copies: Path) -> None:
        """Apply a patch in reverse to copies of its files, with the settings of this work tree."""
        words = _reversing(patch, without)
        home = _path(self._git("rev-parse", "--absolute-git-dir"))
        place = git.Git(copies, self.environment, git.LONG_TIMEOUT)
        with _git_error():
            place.run(*words, GIT_DIR=home, GIT_WORK_TREE=str(copies))

    def _reverse(self, patch: Path, without: Sequence[str], *how: str) -> bytes:
        return self._git(*_reversing(patch, without), *how)

    def forget(self) -> None:
        """Remove what describing the tree left in our folder."""
        shutil.rmtree(self.folder / "objects", ignore_errors=True)
        (self.folder / "index").unlink(missing_ok=True)

    @property
    def _program(self) -> git.Git:
        # The objects are needed only during the step: compressing them would take longer.
        config = (("core.looseCompression", "0"),)
        return git.Git(self.top, self.environment, git.LONG_TIMEOUT, config)

    def _git(self, *words: str, stdin: bytes = b"") -> bytes:
        with _git_error():
            own = self._own_store() if (self.folder / "objects").is_dir() else {}
            return self._program.run(*words, stdin=stdin, **own)

    def _own_store(self) -> dict[str, str]:
        objects = self.top / _path(self._program.run("rev-parse", "--git-path", "objects"))
        return {
            "GIT_INDEX_FILE": str(self.folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(self.folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }


@contextmanager
def _git_error() -> Iterator[None]:
    try:
        yield
    except git.GitError as trouble:
        raise WorktreeError(trouble.reason) from None


def _trees(*ids: str) -> tuple[str, ...]:
    """Trees as arguments. They come from a journal: what is no object id might be an option."""
    for one in ids:
        if not _OBJECT.fullmatch(one):
            raise WorktreeError(f"{one!r} is no object id")
    return ("--end-of-options", *ids)


def _reversing(patch: Path, without: Sequence[str]) -> list[str]:
    left_out = [f"--exclude={_literal(path)}" for path in without]
    return ["apply", "--reverse", "--whitespace=nowarn", *left_out, str(patch.resolve())]


def _path(output: bytes) -> str:
    return os.fsdecode(output.removesuffix(b"\n"))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.lstat()
    except OSError:
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)


def _literal(path: str) -> str:
    """A pattern that means nothing but this path."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path.replace("\\", "\\\\"))


def _first_too(path: str) -> str:
    """The same, and a pattern from its first sign on."""
    rest = _literal(path)
    return rest if rest.startswith(("[", "\\")) else f"\\{rest}"
