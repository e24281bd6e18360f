"""Edits of `backlog.md` as a person makes them: a tick, or a note between the marked lines."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, NotFoundError
from oraclepack.system import files, locks
from oraclepack.system.backlog_notes import END, NOTES, begin, read_person_notes
from oraclepack.system.environment import project_of
from oraclepack.work.actionize import Writer, actionize_run, earlier_backlog, locked
from oraclepack.work.load_answers import FOLDER, refuse_foreign
from oraclepack.work.records import BACKLOG
from oraclepack.work.work_pages import read_ticks

_ANY_BYTES = "surrogateescape"
_BOX = re.compile(r"(?P<before>\s*- \[)[ xX](?P<after>\] `(?P<id>[^`]+)` )")


class BacklogNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What a person added to a backlog."""

    path: str
    ticked: tuple[str, ...] = ()
    notes: dict[str, str] = {}
    """By the id of the task or issue; `notes` for the backlog as a whole."""


def read_notes(run_dir: Path) -> BacklogNotes | None:
    """The ticks and notes of a run's backlog; None where no backlog was written."""
    text = earlier_backlog(run_dir / FOLDER)
    if not text:
        return None
    path = run_dir / FOLDER / BACKLOG
    return BacklogNotes(
        path=path.as_posix(),
        ticked=tuple(sorted(read_ticks(text))),
        notes=read_person_notes(text, BACKLOG),
    )


def write_backlog(run_dir: Path) -> BacklogNotes:
    """Write the backlog of a run, with the answers that there are so far.

    Only `actionize` and `pipeline` write there as well, so a command that only runs steps may go
    on meanwhile.
    """
    refuse_foreign(run_dir)
    root = project_of(run_dir) or run_dir
    writer = Writer(root, run_dir / FOLDER)
    holder = locks.holder_of(run_dir)
    if holder is not None and holder.command == "run":
        actionize_run(run_dir, writer)
    else:
        with locked(run_dir):
            actionize_run(run_dir, writer)
    notes = read_notes(run_dir)
    if notes is None:
        raise InputError(f"{run_dir}: the backlog could not be written", hint="is the disk full?")
    return notes


def tick_task(run_dir: Path, task_id: str, *, done: bool) -> BacklogNotes:
    """Tick a task, or take the tick away; nothing else in the file changes."""
    return _edit(run_dir, lambda text: ticked_text(text, task_id, done=done))


def write_note(run_dir: Path, name: str, note: str) -> BacklogNotes:
    """Replace a person's note about a task, an issue or the whole backlog."""
    return _edit(run_dir, lambda text: noted_text(text, name, note))


def ticked_text(text: str, task_id: str, *, done: bool) -> str:
    """The backlog with one box ticked or not."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        box = _BOX.match(line)
        if box is not None and box["id"] == task_id:
            lines[at] = f"{box['before']}{'x' if done else ' '}{box['after']}{line[box.end() :]}"
            return "\n".join(lines)
    raise NotFoundError(
        f"the backlog has no box for {task_id}", hint="only tasks have one; `actionize` writes it"
    )


def noted_text(text: str, name: str, note: str) -> str:
    """The backlog with another note under a name; a task gets its marks after its own lines."""
    if END in note or "<!-- keep:" in note:
        raise InputError("a note cannot hold the marks of a note", hint="leave out `<!-- … -->`")
    read_person_notes(text, BACKLOG)  # a damaged file is refused, not guessed at
    body = [*note.rstrip("\n").split("\n")] if note.strip() else []
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip() == begin(name)), None)
    if start is not None:
        end = next(at for at in range(start, len(lines)) if lines[at].strip() == END)
        return "\n".join([*lines[: start + 1], *body, *lines[end:]])
    place = _after_task(lines, name)
    return "\n".join([*lines[:place], begin(name), *body, END, "", *lines[place:]])


def _after_task(lines: list[str], name: str) -> int:
    """The line after the item of a task: the first that is neither blank nor part of it."""
    first = next(
        (at for at, line in enumerate(lines) if (box := _BOX.match(line)) and box["id"] == name),
        None,
    )
    if first is None:
        known = f"one of the tasks, the issues, or `{NOTES}`"
        raise NotFoundError(f"the backlog has no place for a note about {name}", hint=known)
    indent = len(lines[first]) - len(lines[first].lstrip())
    at = first + 1
    while at < len(lines) and (
        not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > indent
    ):
        at += 1
    # The end of the file is no line of its own.
    return at if at < len(lines) or lines[-1] else at - 1


def _edit(run_dir: Path, change: Callable[[str], str]) -> BacklogNotes:
    """Change the file as an editor does: what another program wrote meanwhile is read again."""
    refuse_foreign(run_dir)
    place = run_dir / FOLDER / BACKLOG
    while True:
        data = files.read(place)
        if data is None:
            raise NotFoundError(
                f"{place}: there is no backlog yet", hint="`oraclepack actionize` writes it"
            )
        text = change(data.decode("utf-8", _ANY_BYTES))
        if files.read(place) == data:
            files.write_atomic(place, text.encode("utf-8", _ANY_BYTES))
            break
    notes = read_notes(run_dir)
    assert notes is not None
    return notes
