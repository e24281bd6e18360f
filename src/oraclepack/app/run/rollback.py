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
from oraclepack.run.rollback import Undo, is_unfinished, undo_list


def roll_back(
    root: Path, run: RunDir, record: Recorder, folder: Path, failed: tuple[str, ...] = ()
) -> RollbackStatus:
    """Take back what the last command made or replaced; finishes an interrupted rollback.

    Each file is undone, then written down. A failure leaves both states described: what came
    back and what did not.
    """
    unfinished = is_unfinished(record.state)
    listed = undo_list(record.state, failed=failed)
    if not unfinished:
        record.append(j.RollbackStarted(steps=listed.steps))
    for kept in listed.kept:
        record.append(j.Warned(step=kept.step, message=f"{kept.path} stays: {kept.reason}"))
    try:
        for undo in listed.undos:
            record.append(_undone(root, run, folder, undo))
    except (OraclePackError, OSError) as trouble:
        left = ", ".join(
            undo.path
            for undo in listed.undos
            if undo.path not in {one.path for one in _already(record)}
        )
        error = f"{trouble}; not taken back: {left}"
        record.append(j.RollbackFinished(status=RollbackStatus.FAILED, error=error))
        return RollbackStatus.FAILED
    record.append(j.RolledBack(steps=listed.steps))
    record.append(j.RollbackFinished(status=RollbackStatus.COMPLETED))
    return RollbackStatus.COMPLETED


def _already(record: Recorder) -> tuple[j.FileUndone, ...]:
    return record.state.rollback.undone if record.state.rollback else ()


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
