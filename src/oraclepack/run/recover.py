"""What a command does because an earlier one was killed: everything stands in `REPAIRS`.

`run` recovers before it plans, `runs repair` before it computes files. Beyond this, any
command that opens a run removes what was half written (`sweep`), calls without an end are looked
for when their question is asked again (`calls/interrupted.py`), and `undo` goes on with an undo
that was cut off.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from oraclepack.calls.call_folder import sweep_folders
from oraclepack.calls.file_store import answer_caches
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import RollbackStatus, Status
from oraclepack.journal.step_state import StepState
from oraclepack.pack.model import Pack
from oraclepack.run.quarantine import failed_folder
from oraclepack.run.recorder import Recorder
from oraclepack.run.rollback import finish_rollback, is_unfinished, roll_back
from oraclepack.run.tree_guard import recover_change
from oraclepack.shell.attempt import ProcessIdentity, StartedProcess
from oraclepack.shell.orphans import OrphanTimeouts, end_leftovers
from oraclepack.shell.processes import has_proc
from oraclepack.system import environment
from oraclepack.system.machine import ProcessLocation, process_location
from oraclepack.system.path_jail import AllowedPath, jail, stays_inside
from oraclepack.tools.tool_names import ORACLE


class KilledRun(msgspec.Struct, frozen=True):
    """A run that is locked by us, and on which a command may have been killed."""

    root: Path
    run: RunDir
    record: Recorder
    quarantine: Path
    retry_rollback: bool

    @property
    def state(self) -> RunState:
        return self.record.state

    def warn(self, code: str, message: str, step: str | None = None) -> None:
        self.record.append(j.WarningRecorded(step=step, code=code, message=message))


def _end_processes(killed: KilledRun) -> bool:
    """End processes of steps and of tools; calls of oracle go on, they are paid for."""
    if killed.state.is_open:
        for step_id, names in end_processes(killed.state):
            killed.warn("orphans", f"left over from a killed command and ended: {names}", step_id)
    return False


def _record_changes(killed: KilledRun) -> bool:
    """Record what a mutating step had changed in the work tree."""
    if killed.state.is_open:
        recover_change(killed.root, killed.run, killed.record)
    return False


def _remove_call_folders(killed: KilledRun) -> bool:
    """Remove the folders of calls that ended; answers of the others may lie in theirs."""
    if killed.state.is_open:
        sweep_folders(killed.run.path, killed.root, _open_folders(killed.state))
    return False


def _remove_private_directory(killed: KilledRun) -> bool:
    """Remove the command's private directory; it may have been killed on its way out."""
    if killed.state.sessions:
        environment.forget_private(killed.state.sessions[-1].started.private or "")
    return False


def _finish_rollback(killed: KilledRun) -> bool:
    """Finish a rollback that was cut off; try one again that failed, where that is wanted."""
    root, run, record, folder = killed.root, killed.run, killed.record, killed.quarantine
    changed = killed.state.is_open and is_unfinished(killed.state)
    if changed:
        status = roll_back(root, run, record, folder)
        killed.warn("rollback", f"the rollback of an earlier command was interrupted; now {status}")
    last = killed.state.rollback
    if killed.retry_rollback and last is not None and last.status is RollbackStatus.FAILED:
        changed |= finish_rollback(root, run, record, folder)
    return changed


REPAIRS: tuple[Callable[[KilledRun], bool], ...] = (
    _end_processes,
    _record_changes,
    _remove_call_folders,
    _remove_private_directory,
    _finish_rollback,
)
"""In this order; each returns whether it changed files of the project."""


def recover(
    root: Path, run: RunDir, record: Recorder, quarantine: Path, *, retry_rollback: bool = False
) -> bool:
    """Clean up after a killed command, before the next one plans; whether files were changed."""
    killed = KilledRun(root, run, record, quarantine, retry_rollback)
    results = [repair(killed) for repair in REPAIRS]
    return any(results)


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
    started = StartedProcess(
        pid=process.pid if process else 0,
        pgid=(process.pgid if process else None) or 0,
        start_time=(process.start_time if process else None) or "",
        token=token or "",
    )
    left = end_leftovers(started, OrphanTimeouts())
    return ", ".join(f"{orphan.command} ({orphan.pid})" for orphan in left)
