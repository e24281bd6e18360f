"""What failed attempts left in the work tree: found again, and not run over unasked."""

import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from oraclepack.adapters.reversal import is_begun, remove_left_over
from oraclepack.adapters.worktree import Worktree
from oraclepack.app.run.outputs import declared_paths
from oraclepack.app.run.recorder import Recorder
from oraclepack.core.legacy import all_file_names
from oraclepack.core.plan import Plan
from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import STEPS, RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.step_state import StepState
from oraclepack.pack.model import Pack, Step
from oraclepack.system import environment, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import plain_file
from oraclepack.system.printable import readable


class DirtyRerunError(InputError):
    """A failed attempt's changes are still in the work tree."""

    code = "DIRTY_RERUN"


class Leftover(msgspec.Struct, frozen=True):
    """A recorded change that is still in the work tree."""

    patch: Path
    files: tuple[str, ...]
    """What undoing it changes, relative to the top of the work tree."""
    outputs: tuple[str, ...]
    """Those of the change that are outputs: quarantine and rollback care for them."""

    @property
    def without(self) -> tuple[str, ...]:
        """What the patch touched and undoing it must leave."""
        return tuple(path for path in self.outputs if path not in self.files)


def work_tree(root: Path, run: RunDir, step_id: str, state: RunState) -> Worktree | None:
    """The work tree around a project without what we write there ourselves; None outside of git."""
    own = all_file_names(state.created.pack_path) if state.created else ()
    return Worktree.around(root, run.step(step_id), environment.environment(), own)


def leftover(tree: Worktree, run: RunDir, step: Step, state: StepState) -> Leftover | None:
    """The last change of a step, if it is in the work tree as the step left it.

    Its outputs may be gone meanwhile: they are set aside on their own, and have their own way back.
    """
    change = state.change
    patch = None if change is None else patch_of(run, change)
    if change is None or patch is None:
        return None
    called = (call.outcome.output_path for call in state.invocations if call.outcome)
    owned = [tree.from_top(path) for path in (*declared_paths(step), *called) if path]
    # The journal spells out what is no UTF-8, as above a project; git wants the names themselves.
    named = {readable(path): path for path in owned}
    changed = tuple(named.get(path, path) for path in change.files)
    outputs = tuple(path for path in changed if path in owned)
    others = tuple(path for path in changed if path not in owned)
    if tree.holds(patch):
        return Leftover(patch, changed, outputs)
    if outputs and others and tree.holds(patch, outputs):
        return Leftover(patch, others, outputs)
    return None


def patch_of(run: RunDir, change: j.TreeChanged) -> Path | None:
    """The patch of a change, if it is a plain file of this run and still what was recorded."""
    name = change.patch or ""
    found = plain_file(run.path, name) if name.startswith(f"{STEPS}/") else None
    if found is None or change.patch_sha256 is None:
        return found
    is_same = sha256_bytes(files.read(found) or b"") == change.patch_sha256
    return found if is_same else None


def refuse_half_undone(pack: Pack, run: RunDir, state: RunState, argv: Sequence[str] = ()) -> None:
    """No step runs over half of a change: nobody has ever seen such a tree, so nobody allows it."""
    remove_left_over(run.path, recorded_patches(state))
    for step_id, step in sorted(state.steps.items()):
        if any(one.patch and is_begun(run.path / one.patch) for one in step.changes):
            raise DirtyRerunError(
                f"an undo of step {step_id} was cut off: it may have taken back half of the files",
                hint=f"{_undo(pack, step_id, argv)} takes back the rest",
            )


def recorded_patches(state: RunState) -> frozenset[str]:
    """Of the changes that nobody took back, relative to the run directory."""
    changes = (one for step in state.steps.values() for one in step.changes)
    return frozenset(one.patch for one in changes if one.patch)


def refuse_dirty_rerun(
    root: Path, pack: Pack, run: RunDir, record: Recorder, planned: Plan, argv: Sequence[str] = ()
) -> None:
    """A step must not run over what its failed attempt left in the tree."""
    for one in planned.to_run:
        state, step = record.state.step(one.step_id), pack.step(one.step_id)
        failed = state.has_bad_attempt or state.rolled_back
        if step is None or state.change is None or not failed:
            continue
        tree = work_tree(root, run, one.step_id, record.state)
        left = leftover(tree, run, step, state) if tree is not None else None
        # Mere outputs are set aside before the step runs again.
        if left is not None and set(left.files) - set(left.outputs):
            undo = _undo(pack, one.step_id, argv)
            raise DirtyRerunError(
                f"changes of an earlier attempt at step {one.step_id} are still in the work tree: "
                f"{run.relative}/{state.change.patch}",
                hint=f"{undo} takes them back, --allow-dirty-rerun runs the step over them",
            )


def _undo(pack: Pack, step_id: str, argv: Sequence[str]) -> str:
    return shlex.join(["oraclepack", "undo", pack.path, step_id, *_root_in(argv)])


def _root_in(argv: Sequence[str]) -> list[str]:
    """The words that name the project root: what we propose must find the same one."""
    joined = [word for word in argv if word.startswith("--cwd=")]
    return joined[-1:] or [word for pair in pairwise(argv) if pair[0] == "--cwd" for word in pair]
