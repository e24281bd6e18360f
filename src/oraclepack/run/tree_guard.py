"""The work-tree guard: what a step changes is reported and recorded."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import STEPS, RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.pack.model import Pack, Step
from oraclepack.pack.tree_policy import TreePolicy, TreePolicyResult, disallowed
from oraclepack.run.files import LockedRun
from oraclepack.run.patch_undo import is_begun, remove_left_over
from oraclepack.run.planning.plan import Plan
from oraclepack.run.step_outputs import declared_paths
from oraclepack.run.worktree import FileStates, Worktree, WorktreeError
from oraclepack.system import environment, files, git
from oraclepack.system.clock import Clock
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import plain_file
from oraclepack.system.printable import readable
from oraclepack.view.legacy_files import all_file_names

if TYPE_CHECKING:
    from oraclepack.run.run import Run


class DirtyRerunError(InputError):
    """A failed attempt's changes are still in the work tree."""

    code = "DIRTY_RERUN"


class Leftover(msgspec.Struct, frozen=True):
    """A recorded change that is still in the work tree."""

    patch: Path
    files: tuple[str, ...]
    """What undoing it changes, relative to the top of the work tree."""
    outputs: tuple[str, ...]
    """Those of the change that are outputs: quarantine and rollback handle them."""

    @property
    def without(self) -> tuple[str, ...]:
        """What the patch touched and undoing it must leave."""
        return tuple(path for path in self.outputs if path not in self.files)


def work_tree(run: LockedRun, step_id: str) -> Worktree | None:
    """The work tree around a project without what we write there ourselves; None outside of git."""
    created = run.state.created
    own = all_file_names(created.pack_path) if created else ()
    return Worktree.around(run.root, run.dir.step(step_id), environment.environment(), own)


def leftover(run: LockedRun, tree: Worktree, step: Step) -> Leftover | None:
    """The last change of a step, if it is in the work tree as the step left it.

    Its outputs may be gone meanwhile: they are quarantined and restored separately.
    """
    state = run.state.step(step.id)
    change = state.change
    patch = None if change is None else patch_of(run.dir, change)
    if change is None or patch is None:
        return None
    called = (call.outcome.output_path for call in state.invocations if call.outcome)
    owned = [tree.from_top(path) for path in (*declared_paths(step), *called) if path]
    # The journal spells out what is no UTF-8, as above a project; git wants the names themselves.
    named = {readable(path): path for path in owned}
    changed = tuple(named.get(path, path) for path in change.files)
    outputs = tuple(path for path in changed if path in owned)
    others = tuple(path for path in changed if path not in owned)
    if tree.contains_changes(patch):
        return Leftover(patch, changed, outputs)
    if outputs and others and tree.contains_changes(patch, outputs):
        return Leftover(patch, others, outputs)
    return None


def patch_of(run: RunDir, change: j.TreeChanged) -> Path | None:
    """The patch of a change, if it is a plain file of this run and still what was recorded."""
    name = change.patch or ""
    patch = plain_file(run.path, name) if name.startswith(f"{STEPS}/") else None
    if patch is None or change.patch_sha256 is None:
        return patch
    is_same = sha256_bytes(files.read(patch) or b"") == change.patch_sha256
    return patch if is_same else None


def refuse_half_undone(run: LockedRun, pack: Pack, argv: Sequence[str] = ()) -> None:
    """Refuse while an undo is half applied; no flag overrides this."""
    remove_left_over(run.dir.path, recorded_patches(run.state))
    for step_id, step in sorted(run.state.steps.items()):
        if any(one.patch and is_begun(run.dir.path / one.patch) for one in step.changes):
            raise DirtyRerunError(
                f"an undo of step {step_id} was cut off: it may have taken back half of the files",
                hint=f"{_undo(pack, step_id, argv)} takes back the rest",
            )


def recorded_patches(state: RunState) -> frozenset[str]:
    """The patches that were not undone, relative to the run directory."""
    changes = (one for step in state.steps.values() for one in step.changes)
    return frozenset(one.patch for one in changes if one.patch)


