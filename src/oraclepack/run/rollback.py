"""What a rollback takes back: the files a command made or replaced, the newest first.

One entry per path, whatever happened to it in between: what stood there before the
command counts. Carrying an entry out twice does no harm, so a rollback that was
interrupted is finished from the same list. The next command does that before its own
`SessionStarted`, which begins a new list, and without a second `RollbackStarted`. One that
failed goes on with the other files; the same command, given again, begins it once more
(a second `RollbackStarted` of the same session) and takes back what was left.
"""

from collections.abc import Container, Iterable
from posixpath import normpath

import msgspec

from oraclepack.core.legacy import all_file_names
from oraclepack.journal import events as j
from oraclepack.journal.run_state import FileEvent, RunState, path_of
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.system.path_jail import CACHE, REHEARSALS, RUNS
from oraclepack.system.text_limits import regex

_PRD = regex(r"(?:^|.*[-_.])prd\.(?:md|txt)")


class Undo(msgspec.Struct, frozen=True):
    """One path to bring back to how the command found it.

    What stands there now goes into quarantine, unless it is the older file itself.
    """

    step: str
    """The last step that wrote it."""
    attempt: int
    path: str
    """Relative to the project root."""
    restore_from: str | None = None
    """The older file, relative to the run directory; None when there was none."""
    sha256: str | None = None
    """The older file's. If the path holds it already, only its mode and times come back."""
    link: str | None = None
    """What the symbolic link said that stood at the path; the older file is what it led to."""


class Kept(msgspec.Struct, frozen=True):
    """A path that stays as the command left it, and why."""

    step: str
    path: str
    reason: str


class UndoList(msgspec.Struct, frozen=True):
    """What is left to take back, and what is not taken back at all."""

    undos: tuple[Undo, ...]
    kept: tuple[Kept, ...]
    steps: tuple[str, ...]
    """The steps that are pending again afterwards."""


def is_unfinished(state: RunState) -> bool:
    """A rollback was begun and never came to its end."""
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
    gone = {event.path for event in state.rollback.undone} if state.rollback else set()
    held: set[str] = set()
    touched: set[str] = set()
    for event in state.session_files:
        path = path_of(event)
        if path in gone:
            touched.add(event.step)
        elif path is not None and path in left:
            held.add(event.step)
    return tuple(one for one in listed.steps if one in touched or one not in held)


def undo_list(state: RunState, *, failed: Iterable[str] = (), also: Iterable[str] = ()) -> UndoList:
    """What the last command did to files, turned round.

    `failed` are its steps that failed; `also` are paths to leave alone besides those
    that are always protected.
    """
    first = _by_path(state.session_files)
    last = _by_path(reversed(state.session_files))
    pack_path = state.created.pack_path if state.created else ""
    undos: list[Undo] = []
    kept: list[Kept] = []
    for path, event in last.items():
        reason = protected(path, pack_path, also) or _lost(first[path])
        if reason is None:
            undos.append(_undo(path, event, first[path]))
        else:
            kept.append(Kept(event.step, path, reason))
    begun = state.rollback if is_unfinished(state) or has_failed(state) else None
    undone = {event.path for event in begun.undone} if begun else set()
    left = tuple(undo for undo in undos if undo.path not in undone)
    paths = {undo.path for undo in undos}
    touched = {event.step for event in state.session_files if path_of(event) in paths}
    return UndoList(left, tuple(kept), begun.steps if begun else tuple(sorted({*failed, *touched})))


def protected(path: str, pack_path: str, also: Iterable[str] = ()) -> str | None:
    """Why a rollback never touches a path, or None."""
    from oraclepack.tools.tool_names import TM_COMPLEXITY  # noqa: PLC0415 - not for every run

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
        return "it tells the state of the run"
    return "it is to be left alone" if place in map(normpath, also) else None


def _by_path(
    events: Iterable[FileEvent],
) -> dict[str, FileEvent]:
    """The first event about each path, in their order."""
    found: dict[str, FileEvent] = {}
    for event in events:
        path = path_of(event)
        if path is not None:
            found.setdefault(path, event)
    return found


def _lost(event: FileEvent) -> str | None:
    if isinstance(event, j.SetAside) or event.created or event.backup is not None:
        return None
    return "no copy of the file it replaced was kept"


def _undo(path: str, last: FileEvent, first: FileEvent) -> Undo:
    who = (last.step, last.attempt, path)
    if isinstance(first, j.SetAside):
        return Undo(*who, first.backup, first.sha256, first.link)
    if first.created:
        return Undo(*who)
    return Undo(*who, first.backup, first.replaced_sha256)
