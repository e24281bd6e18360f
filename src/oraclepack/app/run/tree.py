"""The work-tree guard: what a step changes is told and recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from oraclepack.adapters.worktree import Worktree, WorktreeError
from oraclepack.app.run.dirty_rerun import work_tree
from oraclepack.app.run.recorder import Recorder
from oraclepack.app.run.session import Session
from oraclepack.core.legacy import all_file_names
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.pack.model import Step
from oraclepack.pack.tree_policy import TreePolicy, Watched, strangers
from oraclepack.system import files, git
from oraclepack.system.digests import sha256_bytes

PATCH = "changes.patch"


@contextmanager
def watched_tree(
    session: Session, step: Step, attempt: int, policy: TreePolicy
) -> Iterator[Watched]:
    """Look at the work tree before and after a step, as its policy demands."""
    watched = Watched(policy)
    tree = work_tree(session.root, session.run, step.id, session.record.state)
    if tree is None:
        if watched.policy is TreePolicy.MUTATES:
            message = "outside of git what it changes is not recorded, and cannot be taken back"
            session.record.append(j.Warned(step=step.id, code="tree", message=message))
        yield watched
    elif watched.policy is TreePolicy.MUTATES:
        with _recorded(session, step, attempt, tree):
            yield watched
    else:
        before = _status(session, step, tree)
        yield watched
        after = _status(session, step, tree)
        if before is not None and after is not None:
            _look_for_strangers(session, step, tree, _differing(before, after), watched)


def recorded_change(
    run: RunDir, tree: Worktree, before: str, step_id: str, attempt: int
) -> j.TreeChanged:
    """What lies between a tree and now, as a patch in the run directory."""
    after = tree.snapshot()
    touched = tree.touched(before, after)
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


def recover_change(root: Path, run: RunDir, record: Recorder) -> None:
    """A runner that was killed in a mutating step could not look at the tree; do it now."""
    for step_id, state in sorted(record.state.steps.items()):
        if state.tree_before is None:
            continue
        tree = work_tree(root, run, step_id, record.state)
        if tree is None:
            continue
        try:
            change = recorded_change(run, tree, state.tree_before, step_id, state.attempts)
        except WorktreeError as trouble:
            message = f"what the killed attempt changed cannot be told: {trouble}"
            record.append(j.Warned(step=step_id, code="tree", message=message))
            change = j.TreeChanged(step=step_id, attempt=state.attempts, files=())
        record.append(change)
        tree.forget()


@contextmanager
def _recorded(session: Session, step: Step, attempt: int, tree: Worktree) -> Iterator[None]:
    """Keep what a mutating step changes, as a patch; the tree before it is written down first."""
    was = git.peek(session.root)
    try:
        before = tree.snapshot()
    except WorktreeError as trouble:
        _cannot_watch(session, step, trouble)
        yield
        return
    session.record.append(j.TreeSeen(step=step.id, attempt=attempt, tree=before))
    try:
        yield
    finally:
        try:
            change = recorded_change(session.run, tree, before, step.id, attempt)
            _tell_repositories(session, step, tree)
        except WorktreeError as trouble:
            _cannot_watch(session, step, trouble)
            change = j.TreeChanged(step=step.id, attempt=attempt, files=())
        now = git.peek(session.root)
        session.record.append(msgspec.structs.replace(change, head_before=was, head_after=now))
        tree.forget()


def _tell_repositories(session: Session, step: Step, tree: Worktree) -> None:
    listed = tree.repositories()
    if listed:
        message = f"repositories of their own are not watched: {', '.join(listed[:5])}"
        session.record.append(j.Warned(step=step.id, code="tree", message=message))


_Status = dict[str, tuple[str, int, int]]


def _status(session: Session, step: Step, tree: Worktree) -> _Status | None:
    try:
        return tree.status()
    except WorktreeError as trouble:
        _cannot_watch(session, step, trouble)
        return None


def _differing(before: _Status, after: _Status) -> tuple[str, ...]:
    paths = {*before, *after}
    return tuple(sorted(path for path in paths if before.get(path) != after.get(path)))


def _cannot_watch(session: Session, step: Step, trouble: WorktreeError) -> None:
    message = f"the work tree cannot be watched: {trouble}"
    session.record.append(j.Warned(step=step.id, code="tree", message=message))


def _look_for_strangers(
    session: Session, step: Step, tree: Worktree, touched: tuple[str, ...], watched: Watched
) -> None:
    watched.strange = strangers(_from_root(session, tree, touched), _allowed(session, step))
    if watched.strange:
        session.record.append(j.Warned(step=step.id, code="tree", message=watched.told))


def _from_root(session: Session, tree: Worktree, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Paths from the top of the work tree, as seen from the project root."""
    if session.root.resolve() == tree.top.resolve():
        return paths
    below = session.root.resolve().relative_to(tree.top.resolve()).as_posix() + "/"
    return tuple(path.removeprefix(below) for path in paths if path.startswith(below))


def _allowed(session: Session, step: Step) -> tuple[str, ...]:
    """The declared outputs of all steps, since several may run at once, and what others write."""
    outputs = [o.path.value for s in session.pack.steps for o in s.outputs if o.path.value]
    recorded = [
        out.declared_path
        for step in session.record.state.steps.values()
        for out in step.outputs
        if out.declared_path
    ]
    called = [
        call.outcome.output_path
        for step in session.record.state.steps.values()
        for call in step.invocations
        if call.outcome is not None and call.outcome.output_path
    ]
    folder = [f"{session.pack.out_dir}/"] if session.pack.out_dir not in {None, "."} else []
    created = session.record.state.created
    legacy = all_file_names(created.pack_path) if created else ()
    others = (other for other in session.pack.steps if other.id != step.id)
    writes = [path for other in others for path in other.writes]
    # Our own files, those just being written among them.
    ours = (*legacy, ".oraclepack/", "*.oraclepack-*.tmp")
    return (*outputs, *recorded, *called, *folder, *writes, *ours)
