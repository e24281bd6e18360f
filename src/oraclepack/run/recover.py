"""What a command does because an earlier one was killed: everything stands in `recover`.

`run` recovers before it plans, `runs repair` before it computes files. Beyond this, any
command that opens a run removes what was half written (`sweep`), calls without an end are looked
for when their question is asked again (`calls/interrupted.py`), and `undo` goes on with an undo
that was cut off.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from oraclepack.calls.file_store import answer_caches
from oraclepack.engines.try_folder import sweep_folders
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Status
from oraclepack.journal.step_state import StepState
from oraclepack.pack.model import Pack
from oraclepack.run.files import LockedRun
from oraclepack.run.quarantine import failed_folder
from oraclepack.run.rollback import finish_rollback
from oraclepack.run.tree_guard import record_killed_changes
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.shell.orphans import OrphanTimeouts, end_leftovers
from oraclepack.shell.processes import has_proc
from oraclepack.system import environment
from oraclepack.system.machine import ProcessLocation, process_location
from oraclepack.system.path_jail import AllowedPath, jail, stays_inside
from oraclepack.tools.tool_names import ORACLE


def recover(run: LockedRun, *, retry_rollback: bool = False) -> bool:
    """Clean up after a killed command, before the next one plans; whether files were changed."""
    if run.state.is_open:
        # Calls of oracle go on, they are paid for.
        for step_id, names in end_processes(run.state):
            run.warn(f"left over from a killed command and ended: {names}", "orphans", step_id)
        record_killed_changes(run)
        # Those of calls that ended; answers of the others may lie in theirs.
        sweep_folders(run.dir.path, run.root, _open_folders(run.state))
    if run.state.sessions:
        # Also of a command that has ended: it may have been killed on its way out.
        environment.forget_private(run.state.sessions[-1].started.private or "")
    return finish_rollback(run, retry=retry_rollback)


def sweep(run: RunDir, pack: Pack, state: RunState) -> None:
    """Remove what a killed command left half written. Needs the run's lock."""
    was_killed = state.is_open or not state.sessions
    run.sweep(*(_written_to(run, pack) if was_killed else ()))


def _written_to(run: RunDir, pack: Pack) -> set[Path]:
    """Where a killed command may have left a file half written, besides the run directory."""
    root = run.root
    paths = {output.path.value for step in pack.steps for output in step.outputs}
    judged = (jail(root, path) for path in paths if path)
    folders = {verdict.path.parent for verdict in judged if isinstance(verdict, AllowedPath)}
    failed = failed_folder(root, pack.out_dir, run.path) / run.run_id
    quarantines = {place for place in failed.glob("step-[0-9][0-9]") if stays_inside(root, place)}
    caches = [one.directory for one in answer_caches(root, user=True)]
    return folders | {*caches, *(folder / "unmet" for folder in caches)} | quarantines


def _open_folders(state: RunState) -> frozenset[str]:
    """The folders of questions without a known end: their answers may lie there."""
    calls = (one for step in state.steps.values() for one in step.invocations if one.is_open)
    intents = (one.intent for one in calls if one.intent is not None)
    return frozenset(one.private for one in intents if one.private is not None)


def end_processes(state: RunState) -> list[tuple[str | None, str]]:
    """End the processes of a killed command: the step (None is the prelude) and their names."""
    prelude = state.prelude_process
    left: list[tuple[str | None, ProcessIdentity | None, str | None]] = []
    if prelude is not None:
        left.append((None, prelude, prelude.token))
    for step_id, step in sorted(state.steps.items()):
        if step.status is Status.RUNNING:
            left.append((step_id, step.process, step.token))
            left += [(step_id, process, None) for process in _agents(step)]
    ended = ((step_id, _ended(process, token)) for step_id, process, token in left)
    return [(step_id, names) for step_id, names in ended if names]


def _agents(step: StepState) -> Iterator[ProcessIdentity]:
    """Processes of tools that the step called and that may still run, each in its own session.

    Calls of oracle are not ended: they are paid for and adopted later. The other tools are ended,
    since they could change files during the next attempt.
    """
    for invocation in step.invocations:
        intent = invocation.intent
        if invocation.is_open and intent is not None and intent.tool != ORACLE and intent.process:
            yield intent.process


def _ended(process: ProcessIdentity | None, token: str | None) -> str:
    """End a process and its descendants, found by their token; the names of those that ran."""
    if process and process_location(process.machine) is not ProcessLocation.HERE:
        return ""  # on this machine the same pid is another process
    # Without a recorded process only the token identifies it, and reading tokens needs /proc.
    if process is None and (token is None or not has_proc()):
        return ""
    left = end_leftovers(replace(process or ProcessIdentity(pid=0), token=token), OrphanTimeouts())
    return ", ".join(f"{orphan.command} ({orphan.pid})" for orphan in left)
