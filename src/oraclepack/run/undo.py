"""The use case behind `undo`: reverse what a step changed in the work tree."""

import shlex
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.pack.model import Step
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.files import LockedRun
from oraclepack.run.open_run import find_run, opened, refuse_new, step_of
from oraclepack.run.patch_undo import PatchUndo, is_begun, remove_left_over
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.tree_guard import leftover, patch_of, recorded_patches, work_tree
from oraclepack.run.worktree import WorktreeError
from oraclepack.settings.registry import CWD, Settings
from oraclepack.system.clock import SystemClock


class UndoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken back."""

    step_id: str
    run_id: str
    patch: str
    files: tuple[str, ...]


def undo_step(
    pack_path: str, step: str, settings: Settings, run_id: str | None = None
) -> UndoReport:
    """Apply the recorded patch of a step in reverse: all of it, or nothing."""
    pack = read_pack(Path(pack_path))
    root = Path(settings.root)
    known = step_of(pack, step)
    step_id = known.id
    clock = SystemClock()
    selected = find_run(root, pack, RunArguments(run_id=run_id), clock)
    state = selected.state.step(step_id)
    change = state.change
    refuse_new(selected, "undo a step of")
    if state.tree_before is not None:
        raise UsageError(
            f"what the last attempt at step {step_id} changed is not recorded yet",
            hint=_after_a_kill(pack_path, step_id, settings[CWD]),
        )
    if change is None or change.patch is None:
        raise UsageError(
            f"step {step_id} left no recorded change in run {selected.run.run_id}",
            hint="`oraclepack runs show` lists the files of each step; --run-id names another run",
        )
    legacy = selected.state.has_legacy_files
    with opened(selected, pack, clock, "undo", legacy_files=legacy) as run:
        tree = work_tree(run, step_id)
        patch = patch_of(selected.run, change)
        if tree is None or patch is None:
            raise InputError(
                f"{selected.run.relative}/{change.patch} is gone or not what was recorded, "
                "or its repository is gone",
                hint="nothing was changed",
            )
        remove_left_over(selected.run.path, recorded_patches(run.state))
        reversal = PatchUndo(tree, patch)
        if not is_begun(reversal.patch):
            _begin(reversal, run, known)
        files = _finish(reversal, selected.run)
        run.record.append(j.ChangeUndone(step=step_id, attempt=change.attempt, patch=change.patch))
        reversal.forget()
    return UndoReport(step_id=step_id, run_id=selected.run.run_id, patch=change.patch, files=files)


def _begin(reversal: PatchUndo, run: LockedRun, step: Step) -> None:
    left = leftover(run, reversal.tree, step)
    if left is None:
        raise InputError(
            f"the changes of step {step.id} are not in the work tree as it left them",
            hint=f"nothing was changed; look at {_display_path(reversal.patch, run.dir)}",
        )
    try:
        reversal.begin(left.without)
    except WorktreeError as trouble:
        reversal.forget()
        raise InputError(
            f"git would not take it back: {trouble}", hint="nothing was changed"
        ) from None


def _finish(reversal: PatchUndo, run: RunDir) -> tuple[str, ...]:
    changed = reversal.changed_since()
    if changed:
        place = _display_path(reversal.place, run)
        raise InputError(
            f"changed since the undo was cut off: {', '.join(changed[:5])}",
            hint=f"each file before and after the undo is in {place}: give one of them back and "
            "undo again, or remove that folder and keep the work tree as it is",
        )
    return reversal.finish()


def _display_path(path: Path, run: RunDir) -> str:
    return f"{run.relative}/{path.relative_to(run.path).as_posix()}"


def _after_a_kill(pack: str, step_id: str, cwd: str) -> str:
    """What was not recorded when the step was cut off is recorded by the next run."""
    run = shlex.join(["oraclepack", "run", pack, *(["--cwd", cwd] if cwd else [])])
    return (
        f"it was cut off: {run} records what it left, and if that is anything stops before step "
        f"{step_id}; then undo takes it back"
    )
