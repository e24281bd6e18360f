"""A run that a command has locked, and how files of the project are put back from what it keeps."""

import os
from pathlib import Path

from oraclepack.errors import InputError, MachineError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal.blobs import read_backup
from oraclepack.journal.journal_file import JournalFile
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.run.quarantine import move_to_quarantine
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import jail, judge_entry, plain_file


class LockedRun:
    """A run that this command has locked: its journal, and where its files and the project lie."""

    def __init__(self, root: Path, run: RunDir, record: JournalFile, failed: Path) -> None:
        self.root = root
        """The project; while the steps of a rehearsal run, its copy."""
        self.dir = run
        self.record = record
        self.failed = failed
        """The quarantine."""

    @property
    def state(self) -> RunState:
        return self.record.state

    def warn(self, message: str, code: str | None = None, step: str | None = None) -> None:
        """Record something a reader should know."""
        self.record.append(j.WarningRecorded(message=message, code=code, step=step))

    def write(self, path: str, data: bytes, mode: int | None) -> None:
        """Write an output where the pack wants it."""
        verdict = jail(self.root, path)
        if isinstance(verdict, Refusal):
            raise InputError(
                f"{path} cannot be put back: {verdict.reason}",
                hint="move away what is there, and run the command again",
            )
        files.make_directories(verdict.path.parent)
        files.write_atomic(verdict.path, data, mode=mode)

    def put_back_removed(self, before: j.OutputBackedUp) -> None:
        """Put back what was at a path before a step, unless something is there."""
        place = self.root / before.path
        try:
            if before.link is not None and not os.path.lexists(place):
                file_moves.make_link(before.link, place)
        except OSError as trouble:
            raise files.cannot("put back", place, trouble) from trouble
        verdict, kept = jail(self.root, before.path), read_backup(self.dir.path, before)
        if not isinstance(verdict, Refusal) and not verdict.path.exists() and kept is not None:
            files.make_directories(verdict.path.parent)
            file_moves.put_back(verdict.path, kept)

    def take_back(
        self, step: str, attempt: int, path: str, before: j.OutputBackedUp | None
    ) -> str | None:
        """Make a path what it was before a step; where the present file went, if it had to go.

        Nothing moves unless every path leads through the project and the copy we need is whole.
        """
        kept = read_backup(self.dir.path, before) if before is not None else None
        self._refuse(path, before, kept)
        link = before.link if before is not None else None

        def put_away(path: str) -> str | None:
            moves = move_to_quarantine(
                self.root, self.failed, self.dir.run_id, step, attempt, [path]
            )
            return moves[0].target if moves else None

        moved = None
        if file_moves.link_at(self.root / path) != link:
            moved = put_away(path)
            if link is not None:
                file_moves.make_link(link, self.root / path)
        verdict = jail(self.root, path)
        if isinstance(verdict, Refusal):
            raise MachineError(f"{path} cannot be taken back: {verdict.reason}")
        place = verdict.path
        now = files.read(place) if place.is_file() else None
        if now is not None and (before is None or sha256_bytes(now) != before.sha256):
            moved = put_away(path if link is None else verdict.relative) or moved
        if kept is not None and not kept.is_like(file_moves.read_previous(place)):
            files.make_directories(place.parent)
            file_moves.put_back(place, kept)
        return moved

    def _refuse(
        self, path: str, before: j.OutputBackedUp | None, kept: file_moves.PreviousFile | None
    ) -> None:
        refused = judge_entry(self.root, path)
        if refused is None and before is not None and before.link is not None:
            # A link is put back only where it led to a place that a step may write to.
            leads_to = jail(self.root, os.path.join(os.path.dirname(path), before.link))  # as text
            if isinstance(leads_to, Refusal):
                refused = Refusal(f"it was a link to {before.link}, and {leads_to.reason}")
        if refused is not None:
            raise MachineError(f"{path} cannot be taken back: {refused.reason}")
        if before is not None and kept is None and not self._stands(path, before):
            is_gone = plain_file(self.dir.path, before.backup) is None
            what = "gone" if is_gone else "no longer what was kept"
            raise MachineError(f"{path} cannot be taken back: its copy {before.backup} is {what}")

    def _stands(self, path: str, before: j.OutputBackedUp) -> bool:
        """The previous file is in its place, even if the link that led to it is not."""
        place = self.root / path
        if before.link is not None:
            place = place.parent / before.link
        elif place.is_symlink():
            return False
        now = files.read(place) if place.is_file() else None
        return now is not None and sha256_bytes(now) == before.sha256
