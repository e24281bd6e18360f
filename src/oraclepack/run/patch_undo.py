"""Undo of a patch that can be killed at any moment: nothing has changed, or `undo` continues it.

Git removes all files of a patch before it writes the first one. A kill in between would lose work
that exists nowhere else. So git works on copies in the run directory. When the copies are complete
their folder is renamed to its final name, and then each file is moved into place separately.

If that folder exists and the journal still lists the change, the undo was begun and not finished.
If the journal says that the change was undone, the folder is left over and can be removed.

No file is read or written behind a link, which may point anywhere; git does the same.

The folder is signed: the file `seal` holds a MAC with the user's key over all its content. Without
a valid one no file is put in place. Files of git itself are never written.
"""

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from oraclepack.run.worktree import Worktree, WorktreeError
from oraclepack.system import disk, file_moves, files
from oraclepack.system.digests import keyed_digest, same_digest, sha256_bytes
from oraclepack.system.ownership import ForeignError
from oraclepack.system.path_jail import guarded_place, plain_file
from oraclepack.system.trust_key import find_key, make_key

_ENDING = ".undo"
_SEAL = "seal"
_SIDES = ("before", "after")
_ATTRIBUTES = ".gitattributes"
"""These files decide how git writes other files, so they are copied too."""

_FileState = tuple[str, bytes]
"""A file as git sees it: its kind and its content."""


