"""Several files of one command: written one after another and, if wished, all taken back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oraclepack.errors import MachineError, OraclePackError
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.quarantine import FOLDER
from oraclepack.system import file_moves, files, trust_key
from oraclepack.system.digests import (
    canonical_file,
    canonical_line,
    keyed_digest,
    same_digest,
    sha256_bytes,
)
from oraclepack.system.ownership import came_with_repository, linked
from oraclepack.system.path_jail import judge_entry, plain_file, refuse_link_out


class TransactionReport(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command that writes several files under names of its own for each."""

    completed_steps: tuple[str, ...] = ()
    """The steps that this command completed, in their order, also those that a rollback took back.

    The same in all commands that can roll back: what is left of them is what `rolled_back_steps`
    does not name. What earlier commands did is never among them.
    """
    failed_step: str | None = None
    skipped_steps: tuple[str, ...] = ()
    """What was still to be done when one failed."""
    resume_from: str | None = None
    """Where the same command begins: the first step whose file is not in place."""
    error: str | None = None
    retryable: bool = False
    """What failed may succeed later without any change: a full disk, a file in use."""
    suggestion: str = ""
    rollback_status: RollbackStatus = RollbackStatus.NOT_ATTEMPTED
    rollback_error: str | None = None
    rolled_back_steps: tuple[str, ...] = ()
    """Those of the completed steps of which a rollback took back files."""
    not_rolled_back: tuple[str, ...] = ()
    """The files that a failed rollback left as they were."""
    finished_rollback: bool = False
    """Before it began, the command finished the rollback that an earlier one could not."""
    quarantined: tuple[str, ...] = ()
    """Where the files went that a rollback took away, relative to the project root."""

    @property
    def standing(self) -> tuple[str, ...]:
        """The completed steps whose files are in place."""
        return tuple(one for one in self.completed_steps if one not in self.rolled_back_steps)

    @property
    def ok(self) -> bool:
        return self.failed_step is None


@dataclass(frozen=True, slots=True)
class FileWrite:
    """One file of a command: the name of its step, the place and the content."""

    step: str
    path: Path
    content: bytes
    stays: bool = False
    """Once written, it is not taken back."""


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the command wrote, or was about to write."""

    path: str
    """Relative to the project root; absolute outside of it."""
    written: str
    """The SHA-256 of what the command wrote: another file there is left alone."""
    before: str | None = None
    """The copy of the earlier file, relative to the place; None when there was none."""


class _Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """`_unfinished.json`: what a failed rollback left, for the same command to finish."""

    files: tuple[_Change, ...]
    version: int = 1
    mac: str = ""
    """The signature, with the user's key: what others wrote is left alone."""


_UNFINISHED = "_unfinished.json"
_ABANDONED = "_abandoned.json"
_BEFORE = "_before"


