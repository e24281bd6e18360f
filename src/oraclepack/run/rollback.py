"""Rollback: restoring files to their state before the command."""

import os
import re
from collections.abc import Container, Iterable
from pathlib import Path
from posixpath import normpath

import msgspec
from msgspec.structs import replace

from oraclepack.calls.publication import is_of_another_run, publishing
from oraclepack.errors import MachineError, OraclePackError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal.blobs import read_backup
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import FileEvent, RunState, path_of
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.quarantine import move_to_quarantine
from oraclepack.run.recorder import Recorder
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.file_moves import PreviousFile
from oraclepack.system.path_jail import (
    CACHE,
    REHEARSALS,
    RUNS,
    content_at,
    jail,
    judge_entry,
    place_of,
    plain_file,
)
from oraclepack.tools.tool_names import TM_COMPLEXITY
from oraclepack.view.legacy_files import all_file_names

_PRD = re.compile(r"(?:^|.*[-_.])prd\.(?:md|txt)")


class UndoAction(msgspec.Struct, frozen=True):
    """One path to restore to its state before the command.

    What is there now goes into quarantine, unless it is the previous file itself.
    """

    step: str
    """The last step that wrote it."""
    attempt: int
    path: str
    """Relative to the project root."""
    restore_from: str | None = None
    """The previous file, relative to the run directory; None when there was none."""
    sha256: str | None = None
    """Of the previous file. If the path has that content already, only mode and times are
    restored."""
    mode: int | None = None
    modified_ns: int | None = None
    link: str | None = None
    """The target of the symbolic link that was at the path; the previous file is what it led to."""
    written: str | None = None
    """Hash of what the command wrote there last, as far as it is recorded."""
    at: str = ""
    """When that was recorded."""


class UnrestoredPath(msgspec.Struct, frozen=True):
    """A path that stays as the command left it, and why."""

    step: str
    path: str
    reason: str


class UndoList(msgspec.Struct, frozen=True):
    """What is left to take back, and what is not taken back at all."""

    undos: tuple[UndoAction, ...]
    unrestored: tuple[UnrestoredPath, ...]
    steps: tuple[str, ...]
    """The steps that are pending again afterwards."""


def is_unfinished(state: RunState) -> bool:
    """A rollback was begun and not finished."""
    return state.rollback is not None and state.rollback.status is RollbackStatus.STARTED


def has_failed(state: RunState) -> bool:
    """The rollback of the last command left files that it could not take back."""
    last = state.rollback
    return (
        last is not None
        and last.status is RollbackStatus.FAILED
        and last.session == len(state.sessions)
    )


def steps_taken_back(state: RunState, listed: UndoList, left: Container[str]) -> tuple[str, ...]:
    """The steps that are pending again after a rollback that could not take back the files `left`.

    A step is what it was only while every file that it made or replaced still stands.
    """
    undone = {event.path for event in state.rollback.undone} if state.rollback else set()
    held: set[str] = set()
    touched: set[str] = set()
    for event in state.session_files:
        path = path_of(event)
        if path in undone:
            touched.add(event.step)
        elif path is not None and path in left:
            held.add(event.step)
    return tuple(one for one in listed.steps if one in touched or one not in held)


def undo_list(state: RunState, *, failed: Iterable[str] = (), also: Iterable[str] = ()) -> UndoList:
    """How to reverse what the last command did to files.

    `failed` are its steps that failed; `also` are paths to leave alone besides those
    that are always protected.
    """
    first = _first_by_path(state.session_files)
    last = _by_path(reversed(state.session_files))
    pack_path = state.created.pack_path if state.created else ""
    undos: list[UndoAction] = []
    unrestored: list[UnrestoredPath] = []
    for path, event in last.items():
        reason = protected(path, pack_path, also) or _unrestored(first[path])
        if reason is None:
            undos.append(_undo(path, event, first[path]))
        else:
            unrestored.append(UnrestoredPath(event.step, path, reason))
    begun = state.rollback if is_unfinished(state) or has_failed(state) else None
    undone = {event.path for event in begun.undone} if begun else set()
    left = tuple(undo for undo in undos if undo.path not in undone)
    paths = {undo.path for undo in undos}
    touched = {event.step for event in state.session_files if path_of(event) in paths}
    return UndoList(
        left, tuple(unrestored), begun.steps if begun else tuple(sorted({*failed, *touched}))
    )


