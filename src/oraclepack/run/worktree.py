"""The whole work tree as one git tree, so that the changes of a step can be shown and undone.

The trees are built with an index and an object store of our own: neither the user's index nor
the repository's objects are touched. The trees hold files as they are on disk, without the filters
that git would apply (Git LFS, for example). They leave out ignored files, oraclepack's own files,
and repositories inside the repository.
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
    # Begins with a pattern character: `git add` fails if a plain path, even an excluded one, is
    # ignored by .gitignore.
    ":(exclude,top,glob)[.]oraclepack",
    ":(exclude,glob)**/.oraclepack/**",
    ":(exclude,glob)**/.oraclepack-*.tmp",
)
_DIFF = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv")
"""Unlike `git diff`, `diff-tree` ignores the user's diff settings."""
_GITLINK = "160000 "
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


FileStates = dict[str, tuple[str, int, int]]
"""Files that differ from HEAD: git's state, the size and the time of each."""


class WorktreeError(Exception):
    """A git command failed; the message is the reason that git gives."""


class Worktree(msgspec.Struct, frozen=True):
    """A work tree, and a folder for the index and objects that describe it."""

    top: Path
    folder: Path
    environment: Mapping[str, str]
    below: str = "."
    """The project root, relative to the top."""
    own: tuple[str, ...] = ()
    """Files that oraclepack writes while a step runs, relative to the top. Left out."""

    @classmethod
    def around(
        cls,
        root: Path,
        folder: Path,
        environment: Mapping[str, str],
        own: Sequence[str] = (),
    ) -> "Worktree | None":
        """The work tree of a project; None outside of git. `own` is relative to `root`."""
        top = git.top_level(root, environment)
        if top is None:
            return None
        below = os.path.relpath(root.resolve(), top.resolve())
        bare = cls(top, folder, environment, below)
        return msgspec.structs.replace(bare, own=tuple(map(bare.from_top, own)))

    def from_top(self, path: str) -> str:
        """A path relative to the project root, made relative to the top."""
        return os.path.normpath(f"{self.below}/{path}")

    def snapshot(self) -> str:
        """Write the current tracked and untracked files as a tree, staged or not; its object id."""
        make_private(self.folder / "objects")
        index = self.folder / "index"
        index.unlink(missing_ok=True)
        place = self.top / _printed_path(self._git("rev-parse", "--git-path", "index"))
        if place.is_file():
            shutil.copyfile(place, index)  # git then hashes only changed files
            self._unfilter()
        excluded = (f":(exclude,top,glob){_literal_glob(path)}" for path in self.own)
        others = (f":(exclude,top,literal){path}" for path in self.repositories())
        # On stdin, since there may be too many for a command line.
        listed = (".", *_EXCLUDED, *excluded, *others)
        pathspecs = "\0".join(listed).encode("utf-8", "surrogateescape")
        self._git("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=pathspecs)
        return self._git("write-tree").decode().strip()

    def _unfilter(self) -> None:
        """Reset the entries of files with a filter in our index, so that git adds them again.

        The user's index has their filtered content. Without this the tree would hold that instead
        of the content on disk, and an undo could not restore the file.
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
        """Repositories inside this one, with submodules; snapshots leave their files out."""
        listed = self._git("ls-files", "-z", "--stage", "--others", "--exclude-standard")
        entries = listed.decode("utf-8", "surrogateescape").split("\0")
        linked = (one.partition("\t")[2] for one in entries if one.startswith(_GITLINK))
        nested = (one.rstrip("/") for one in entries if one.endswith("/"))
        return tuple(sorted({*linked, *nested}))

    def status(self) -> FileStates:
        """Files that differ from HEAD, with git's state, size and time. Reads no content."""
        listed = self._git(
            *("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"),
            "--ignore-submodules=all",
        )
        entries: FileStates = {}
        for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
            if entry:
                path = entry[3:]
                entries[path] = (entry[:2], *_stamp(self.top / path))
        return entries

    def difference(self, before: str, after: str) -> bytes:
        """The difference of two trees, as a patch that git can apply and reverse."""
        return self._git(*_DIFF, "-p", "--binary", "--full-index", *_trees(before, after))

    def changed_paths(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ, relative to the top of the work tree."""
        listed = self._git(*_DIFF, "--name-only", "-z", *_trees(before, after))
        names = listed.decode("utf-8", "surrogateescape").split("\0")
        return tuple(sorted(name for name in names if name))

    def contains_changes(self, patch: Path, without: Sequence[str] = ()) -> bool:
        """Whether the work tree still has the changes of a patch, except in the files `without`."""
        try:
            self._reverse(patch, without, "--check")
        except WorktreeError:
            return False
        return True

    def paths_in(self, patch: Path, without: Sequence[str] = ()) -> tuple[str, ...]:
        """The files that a patch changes, except `without`, relative to the top."""
        listed = self._reverse(patch, without, "--numstat", "-z").split(b"\0")
        return tuple(os.fsdecode(line.split(b"\t", 2)[2]) for line in listed if line)

    def reverse_on_copies(self, patch: Path, without: Sequence[str], copies: Path) -> None:
        """Apply a patch in reverse to copies of its files, with the settings of this work tree."""
        words = _reverse_arguments(patch, without)
        git_dir = _printed_path(self._git("rev-parse", "--absolute-git-dir"))
        place = git.Git(copies, self.environment, git.LONG_TIMEOUT)
        with _git_error():
            place.run(*words, GIT_DIR=git_dir, GIT_WORK_TREE=str(copies))

    def _reverse(self, patch: Path, without: Sequence[str], *how: str) -> bytes:
        return self._git(*_reverse_arguments(patch, without), *how)

    def remove_objects(self) -> None:
        """Remove the index and the objects that `snapshot` wrote into the folder."""
        shutil.rmtree(self.folder / "objects", ignore_errors=True)
        (self.folder / "index").unlink(missing_ok=True)

    @property
    def _program(self) -> git.Git:
        # The objects are needed only during the step, so compressing them is not worth the time.
        config = (("core.looseCompression", "0"),)
        return git.Git(self.top, self.environment, git.LONG_TIMEOUT, config)

    def _git(self, *words: str, stdin: bytes = b"") -> bytes:
        with _git_error():
            own = self._own_store() if (self.folder / "objects").is_dir() else {}
            return self._program.run(*words, stdin=stdin, **own)

    def _own_store(self) -> dict[str, str]:
        objects = self.top / _printed_path(self._program.run("rev-parse", "--git-path", "objects"))
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
    """Trees as arguments. Their ids come from a journal, so one could be an option of git."""
    for one in ids:
        if not _OBJECT.fullmatch(one):
            raise WorktreeError(f"{one!r} is not an object id")
    return ("--end-of-options", *ids)


def _reverse_arguments(patch: Path, without: Sequence[str]) -> list[str]:
    left_out = [f"--exclude={_literal(path)}" for path in without]
    return ["apply", "--reverse", "--whitespace=nowarn", *left_out, str(patch.resolve())]


def _printed_path(output: bytes) -> str:
    return os.fsdecode(output.removesuffix(b"\n"))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.lstat()
    except OSError:
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)


def _literal(path: str) -> str:
    """A pattern that matches only this path."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path.replace("\\", "\\\\"))


def _literal_glob(path: str) -> str:
    """`_literal` that begins with a pattern character, as `_EXCLUDED` explains."""
    rest = _literal(path)
    return rest if rest.startswith(("[", "\\")) else f"\\{rest}"
