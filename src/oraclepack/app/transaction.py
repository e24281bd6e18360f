"""Several files of one command: written one after another and, if wished, all taken back."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oraclepack.adapters import changes, files, relocate
from oraclepack.adapters.jail import refuse_link_out
from oraclepack.adapters.quarantine import FOLDER
from oraclepack.core.carried import Carried
from oraclepack.core.errors import OraclePackError
from oraclepack.core.result import RollbackStatus


@dataclass(frozen=True, slots=True)
class Piece:
    """One file of a command: the name of its step, the place and the content."""

    step: str
    path: Path
    content: bytes
    stays: bool = False
    """Once written, it is not taken back."""


@dataclass(frozen=True, slots=True)
class _Change:
    path: Path
    before: changes.Before | None
    folders: tuple[Path, ...]
    stays: bool


class Transaction:
    """What a command has changed so far, and how to turn it round.

    Nothing is deleted: what a rollback takes away goes to `.oraclepack/_failed/<command>/<n>/`.
    """

    def __init__(self, root: Path, command: str) -> None:
        self._root = root
        self._command = command
        self._changes: list[_Change] = []

    def write(self, path: Path, content: bytes, *, stays: bool = False) -> None:
        """Put a file in place, remembering what stood there."""
        refuse_link_out(self._root, path.parent)
        # Remembered before it happens: a write that fails halfway is taken back as well.
        before, folders = changes.look(path), changes.missing_directories(path)
        self._changes.append(_Change(path, before, folders, stays))
        files.make_directories(path.parent)
        files.sweep(path.parent)  # a command that was killed here may have left half a file
        files.write_atomic(path, content)

    def carry_out(self, pieces: Sequence[Piece], *, rollback_on_failure: bool) -> Carried:
        """Write all pieces; after a failure nothing more is written."""
        for piece in pieces:
            refuse_link_out(self._root, piece.path.parent)
        for number, piece in enumerate(pieces):
            try:
                self.write(piece.path, piece.content, stays=piece.stays)
            except OraclePackError as trouble:
                return self._failed(pieces, number, trouble, undo=rollback_on_failure)
            except BaseException:
                if rollback_on_failure:
                    self.roll_back()
                raise
        return Carried(completed_steps=tuple(piece.step for piece in pieces))

    def roll_back(self) -> Carried:
        """Bring the files back to how the command found them, the last change first.

        One that cannot be taken back does not keep the others from it.
        """
        moved: list[str] = []
        left: list[_Change] = []
        causes: dict[str, None] = {}
        place = self._free_place()
        for change in reversed(self._changes):
            try:
                target = self._undo(change, place)
            except (OraclePackError, OSError) as trouble:
                left.insert(0, change)
                causes[str(trouble)] = None
            else:
                moved += [target] if target is not None else []
        self._changes = left
        if not left:
            return Carried(rollback_status=RollbackStatus.COMPLETED, quarantined=tuple(moved))
        paths = tuple(self._shown(change.path) for change in reversed(left))
        return Carried(
            rollback_status=RollbackStatus.FAILED,
            rollback_error=f"{'; '.join(causes)}; not taken back: {', '.join(paths)}",
            not_taken_back=paths,
            quarantined=tuple(moved),
        )

    def _failed(
        self, pieces: Sequence[Piece], number: int, trouble: OraclePackError, *, undo: bool
    ) -> Carried:
        end = self.roll_back() if undo else Carried()
        left = {change.path for change in self._changes}
        written = pieces[:number]
        gone = [piece for piece in written if undo and not piece.stays and piece.path not in left]
        first = next((piece for piece in written if piece in gone), pieces[number])
        return Carried(
            completed_steps=tuple(piece.step for piece in written),
            failed_step=pieces[number].step,
            skipped_steps=tuple(piece.step for piece in pieces[number + 1 :]),
            resume_from=first.step,
            error=trouble.message,
            retryable=trouble.retryable,
            suggestion=trouble.hint,
            rollback_status=end.rollback_status,
            rollback_error=end.rollback_error,
            rolled_back_steps=tuple(piece.step for piece in gone),
            not_taken_back=end.not_taken_back,
            quarantined=end.quarantined,
        )

    def _shown(self, path: Path) -> str:
        inside = path.is_relative_to(self._root)
        return path.relative_to(self._root).as_posix() if inside else str(path)

    def _undo(self, change: _Change, place: Path) -> str | None:
        """Set aside what stands there now, then restore; tells where it was set aside."""
        if change.stays:
            changes.remove_empty(change.folders)  # those of a file that could not be written
            return None
        now = changes.look(change.path)
        moved: str | None = None
        unchanged = _same(now, change.before)
        if now is not None and not unchanged:
            target = place / self._inside(change.path)
            files.make_directories(target.parent)
            relocate.move(change.path, target)
            moved = target.relative_to(self._root).as_posix()
        if change.before is not None and not unchanged:
            changes.put_back(change.path, change.before)
        changes.remove_empty(change.folders)
        return moved

    def _inside(self, path: Path) -> Path:
        """Where a file goes in quarantine: the path tells where it came from."""
        if path.is_relative_to(self._root):
            return path.relative_to(self._root)
        return Path("outside", *path.absolute().parts[1:])

    def _free_place(self) -> Path:
        folder = self._root / ".oraclepack" / FOLDER / self._command
        number = 1
        while (folder / str(number)).exists():
            number += 1
        return folder / str(number)


def _same(now: changes.Before | None, before: changes.Before | None) -> bool:
    """The old file still stands there; that it was read since then does not count."""
    if now is None or before is None:
        return False
    facts = (now.content, now.mode, now.modified_ns)
    return facts == (before.content, before.mode, before.modified_ns)