def protected(path: str, pack_path: str, also: Iterable[str] = ()) -> str | None:
    """Why a rollback never touches a path, or None."""
    # Case is folded since some file systems do.
    place = normpath(path)
    names = place.casefold().split("/")
    if ".taskmaster" in names:
        return "it belongs to Task Master"
    if names[-1] == TM_COMPLEXITY:
        return "it is a result of Task Master"
    if _PRD.fullmatch(names[-1]):
        return "it is the PRD"
    if "/".join(names[:2]) in {RUNS, CACHE, REHEARSALS}:
        return f"it lies in {'/'.join(names[:2])}"
    if pack_path and place in all_file_names(pack_path):
        return "it records the state of the run"
    return "it is to be left alone" if place in map(normpath, also) else None


def _by_path(
    events: Iterable[FileEvent],
) -> dict[str, FileEvent]:
    """The first event about each path, in their order."""
    by_path: dict[str, FileEvent] = {}
    for event in events:
        path = path_of(event)
        if path is not None:
            by_path.setdefault(path, event)
    return by_path


def _first_by_path(events: Iterable[FileEvent]) -> dict[str, FileEvent]:
    """The first event about each path; of copies that one attempt made, the last.

    A second copy is made when another run wrote to the file after the step had begun.
    """
    first: dict[str, FileEvent] = {}
    for event in events:
        path = path_of(event)
        if path is not None:
            before = first.setdefault(path, event)
            copies = isinstance(event, j.OutputBackedUp) and isinstance(before, j.OutputBackedUp)
            if copies and (before.step, before.attempt) == (event.step, event.attempt):
                first[path] = event
    return first


def _unrestored(event: FileEvent) -> str | None:
    if isinstance(event, j.OutputBackedUp) or event.created or event.backup is not None:
        return None
    return "no copy of the file it replaced was kept"


def _undo(path: str, last: FileEvent, first: FileEvent) -> UndoAction:
    undo = UndoAction(last.step, last.attempt, path, at=last.at)
    if isinstance(last, j.OutputRecorded):
        undo = replace(undo, written=last.sha256)
    if isinstance(first, j.OutputBackedUp):
        return replace(
            undo,
            restore_from=first.backup,
            sha256=first.sha256,
            mode=first.mode,
            modified_ns=first.modified_ns,
            link=first.link,
        )
    if first.created:
        return undo
    return replace(undo, restore_from=first.backup, sha256=first.replaced_sha256)


_STEP = re.compile(r"\d\d")


def roll_back(
    root: Path, run: RunDir, record: Recorder, folder: Path, failed: tuple[str, ...] = ()
) -> RollbackStatus:
    """Take back what the last command made or replaced; finishes one that was cut off or failed.

    Each file is undone, then written down. When a file cannot be restored, the others still are:
    what was restored and what was not is recorded at the end.
    """
    state = record.state
    again = has_failed(state)
    listed = undo_list(state, failed=failed)
    if again or not is_unfinished(state):
        record.append(j.RollbackStarted(steps=listed.steps))
    for path in () if again else listed.unrestored:
        record.append(
            j.WarningRecorded(step=path.step, message=f"{path.path} stays: {path.reason}")
        )
    left: dict[str, str] = {}
    for undo in listed.undos:
        try:
            undone = _undone(root, run, folder, undo)
        except (OraclePackError, OSError) as trouble:
            left[undo.path] = str(trouble)
        else:
            message = f"{undo.path} stays: another run wrote it since"
            record.append(undone or j.WarningRecorded(step=undo.step, message=message))
    record.append(j.RolledBack(steps=steps_taken_back(record.state, listed, left)))
    if not left:
        record.append(j.RollbackFinished(status=RollbackStatus.COMPLETED))
        return RollbackStatus.COMPLETED
    causes = "; ".join(dict.fromkeys(left.values()))
    error = f"{causes}; not rolled back: {', '.join(left)}"
    record.append(j.RollbackFinished(status=RollbackStatus.FAILED, error=error, left=tuple(left)))
    return RollbackStatus.FAILED


