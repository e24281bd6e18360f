"""Files that a step may replace: a copy of each is kept, so that a rollback can put it back."""

from collections.abc import Iterable

from oraclepack.adapters.backups import keep_copy
from oraclepack.app.calls.world import CallWorld
from oraclepack.core.invocation import LiveCall
from oraclepack.journal.run_state import path_of
from oraclepack.system.path_jail import Allowed, jail


def keep_older(world: CallWorld, call: LiveCall, outputs: Iterable[Allowed]) -> None:
    """Copy what stands at paths that only the running shell could name.

    The paths that the text names were seen to when the step began.
    """
    step = world.pack.step(call.step)
    declared = {output.path.value for output in step.outputs} if step else set()
    named = {_place(world, path) for path in declared if path}
    known = {path_of(event) for event in world.journal.state.session_files}
    for output in outputs:
        path = output.relative
        if path in named or path in known or not world.shared.is_first_to_write(path):
            continue
        kept = keep_copy(world.run_dir, call.step, call.attempt, path, output.path)
        if kept is not None:
            world.tell(kept)


def _place(world: CallWorld, path: str) -> str:
    verdict = jail(world.root, path)
    return verdict.relative if isinstance(verdict, Allowed) else path