class PatchUndo(msgspec.Struct, frozen=True):
    """The undo of one patch in a work tree."""

    tree: Worktree
    patch: Path

    @property
    def place(self) -> Path:
        """The folder with the copies of the files before and after the undo."""
        return _place(self.patch)

    def begin(self, without: Sequence[str] = ()) -> None:
        """Have git reverse the patch on copies, except for the files `without`."""
        self.forget()
        # With the pid in its name: git of a killed command may still write to its own folder.
        work = self.place.with_name(f"{self.place.name}-{os.getpid()}")
        before, after = work / "before", work / "after"
        files.make_private(before, after)
        named = self.tree.paths_in(self.patch, without)
        for path in sorted({*named, *_attributes(named)}):
            self._copy(path, before, after)
        self.tree.reverse_on_copies(self.patch, without, after)
        try:
            _write_seal(work, self.patch)
            _sync(work)
            disk.rename(work, self.place)
            disk.sync_directory(self.place.parent)
        except OSError as trouble:
            raise files.cannot("keep", self.place, trouble) from trouble

    def finish(self) -> tuple[str, ...]:
        """Write the files that are not yet in place; returns all files of the patch."""
        self.refuse_foreign()
        paths = self._paths()
        try:
            # Removals first: a file may have to replace a directory.
            for path in paths:
                if self._after(path) is None:
                    self._remove(path)
            for path in paths:
                if self._real(path) != self._after(path):
                    self._write(path)
        except OSError as trouble:
            raise files.cannot("put back", trouble.filename or self.tree.top, trouble) from trouble
        return paths

    def changed_since(self) -> tuple[str, ...]:
        """The files that match neither the state before nor after: they were edited."""
        self.refuse_foreign()
        paths = self._paths()
        return tuple(path for path in paths if self._was_edited(path, paths))

    def refuse_foreign(self) -> None:
        """Check before the first write that the copies are signed and none is a file of git."""
        key = find_key()
        sealed = plain_file(self.place, _SEAL)
        seal = (files.read(sealed) or b"").decode("ascii", "replace") if sealed else ""
        if key is None or not same_digest(seal, _seal(self.place, self.patch, key)):
            raise ForeignError(
                f"{self.place} was not prepared by your oraclepack; nothing was changed",
                hint="look at the files in it; remove the folder, and undo again",
            )
        for path in self._paths():
            if guarded_place(path) is not None:
                raise ForeignError(f"{path} is never written to; nothing was changed")

    def forget(self) -> None:
        """Remove the copies, also those of commands that were killed before they were complete."""
        for folder in self.patch.parent.glob(f"{self.patch.name}{_ENDING}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _paths(self) -> tuple[str, ...]:
        """The files that the undo changes, relative to the top of the work tree."""
        both = {*_below(self.place / "before"), *_below(self.place / "after")}
        return tuple(sorted(path for path in both if self._before(path) != self._after(path)))

    def _before(self, path: str) -> _FileState | None:
        return _file_state(self.place / "before", path)

    def _after(self, path: str) -> _FileState | None:
        return _file_state(self.place / "after", path)

    def _real(self, path: str) -> _FileState | None:
        return _file_state(self.tree.top, path)

    def _was_edited(self, path: str, paths: Collection[str]) -> bool:
        # A link that belongs to the patch is compared separately.
        link = _link_above(self.tree.top, path)
        if link is not None and link not in paths:
            return True
        return self._real(path) not in (self._before(path), self._after(path))

    def _copy(self, path: str, *folders: Path) -> None:
        source, current = self.tree.top / path, self._real(path)
        if current is None:
            return
        if current[0] == "other":
            raise WorktreeError(f"{path} cannot be read")
        for folder in folders:
            _refuse_behind_a_link(folder, path)
            files.make_private((folder / path).parent)
            try:
                _write(folder / path, current, stat.S_IMODE(source.lstat().st_mode))
            except OSError as trouble:
                raise files.cannot("copy", source, trouble) from trouble

    def _remove(self, path: str) -> None:
        if _link_above(self.tree.top, path) is not None:
            return
        place = self.tree.top / path
        if self._real(path) is not None:
            disk.remove(place)
        file_moves.remove_empty(self.tree.top / folder for folder in _folders(path))
        disk.sync_directory(next(folder for folder in place.parents if folder.is_dir()))

    def _write(self, path: str) -> None:
        target, place = self._after(path), self.tree.top / path
        assert target is not None
        _refuse_behind_a_link(self.tree.top, path)
        files.make_directories(place.parent)
        files.sweep(place.parent)  # remove temporary files of a killed command
        kind, held = target
        if kind == "link":
            file_moves.replace_by_link(os.fsdecode(held), place)
            return
        now = self._real(path)
        # Git records only the executable bit, so the other bits of the mode are not changed.
        like = place if now is not None and now[0] == kind else self.place / "after" / path
        files.write_atomic(place, held, mode=stat.S_IMODE(like.lstat().st_mode))


def is_begun(patch: Path) -> bool:
    """Whether an undo was begun: some files may be in place, others not."""
    return _place(patch).is_dir()


def seal(patch: Path) -> None:
    """Sign the copies of an undo that was begun, when the user trusts its run."""
    if _place(patch).is_symlink() or not _place(patch).is_dir():
        return
    _write_seal(_place(patch), patch)


def _write_seal(folder: Path, patch: Path) -> None:
    content = _seal(folder, patch, make_key()).encode()
    files.write_atomic(folder / _SEAL, content, mode=files.PRIVATE_FILE)


def _seal(folder: Path, patch: Path, key: bytes) -> str:
    """A MAC over every file before and after the undo, for this patch of this run."""
    listed = [
        (side, path, *_described(folder / side, path))
        for side in _SIDES
        for path in sorted(_below(folder / side))
    ]
    place = "/".join(patch.parts[-4:])
    return keyed_digest(key, "undo", os.fsencode(place), ascii(listed).encode())


def _described(top: Path, path: str) -> tuple[str, int, str]:
    kind, held = _file_state(top, path) or ("none", b"")
    return kind, stat.S_IMODE((top / path).lstat().st_mode), sha256_bytes(held)


def remove_left_over(run: Path, listed: Collection[str]) -> None:
    """Remove copies that no undo needs: incomplete ones, and those of changes not in `listed`.

    The caller must hold the run's lock.
    """
    for folder in run.glob(f"steps/*/*{_ENDING}*"):
        patch, _, unfinished = folder.relative_to(run).as_posix().rpartition(_ENDING)
        if folder.parent.is_symlink():
            continue  # behind a link, so not in this run
        if unfinished or patch not in listed:
            shutil.rmtree(folder, ignore_errors=True)


def _place(patch: Path) -> Path:
    return patch.with_name(patch.name + _ENDING)


def _folders(path: str) -> list[str]:
    """The parent directories of a file, the outermost first."""
    return [str(folder) for folder in PurePosixPath(path).parents][-2::-1]


def _link_above(top: Path, path: str) -> str | None:
    """The outermost link among the directories of a path."""
    return next((folder for folder in _folders(path) if (top / folder).is_symlink()), None)


def _refuse_behind_a_link(top: Path, path: str) -> None:
    link = _link_above(top, path)
    if link is not None:
        raise files.cannot(
            "write behind", top / link, OSError(errno.ELOOP, "it has become a symbolic link")
        )


def _file_state(top: Path, name: str) -> _FileState | None:
    """Kind and content of a file; None if there is no file, or a directory."""
    if _link_above(top, name) is not None:
        return None
    path = top / name
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return None
    if stat.S_ISLNK(status.st_mode):
        return "link", os.fsencode(path.readlink())
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.R_OK):
        return "other", b""
    return "program" if status.st_mode & stat.S_IXUSR else "file", path.read_bytes()


def _write(path: Path, state: _FileState, mode: int) -> None:
    """Write a copy without a temporary file: one left by an error would count as a copy too."""
    kind, held = state
    if kind == "link":
        disk.symlink(os.fsdecode(held), path)
        return
    descriptor = disk.create(path, files.PRIVATE_FILE)
    try:
        disk.set_mode(descriptor, mode, path)
        disk.write(descriptor, held, path)
    finally:
        os.close(descriptor)


def _attributes(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        for folder in PurePosixPath(path).parents:
            yield str(folder / _ATTRIBUTES)


def _below(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix()


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            disk.sync_directory(path)
        elif not path.is_symlink():
            disk.sync_file(path)
    disk.sync_directory(folder)