def finish_rollback(root: Path, run: RunDir, record: Recorder, folder: Path) -> bool:
    """Take back what the rollback of the last command left; whether there was anything.

    Raises when something is still left: the command would otherwise run over it.
    """
    if not has_failed(record.state):
        return False
    if roll_back(root, run, record, folder) is RollbackStatus.FAILED:
        last = record.state.rollback
        raise MachineError(
            "the rollback of the last command cannot be finished; nothing was run",
            hint="fix the cause and run the same command again, or give it without "
            "--rollback-on-failure: the files stay, and only what was taken back runs again",
            detail=(last.error if last else None) or "",
        )
    message = "the rollback of the last command had failed; now it is completed"
    record.append(j.WarningRecorded(code="rollback", message=message))
    return True


def _undone(root: Path, run: RunDir, folder: Path, undo: UndoAction) -> j.FileUndone | None:
    """Take back one file; None where it is the work of another run by now."""
    with publishing(root):
        now = content_at(root, undo.path).data
        if is_of_another_run(root, run.run_id, place_of(root, undo.path), now):
            return None
        try:
            moved = _bring_back(root, run, folder, undo)
        except OSError as trouble:
            raise files.cannot("take back", undo.path, trouble) from trouble
    return j.FileUndone(
        step=undo.step, path=undo.path, quarantined_as=moved, restored_from=undo.restore_from
    )


def _bring_back(root: Path, run: RunDir, folder: Path, undo: UndoAction) -> str | None:
    """Restore a path; returns where the current file was moved, if there was one."""

    def put_away(path: str) -> str | None:
        moves = move_to_quarantine(root, folder, run.run_id, undo.step, undo.attempt, [path])
        return moves[0].target if moves else None

    backup = _backup(run, undo)
    _check(root, run, undo, is_whole=backup is not None)
    moved = None
    if file_moves.link_at(root / undo.path) != undo.link:
        moved = put_away(undo.path)
        if undo.link is not None:
            file_moves.make_link(undo.link, root / undo.path)
    verdict = jail(root, undo.path)
    if isinstance(verdict, Refusal):
        raise MachineError(f"{undo.path} cannot be taken back: {verdict.reason}")
    place = verdict.path
    now = files.read(place) if place.is_file() else None
    if now is not None and (undo.restore_from is None or sha256_bytes(now) != undo.sha256):
        moved = put_away(undo.path if undo.link is None else verdict.relative) or moved
    if backup is not None and not backup.is_like(file_moves.read_previous(place)):
        files.make_directories(place.parent)
        file_moves.put_back(place, backup)
    return moved


def _check(root: Path, run: RunDir, undo: UndoAction, *, is_whole: bool) -> None:
    """Before anything moves: every path leads through the project, a copy we need is whole."""
    refused = judge_entry(root, undo.path)
    if refused is None and undo.link is not None:
        refused = _judge_link(root, undo)
    if refused is not None:
        raise MachineError(f"{undo.path} cannot be taken back: {refused.reason}")
    if not _STEP.fullmatch(undo.step):
        raise MachineError(f"{undo.path} cannot be taken back: {undo.step!r} is no step")
    if undo.restore_from is None or is_whole or _stands(root, undo):
        return
    what = "gone" if plain_file(run.path, undo.restore_from) is None else "no longer what was kept"
    raise MachineError(f"{undo.path} cannot be taken back: its copy {undo.restore_from} is {what}")


def _judge_link(root: Path, undo: UndoAction) -> Refusal | None:
    """A link is put back only where it led to a place that a step may write to."""
    leads_to = os.path.join(os.path.dirname(undo.path), undo.link or "")  # as text
    verdict = jail(root, leads_to)
    if isinstance(verdict, Refusal):
        return Refusal(f"it was a link to {undo.link}, and {verdict.reason}", subject=undo.path)
    return None


def _backup(run: RunDir, undo: UndoAction) -> PreviousFile | None:
    """The previous file, if the run has it whole."""
    source = undo.restore_from or ""
    return read_backup(run.path, source, undo.sha256, undo.mode, undo.modified_ns)


def _stands(root: Path, undo: UndoAction) -> bool:
    """The previous file is in its place, even if the link that led to it is not."""
    path = root / undo.path
    if undo.link is not None:
        path = path.parent / undo.link
    elif path.is_symlink():
        return False
    now = files.read(path) if path.is_file() else None
    return now is not None and sha256_bytes(now) == undo.sha256
