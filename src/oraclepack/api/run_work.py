"""Answers to work: actionize, and the backlog of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from oraclepack.run.run_packs import FrontEnds
from oraclepack.settings.registry import Settings
from oraclepack.work import backlog, backlog_edit
from oraclepack.work.actionize import ActionizeOutcome, actionize_and_weigh
from oraclepack.work.backlog_edit import BacklogNotes

WorkRecord = backlog.Record


class ActionizeOptions(TypedDict, total=False):
    """Whose answers are meant, and what is written; `run_dir`, or `answers` with `pack`."""

    run_dir: str
    answers: str
    pack: str
    out_dir: str
    exports: Sequence[str]
    allow_rehearsal: bool
    """Export even what a rehearsal answered."""
    per: str | None
    """`question` or `task`: what an issue on GitHub stands for."""
    ask: bool
    """Let a model read the answers that state no work; costs money."""
    ask_model: str


def actionize(
    settings: Settings,
    *,
    front_ends: FrontEnds | None = None,
    argv: Sequence[str] = (),
    **options: Unpack[ActionizeOptions],
) -> ActionizeOutcome:
    """Turn the answers of a run, or of a directory of answers to a pack, into work.

    `front_ends` show the runs that ask a model.
    """
    return actionize_and_weigh(settings, front_ends=front_ends, argv=argv, **options)


def backlog_notes(run_dir: str | Path) -> BacklogNotes | None:
    """The ticks and notes of a person in the backlog of a run; None where there is no backlog."""
    return backlog_edit.read_notes(Path(run_dir))


def write_backlog(run_dir: str | Path) -> BacklogNotes:
    """Write the backlog of a run from the answers that there are so far."""
    return backlog_edit.write_backlog(Path(run_dir))


def tick_task(run_dir: str | Path, task_id: str, *, done: bool) -> BacklogNotes:
    """Tick a task of the backlog, or take the tick away."""
    return backlog_edit.tick_task(Path(run_dir), task_id, done=done)


def write_note(run_dir: str | Path, name: str, note: str) -> BacklogNotes:
    """Replace a note in the backlog: of a task, of an issue, or `notes` for the whole."""
    return backlog_edit.write_note(Path(run_dir), name, note)
