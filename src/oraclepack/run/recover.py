"""Recovery after a killed command (`kill -9`): its processes, changed files, and rollback."""

from collections.abc import Iterator
from pathlib import Path

from oraclepack.calls.call_folder import sweep_folders
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Status
from oraclepack.journal.step_state import StepState
from oraclepack.run.recorder import Recorder
from oraclepack.run.rollback import is_unfinished, roll_back
from oraclepack.run.tree_guard import recover_change
from oraclepack.shell.attempt import ProcessIdentity, StartedProcess
from oraclepack.shell.orphans import OrphanTimeouts, end_leftovers
from oraclepack.shell.processes import has_proc
from oraclepack.system import environment
from oraclepack.system.machine import ProcessLocation, process_location
from oraclepack.tools.tool_names import ORACLE


def recover(root: Path, run: RunDir, record: Recorder, folder: Path) -> bool:
    """Clean up after a killed command, before the next one plans; whether files were changed."""
    for step_id, names in end_processes(record.state):
        message = f"left over from a killed command and ended: {names}"
        record.append(j.WarningRecorded(step=step_id, code="orphans", message=message))
    recover_change(root, run, record)
    sweep_folders(run.path, root, _open_folders(record.state))
    environment.forget_private(record.state.sessions[-1].started.private or "")
    if is_unfinished(record.state):
        status = roll_back(root, run, record, folder)
        message = f"the rollback of an earlier command was interrupted; now {status}"
        record.append(j.WarningRecorded(code="rollback", message=message))
        return True
    return False


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
