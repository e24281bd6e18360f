"""Rollback: bringing files back to how the command found them."""

from pathlib import Path

from oraclepack.adapters import files, relocate
from oraclepack.adapters.jail import Refused, jail, stays_inside
from oraclepack.adapters.quarantine import put_aside
from oraclepack.adapters.rundir import RunDir
from oraclepack.app.run.recorder import Recorder
from oraclepack.core import journal as j
from oraclepack.core.digest import sha256_bytes
from oraclepack.core.errors import OraclePackError, WorldError
from oraclepack.core.result import RollbackStatus
from oraclepack.run.rollback import (
    Undo,
    has_failed,
    is_unfinished,
    steps_taken_back,
    undo_list,
)


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

    older = None if undo.restore_from is None else run.path / undo.restore_from
    _check(root, undo, older)
    moved = None
    if relocate.link_at(root / undo.path) != undo.link:
        moved = put_away(undo.path)
        if undo.link is not None:
            relocate.make_link(undo.link, root / undo.path)
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
        relocate.copy(older, place)
    elif older is not None and _is_whole(older, undo):
        relocate.resemble(older, place)
    return moved


def _check(root: Path, undo: Undo, older: Path | None) -> None:
    """Before anything moves: the way there leads through the project, a copy we need is whole."""
    if not stays_inside(root, (root / undo.path).parent):
        raise WorldError(
            f"{undo.path} cannot be taken back: its directory leads out of the project"
        )
    if older is None or _is_whole(older, undo) or _stands(root, undo):
        return
    what = "no longer what was kept" if older.exists() else "gone"
    raise WorldError(f"{undo.path} cannot be taken back: its copy {undo.restore_from} is {what}")


def _is_whole(older: Path, undo: Undo) -> bool:
    kept = files.read(older)
    return kept is not None and undo.sha256 in {None, sha256_bytes(kept)}


def _stands(root: Path, undo: Undo) -> bool:
    """The older file is where it was, even if the link that led to it is not."""
    path = root / undo.path
    if undo.link is not None:
        path = path.parent / undo.link
    elif path.is_symlink():
        return False
    now = files.read(path) if path.is_file() else None
    return now is not None and sha256_bytes(now) == undo.sha256