def refuse_dirty_rerun(run: LockedRun, pack: Pack, planned: Plan, argv: Sequence[str] = ()) -> None:
    """A step must not run over what its failed attempt left in the tree."""
    for one in planned.to_run:
        state, step = run.state.step(one.step_id), pack.step(one.step_id)
        failed = state.has_bad_attempt or state.rolled_back
        if step is None or state.change is None or not failed:
            continue
        tree = work_tree(run, one.step_id)
        left = leftover(run, tree, step) if tree is not None else None
        # Outputs alone are quarantined before the step runs again.
        if left is not None and set(left.files) - set(left.outputs):
            undo = _undo(pack, one.step_id, argv)
            raise DirtyRerunError(
                f"changes of an earlier attempt at step {one.step_id} are still in the work tree: "
                f"{run.dir.relative}/{state.change.patch}",
                hint=f"{undo} takes them back, --allow-dirty-rerun runs the step over them",
            )


def _undo(pack: Pack, step_id: str, argv: Sequence[str]) -> str:
    # The words that name the project root: what we propose must find the same one.
    joined = [word for word in argv if word.startswith("--cwd=")]
    root = joined[-1:] or [word for pair in pairwise(argv) if pair[0] == "--cwd" for word in pair]
    return shlex.join(["oraclepack", "step", "undo", pack.path, step_id, *root])


_JUST_NOW = 200_000_000
"""Nanoseconds. A status that is no older serves a step that begins."""


class _StatusRead(msgspec.Struct):
    """One `git status`, and when it ended."""

    result: Future[FileStates] = msgspec.field(default_factory=Future)
    ended: int | None = None
    """By the steady clock, in nanoseconds; None while git is at work."""


class TreeStatus:
    """`git status` for the read-only steps of one command. Safe in several threads.

    The status after one step is that before the next, which begins at once. Steps that begin
    together share one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._tree: Worktree | None = None
        self._latest: _StatusRead | None = None
        self._changing = 0

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Around a step that may change files: no status from before its end serves another one."""
        with self._lock:
            self._changing += 1
        try:
            yield
        finally:
            with self._lock:
                self._changing -= 1
                self._latest = None

    def tree(self, run: Run, step_id: str) -> Worktree | None:
        """The work tree, looked up once; None outside of git."""
        with self._lock:
            if self._tree is None:
                self._tree = work_tree(run, step_id)
            return self._tree

    def before(self, tree: Worktree, attempt: int) -> FileStates:
        """The status for a step that is about to begin. Raises WorktreeError."""
        with self._lock:
            latest = self._latest
            # Before a later attempt, files of the earlier one were moved to quarantine.
            may_share = attempt == 1 and not self._changing
            if latest is not None and may_share and self._is_recent(latest):
                mine = None
            else:
                mine = latest = self._latest = _StatusRead()
        return latest.result.result() if mine is None else self._read(tree, mine)

    def after(self, tree: Worktree) -> FileStates:
        """The status for a step that has ended. Raises WorktreeError."""
        with self._lock:
            latest = self._latest = _StatusRead()
        return self._read(tree, latest)

    def _is_recent(self, read: _StatusRead) -> bool:
        if read.ended is None:
            return True
        age = self._clock.monotonic_ns() - read.ended
        return age < _JUST_NOW and read.result.exception() is None

    def _read(self, tree: Worktree, read: _StatusRead) -> FileStates:
        try:
            read.result.set_result(tree.status())
        except BaseException as trouble:
            read.result.set_exception(trouble)
            raise
        finally:
            read.ended = self._clock.monotonic_ns()
        return read.result.result()


PATCH = "changes.patch"


@contextmanager
def watched_tree(
    run: Run, step: Step, attempt: int, policy: TreePolicy
) -> Iterator[TreePolicyResult]:
    """Look at the work tree before and after a step, as its policy demands."""
    watched, status = TreePolicyResult(policy), run.tree_status
    if policy is TreePolicy.UNWATCHED:
        with status.changing():
            yield watched
    elif policy is TreePolicy.MUTATES:
        with status.changing(), _recorded(run, step, attempt):
            yield watched
    elif (tree := status.tree(run, step.id)) is None:
        yield watched
    else:
        before = _status(run, step, lambda: status.before(tree, attempt))
        yield watched
        after = _status(run, step, lambda: status.after(tree))
        if before is not None and after is not None:
            touched = sorted(one for one in {*before, *after} if before.get(one) != after.get(one))
            _warn_of_other_changes(run, step, tree, tuple(touched), watched)


