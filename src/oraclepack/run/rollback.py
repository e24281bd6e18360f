"""Rollback: restoring files to their state before the command."""

import re
from collections.abc import Container, Iterable
from posixpath import normpath

import msgspec

from oraclepack.calls.answers import is_of_another_run, publishing
from oraclepack.errors import MachineError, OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal.run_state import FileEvent, RunState, path_of
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.files import LockedRun
from oraclepack.system import files
from oraclepack.system.path_jail import CACHE, REHEARSALS, RUNS, content_at, place_of
from oraclepack.tools.tool_names import TM_COMPLEXITY
from oraclepack.view.legacy_files import all_file_names

_PRD = re.compile(r"(?:^|.*[-_.])prd\.(?:md|txt)")
_STEP = re.compile(r"\d\d")


class UndoAction(msgspec.Struct, frozen=True):
    """A path to make again what it was before the command."""

    step: str
    """The last step that wrote it."""
    attempt: int
    path: str
    """Relative to the project root."""
    before: j.OutputBackedUp | None = None
    """The previous file; None when there was none."""


class UndoList(msgspec.Struct, frozen=True):
    """What is left to take back, and what is not taken back at all."""

    undos: tuple[UndoAction, ...]
    unrestored: tuple[j.WarningRecorded, ...]
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


def undo_list(state: RunState, *, failed: Iterable[str] = ()) -> UndoList:
    """How to reverse what the last command did to files; `failed` are its steps that failed."""
    first = _first_by_path(state.session_files)
    last: dict[str, FileEvent] = {}
    for event in reversed(state.session_files):
        if (path := path_of(event)) is not None:
            last.setdefault(path, event)
    pack_path = state.created.pack_path if state.created else ""
    undos: list[UndoAction] = []
    unrestored: list[j.WarningRecorded] = []
    for path, event in last.items():
        reason = protected(path, pack_path) or _unrestored(first[path])
        if reason is None:
            undos.append(UndoAction(event.step, event.attempt, path, _before(first[path])))
        else:
            message = f"{path} stays: {reason}"
            unrestored.append(j.WarningRecorded(step=event.step, message=message))
    begun = state.rollback if is_unfinished(state) or has_failed(state) else None
    undone = {event.path for event in begun.undone} if begun else set()
    left = tuple(undo for undo in undos if undo.path not in undone)
    paths = {undo.path for undo in undos}
    touched = {event.step for event in state.session_files if path_of(event) in paths}
    return UndoList(
        left, tuple(unrestored), begun.steps if begun else tuple(sorted({*failed, *touched}))
    )


def protected(path: str, pack_path: str) -> str | None:
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
    return None


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


def _before(first: FileEvent) -> j.OutputBackedUp | None:
    """The file that was there before the first event about its path."""
    if isinstance(first, j.OutputBackedUp):
        return first
    if first.created or first.backup is None:
        return None
    return j.OutputBackedUp(  # in a record of 0.1 that has no event of its own
        step=first.step,
        attempt=first.attempt,
        path=first.declared_path or "",
        backup=first.backup,
        sha256=first.replaced_sha256 or "",
        bytes=0,
    )


def roll_back(run: LockedRun, failed: tuple[str, ...] = ()) -> RollbackStatus:
    """Take back what the last command made or replaced; finishes one that was cut off or failed.

    Each file is undone, then written down. When a file cannot be restored, the others still are:
    what was restored and what was not is recorded at the end.
    """
    state, record = run.state, run.record
    again = has_failed(state)
    listed = undo_list(state, failed=failed)
    if again or not is_unfinished(state):
        record.append(j.RollbackStarted(steps=listed.steps))
    for warning in () if again else listed.unrestored:
        record.append(warning)
    left: dict[str, str] = {}
    for undo in listed.undos:
        try:
            undone = _undone(run, undo)
        except (OraclePackError, OSError) as trouble:
            left[undo.path] = str(trouble)
        else:
            message = f"{undo.path} stays: another run wrote it since"
            record.append(undone or j.WarningRecorded(step=undo.step, message=message))
    record.append(j.RolledBack(steps=steps_taken_back(run.state, listed, left)))
    if not left:
        record.append(j.RollbackFinished(status=RollbackStatus.COMPLETED))
        return RollbackStatus.COMPLETED
    causes = "; ".join(dict.fromkeys(left.values()))
    error = f"{causes}; not rolled back: {', '.join(left)}"
    record.append(j.RollbackFinished(status=RollbackStatus.FAILED, error=error, left=tuple(left)))
    return RollbackStatus.FAILED


def finish_rollback(run: LockedRun, *, retry: bool) -> bool:
    """Finish a rollback that was cut off, and with `retry` one that failed; whether there was one.

    Raises when a second try leaves something too: the command would otherwise run over it.
    """
    is_finished = run.state.is_open and is_unfinished(run.state)
    if is_finished:
        status = roll_back(run)
        message = f"the rollback of an earlier command was interrupted; now {status}"
        run.warn(message, "rollback")
    if not retry or not has_failed(run.state):
        return is_finished
    if roll_back(run) is RollbackStatus.FAILED:
        last = run.state.rollback
        raise MachineError(
            "the rollback of the last command cannot be finished; nothing was run",
            hint="fix the cause and run the same command again, or give it without "
            "--rollback-on-failure: the files stay, and only what was taken back runs again",
            detail=(last.error if last else None) or "",
        )
    run.warn("the rollback of the last command had failed; now it is completed", "rollback")
    return True


def _undone(run: LockedRun, undo: UndoAction) -> j.FileUndone | None:
    """Take back one file; None where it is the work of another run by now."""
    if not _STEP.fullmatch(undo.step):
        raise MachineError(f"{undo.path} cannot be taken back: {undo.step!r} is no step")
    with publishing(run.root):
        now = content_at(run.root, undo.path).data
        if is_of_another_run(run.root, run.dir.run_id, place_of(run.root, undo.path), now):
            return None
        try:
            moved = run.take_back(undo.step, undo.attempt, undo.path, undo.before)
        except OSError as trouble:
            raise files.cannot("take back", undo.path, trouble) from trouble
    backup = undo.before.backup if undo.before is not None else None
    return j.FileUndone(step=undo.step, path=undo.path, quarantined_as=moved, restored_from=backup)
