"""Rollback: bringing files back to how the command found them."""

import os
from pathlib import Path

from oraclepack.adapters.quarantine import put_aside
from oraclepack.app.run.recorder import Recorder
from oraclepack.errors import OraclePackError, WorldError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import BACKUPS, RunDir
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.rollback import (
    Undo,
    has_failed,
    is_unfinished,
    steps_taken_back,
    undo_list,
)
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import Refused, jail, judge_entry, plain_file
from oraclepack.system.text_limits import regex

_STEP = regex(r"\d\d")


def roll_back(
    root: Path, run: RunDir, record: Recorder, folder: Path, failed: tuple[str, ...] = ()
) -> RollbackStatus:
    """Take back what the last command made or replaced; finishes one that was cut off or failed.

    Each file is undone, then written down. A file that cannot be taken back does not keep the
    others from it: what came back and what did not is written down at the end.
    """
    state = record.state
    again = has_failed(state)
    listed = undo_list(state, failed=failed)
    if again or not is_unfinished(state):
        record.append(j.RollbackStarted(steps=listed.steps))
    for kept in () if again else listed.kept:
        record.append(j.Warned(step=kept.step, message=f"{kept.path} stays: {kept.reason}"))
    left: dict[str, str] = {}
    for undo in listed.undos:
        try:
            undone = _undone(root, run, folder, undo)
        except (OraclePackError, OSError) as trouble:
            left[undo.path] = str(trouble)
        else:
            record.append(undone)
    record.append(j.RolledBack(steps=steps_taken_back(record.state, listed, left)))
    if not left:
        record.append(j.RollbackFinished(status=RollbackStatus.COMPLETED))
        return RollbackStatus.COMPLETED
    causes = "; ".join(dict.fromkeys(left.values()))
    error = f"{causes}; not taken back: {', '.join(left)}"
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
        raise WorldError(
            "the rollback of the last command cannot be finished; nothing was run",
            hint="repair the cause and give the same command again, or give it without "
            "--rollback-on-failure: the files stay, and only what was taken back runs again",
            detail=(last.error if last else None) or "",
        )
    message = "the rollback of the last command had failed; now it is completed"
    record.append(j.Warned(code="rollback", message=message))
    return True


def _undone(root: Path, run: RunDir, folder: Path, undo: Undo) -> j.FileUndone:
    try:
        moved = _bring_back(root, run, folder, undo)
    except OSError as trouble:
        raise files.cannot("take back", undo.path, trouble) from trouble
    return j.FileUndone(
        step=undo.step, path=undo.path, quarantined_as=moved, restored_from=undo.restore_from
    )


def _bring_back(root: Path, run: RunDir, folder: Path, undo: Undo) -> str | None:
    """Make a path what it was; where what stood there now is kept, if anything had to go."""

    def put_away(path: str) -> str | None:
        moves = put_aside(root, folder, run.run_id, undo.step, undo.attempt, [path])
        return moves[0].target if moves else None

    _check(root, run, undo)
    older = None if undo.restore_from is None else run.path / undo.restore_from
    moved = None
    if file_moves.link_at(root / undo.path) != undo.link:
        moved = put_away(undo.path)
        if undo.link is not None:
            file_moves.make_link(undo.link, root / undo.path)
    verdict = jail(root, undo.path)
    if isinstance(verdict, Refused):
        raise WorldError(f"{undo.path} cannot be taken back: {verdict.reason}")
    place = verdict.path
    now = files.read(place) if place.is_file() else None
    if now is not None and (older is None or sha256_bytes(now) != undo.sha256):
        moved = put_away(undo.path if undo.link is None else verdict.relative) or moved
        now = None
    if older is not None and now is None:
        files.make_directories(place.parent)
        file_moves.copy(older, place)
    elif older is not None and _is_whole(run, undo):
        file_moves.resemble(older, place)
    return moved


def _check(root: Path, run: RunDir, undo: Undo) -> None:
    """Before anything moves: every path leads through the project, a copy we need is whole."""
    refused = judge_entry(root, undo.path)
    if refused is None and undo.link is not None:
        refused = _judge_link(root, undo)
    if refused is not None:
        raise WorldError(f"{undo.path} cannot be taken back: {refused.reason}")
    if not _STEP.fullmatch(undo.step):
        raise WorldError(f"{undo.path} cannot be taken back: {undo.step!r} is no step")
    if undo.restore_from is None or _is_whole(run, undo) or _stands(root, undo):
        return
    what = "gone" if _copy_of(run, undo) is None else "no longer what was kept"
    raise WorldError(f"{undo.path} cannot be taken back: its copy {undo.restore_from} is {what}")


def _judge_link(root: Path, undo: Undo) -> Refused | None:
    """A link is put back only where it led to a place that a step may write to."""
    leads_to = os.path.join(os.path.dirname(undo.path), undo.link or "")  # noqa: PTH118, PTH120 - as text
    verdict = jail(root, leads_to)
    if isinstance(verdict, Refused):
        return Refused(undo.path, f"it was a link to {undo.link}, and {verdict.reason}")
    return None


def _copy_of(run: RunDir, undo: Undo) -> Path | None:
    """The copy that was kept of the older file: a plain file among the copies of this run."""
    kept = undo.restore_from or ""
    return plain_file(run.path, kept) if kept.startswith(f"{BACKUPS}/") else None


def _is_whole(run: RunDir, undo: Undo) -> bool:
    copy = _copy_of(run, undo)
    kept = None if copy is None else files.read(copy)
    return kept is not None and sha256_bytes(kept) == undo.sha256


def _stands(root: Path, undo: Undo) -> bool:
    """The older file is where it was, even if the link that led to it is not."""
    path = root / undo.path
    if undo.link is not None:
        path = path.parent / undo.link
    elif path.is_symlink():
        return False
    now = files.read(path) if path.is_file() else None
    return now is not None and sha256_bytes(now) == undo.sha256