def recorded_change(
    run: RunDir, tree: Worktree, before: str, step_id: str, attempt: int
) -> j.TreeChanged:
    """What lies between a tree and now, as a patch in the run directory."""
    after = tree.snapshot()
    touched = tree.changed_paths(before, after)
    patch = digest = None
    if touched:
        folder = run.step(step_id)
        files.make_private(folder)
        place = folder / (PATCH if attempt == 1 else f"changes.{attempt}.patch")
        difference = tree.difference(before, after)
        files.write_atomic(place, difference, mode=files.PRIVATE_FILE)
        patch, digest = place.relative_to(run.path).as_posix(), sha256_bytes(difference)
    return j.TreeChanged(
        step=step_id, attempt=attempt, files=touched, patch=patch, patch_sha256=digest
    )


def record_killed_changes(run: LockedRun) -> None:
    """Record the change of a mutating step whose runner was killed before it could do so."""
    for step_id, state in sorted(run.state.steps.items()):
        if state.tree_before is None:
            continue
        tree = work_tree(run, step_id)
        if tree is None:
            continue
        try:
            change = recorded_change(run.dir, tree, state.tree_before, step_id, state.attempts)
        except WorktreeError as trouble:
            run.warn(f"the changes of the killed attempt are unknown: {trouble}", "tree", step_id)
            change = j.TreeChanged(step=step_id, attempt=state.attempts, files=())
        run.record.append(change)
        tree.remove_objects()


@contextmanager
def _recorded(run: Run, step: Step, attempt: int) -> Iterator[None]:
    """Keep what a mutating step changes, as a patch; the tree before it is written down first."""
    tree = work_tree(run, step.id)
    if tree is None:
        message = "outside of git what it changes is not recorded, and cannot be taken back"
        run.warn(message, "tree", step.id)
        yield
        return
    was = git.head_commit(run.root)
    try:
        before = tree.snapshot()
    except WorktreeError as trouble:
        _cannot_watch(run, step, trouble)
        yield
        return
    run.record.append(j.TreeRecorded(step=step.id, attempt=attempt, tree=before))
    try:
        yield
    finally:
        try:
            change = recorded_change(run.dir, tree, before, step.id, attempt)
            listed = tree.repositories()
            if listed:
                message = f"repositories of their own are not watched: {', '.join(listed[:5])}"
                run.warn(message, "tree", step.id)
        except WorktreeError as trouble:
            _cannot_watch(run, step, trouble)
            change = j.TreeChanged(step=step.id, attempt=attempt, files=())
        now = git.head_commit(run.root)
        run.record.append(msgspec.structs.replace(change, head_before=was, head_after=now))
        tree.remove_objects()


def _status(run: Run, step: Step, read: Callable[[], FileStates]) -> FileStates | None:
    try:
        return read()
    except WorktreeError as trouble:
        _cannot_watch(run, step, trouble)
        return None


def _cannot_watch(run: Run, step: Step, trouble: WorktreeError) -> None:
    message = f"the work tree cannot be watched: {trouble}"
    run.warn(message, "tree", step.id)


def _warn_of_other_changes(
    run: Run,
    step: Step,
    tree: Worktree,
    touched: tuple[str, ...],
    watched: TreePolicyResult,
) -> None:
    watched.strange = disallowed(_from_root(run, tree, touched), _allowed(run, step))
    if watched.strange:
        run.warn(watched.message, "tree", step.id)


def _from_root(run: Run, tree: Worktree, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Paths from the top of the work tree, as seen from the project root."""
    if run.root.resolve() == tree.top.resolve():
        return paths
    below = run.root.resolve().relative_to(tree.top.resolve()).as_posix() + "/"
    return tuple(path.removeprefix(below) for path in paths if path.startswith(below))


def _allowed(run: Run, step: Step) -> tuple[str, ...]:
    """The declared outputs of all steps, since several may run at once, and what others write."""
    outputs = [o.path.value for s in run.pack.steps for o in s.outputs if o.path.value]
    recorded = [
        out.declared_path
        for step in run.state.steps.values()
        for out in step.outputs
        if out.declared_path
    ]
    called = [
        call.outcome.output_path
        for step in run.state.steps.values()
        for call in step.invocations
        if call.outcome is not None and call.outcome.output_path
    ]
    folder = [f"{run.pack.out_dir}/"] if run.pack.out_dir not in {None, "."} else []
    created = run.state.created
    legacy = all_file_names(created.pack_path) if created else ()
    others = (other for other in run.pack.steps if other.id != step.id)
    writes = [path for other in others for path in other.writes]
    # Our own files, those just being written among them.
    own = (*legacy, ".oraclepack/", "*.oraclepack-*.tmp")
    return (*outputs, *recorded, *called, *folder, *writes, *own)