class Transaction:
    """What a command has changed so far, and how to reverse it.

    Nothing is deleted: what a rollback takes away goes to `.oraclepack/_failed/<command>/<n>/`.
    With `undo`, the earlier files are kept there in `_before/` until the command has ended well or
    everything was taken back; a rollback that fails is finished by the same command, given again.
    """

    def __init__(self, root: Path, command: str, *, undo: bool = False) -> None:
        self._root = root
        self._command = command
        self._undo_wished = undo
        self._changes: list[_Change] = []
        self._previous: dict[str, file_moves.PreviousFile] = {}
        """The earlier files, by the paths of the changes."""
        self._folders: list[Path] = []
        """Directories that were not there before."""
        self._place: Path | None = None
        self._finished = self._finish_earlier()

    def write(self, path: Path, content: bytes, *, stays: bool = False) -> None:
        """Put a file in place, remembering what was there."""
        refuse_link_out(self._root, path.parent)
        before = file_moves.read_previous(path)
        self._folders += file_moves.missing_directories(path)
        # Remembered before it happens: a write that fails halfway is taken back as well.
        if self._undo_wished and not stays:
            copy, name = None, self._display_path(path)
            if before is not None:
                copy, self._previous[name] = self._keep(path), before
            self._changes.append(_Change(path=name, written=sha256_bytes(content), before=copy))
        files.make_directories(path.parent)
        files.sweep(path.parent)  # a command that was killed here may have left half a file
        files.write_atomic(path, content)

    def carry_out(self, pieces: Sequence[FileWrite]) -> TransactionReport:
        """Write all pieces; after a failure nothing more is written."""
        for piece in pieces:
            refuse_link_out(self._root, piece.path.parent)
        for number, piece in enumerate(pieces):
            try:
                self.write(piece.path, piece.content, stays=piece.stays)
            except OraclePackError as trouble:
                return self._failed(pieces, number, trouble, undo=self._undo_wished)
            except BaseException:
                if self._undo_wished:
                    self.roll_back()
                raise
        self._forget_copies()
        return TransactionReport(
            completed_steps=tuple(piece.step for piece in pieces),
            finished_rollback=self._finished,
        )

    def roll_back(self) -> TransactionReport:
        """Restore the files to their state before the command, the last change first."""
        place = self._place or self._free_place()
        moved, left, causes = self._take_back(self._changes[::-1], place)
        file_moves.remove_empty(self._folders)
        self._changes = left[::-1]
        if not left:
            self._forget_copies()
            return TransactionReport(
                rollback_status=RollbackStatus.COMPLETED, quarantined=tuple(moved)
            )
        paths = tuple(change.path for change in left)
        later = self._record_left(place)
        return TransactionReport(
            rollback_status=RollbackStatus.FAILED,
            rollback_error=f"{causes}; not rolled back: {', '.join(paths)}{later}",
            not_rolled_back=paths,
            quarantined=tuple(moved),
        )

    def _take_back(
        self, changes: Iterable[_Change], place: Path
    ) -> tuple[list[str], list[_Change], str]:
        """Make files what they were: where the present ones went, what is left, and why.

        A file that was changed since is left alone; killed at any point, this can be done again.
        """
        moved: list[str] = []
        left: list[_Change] = []
        causes: dict[str, None] = {}
        for change in changes:
            path = self._root / change.path
            try:
                now = file_moves.read_previous(path)
                if now is not None and sha256_bytes(now.content) == change.written:
                    target = place / self._inside(path)
                    files.make_directories(target.parent)
                    file_moves.move(path, target)
                    moved.append(target.relative_to(self._root).as_posix())
                    now = None
                if now is None:
                    self._put_back(change, path, place)
            except (OraclePackError, OSError) as trouble:
                left.append(change)
                causes[str(trouble)] = None
        return moved, left, "; ".join(causes)

    def _put_back(self, change: _Change, path: Path, place: Path) -> None:
        """From memory, which the command that wrote the file has, or from the copy on disk."""
        before = self._previous.get(change.path)
        copy = plain_file(place, change.before) if change.before is not None else None
        if before is not None:
            files.make_directories(path.parent)
            file_moves.put_back(path, before)
        elif copy is not None:
            files.make_directories(path.parent)
            file_moves.copy(copy, path)

    def _failed(
        self, pieces: Sequence[FileWrite], number: int, trouble: OraclePackError, *, undo: bool
    ) -> TransactionReport:
        end = self.roll_back() if undo else TransactionReport()
        left = {self._root / change.path for change in self._changes}
        written = pieces[:number]
        undone = [piece for piece in written if undo and not piece.stays and piece.path not in left]
        first = next((piece for piece in written if piece in undone), pieces[number])
        return TransactionReport(
            completed_steps=tuple(piece.step for piece in written),
            failed_step=pieces[number].step,
            skipped_steps=tuple(piece.step for piece in pieces[number + 1 :]),
            resume_from=first.step,
            error=trouble.message,
            retryable=trouble.retryable,
            suggestion=trouble.hint,
            rollback_status=end.rollback_status,
            rollback_error=end.rollback_error,
            rolled_back_steps=tuple(piece.step for piece in undone),
            not_rolled_back=end.not_rolled_back,
            quarantined=end.quarantined,
            finished_rollback=self._finished,
        )

    def _keep(self, path: Path) -> str:
        """A copy of the earlier file, so that it is on disk whatever happens to this process."""
        if self._place is None:
            self._place = self._free_place()
        name = f"{_BEFORE}/{len(self._changes) + 1}-{path.name}"
        files.make_private(self._place / _BEFORE)
        try:
            file_moves.copy(path, self._place / name)
        except OSError as trouble:
            raise files.cannot("keep a copy of", path, trouble) from trouble
        return name

    def _forget_copies(self) -> None:
        """Remove the copies: the command has ended well, or the earlier files stand again."""
        if self._place is not None:
            _remove_copies(self._place)

    def _record_left(self, place: Path) -> str:
        """Write down what is left, for the next time; what to add to the error if that fails."""
        inside = tuple(one for one in self._changes if not Path(one.path).is_absolute())
        try:
            files.make_private(place)
            content = canonical_file(_signed(_Unfinished(files=inside), self._display_path(place)))
            files.write_atomic(place / _UNFINISHED, content, mode=files.PRIVATE_FILE)
        except OraclePackError:
            is_kept = False
        else:
            is_kept = len(inside) == len(self._changes)
        if is_kept or self._place is None:
            return ""
        return f"; the earlier files are kept in {self._display_path(place / _BEFORE)}"

    def _finish_earlier(self) -> bool:
        """Take back what the rollback of an earlier command left; whether there was anything.

        Only for a command that could be rolled back itself: without that wish the user goes on
        with the files as they are, and only the copies stay. Raises when something is still left.
        """
        folder = self._root / ".oraclepack" / FOLDER / self._command
        done = False
        for record in sorted(folder.glob(f"*/{_UNFINISHED}")):
            if not self._is_signed(record):
                continue
            if not self._undo_wished:
                file_moves.rename(record, record.with_name(_ABANDONED))
                continue
            self._finish(record)
            done = True
            files.forget(record)
            _remove_copies(record.parent)
        return done

    def _is_signed(self, record: Path) -> bool:
        """Signed with the user's key, not tracked by git, and not behind a link."""
        relative = self._display_path(record)
        if linked(self._root, relative) or came_with_repository(self._root, relative):
            return False
        record_data, key = _read(record), trust_key.find_key()
        if record_data is None or key is None:
            return False
        return same_digest(
            record_data.mac, _mac(record_data, self._display_path(record.parent), key)
        )

    def _finish(self, record: Path) -> None:
        unfinished = _read(record)
        changes = unfinished.files if unfinished is not None else ()
        own = [one for one in changes if judge_entry(self._root, one.path) is None]
        _, left, causes = self._take_back(own, record.parent)
        if left:
            raise MachineError(
                f"the rollback of the last {self._command} cannot be finished; nothing was written",
                hint="fix the cause and run the same command again, or give it without "
                "--rollback-on-failure to go on with the files as they are",
                detail=f"{causes}; not rolled back: {', '.join(one.path for one in left)}",
            )

    def _display_path(self, path: Path) -> str:
        inside = path.is_relative_to(self._root)
        return path.relative_to(self._root).as_posix() if inside else str(path)

    def _inside(self, path: Path) -> Path:
        """The place of a file in quarantine; the path shows where it came from."""
        if path.is_relative_to(self._root):
            return path.relative_to(self._root)
        return Path("outside", *path.absolute().parts[1:])

    def _free_place(self) -> Path:
        folder = self._root / ".oraclepack" / FOLDER / self._command
        number = 1
        while (folder / str(number)).exists():
            number += 1
        return folder / str(number)


def _read(record: Path) -> _Unfinished | None:
    try:
        return msgspec.json.decode(files.read(record) or b"", type=_Unfinished)
    except (msgspec.MsgspecError, UnicodeDecodeError, OraclePackError):
        return None


def _signed(unfinished: _Unfinished, place: str) -> _Unfinished:
    mac = _mac(unfinished, place, trust_key.make_key())
    return msgspec.structs.replace(unfinished, mac=mac)


def _mac(unfinished: _Unfinished, place: str, key: bytes) -> str:
    content = canonical_line(msgspec.structs.replace(unfinished, mac=""))
    return keyed_digest(key, "rollback", place.encode(), content)


def _remove_copies(place: Path) -> None:
    """Remove the copies of earlier files, and what is then empty."""
    folder = place / _BEFORE
    for path in sorted(folder.glob("*")):
        files.forget(path)
    file_moves.remove_empty([folder, place, place.parent, place.parent.parent])
