"""`--wait-for RUN`: a run that begins its steps after another one has ended."""

import select
from pathlib import Path

from oraclepack.errors import UsageError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import Journal
from oraclepack.journal.statuses import Wait
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop
from oraclepack.system import locks
from oraclepack.view.past_runs import named_run

_POLL_MS = 300
_LONGEST_CHAIN = 100


def run_to_wait_for(root: Path, name: str, own: RunDir) -> RunDir:
    """The run of this name, if waiting for it can come to an end. Changes nothing."""
    target = named_run(root, name, other_than=own)
    seen, current = 0, target
    while seen < _LONGEST_CHAIN:
        if current.name == own.name:
            raise UsageError(
                f"--wait-for {name}: run {target.name} waits for this one itself",
                hint="leave --wait-for out, or stop the other run first",
            )
        following = run_dir.examine(current).own_state().waits_for
        if following is None or locks.holder_of(current.path) is None:
            break
        current = named_run(root, following)
        seen += 1
    return target


def wait_for_end(record: Journal, stop: Stop, target: RunDir | None) -> bool:
    """Wait until no command works on the other run any more, or this one is stopped.

    Returns whether there was anything to wait for.
    """
    if target is None or locks.holder_of(target.path) is None:
        return False
    record.append(
        j.WaitStarted(step="", attempt=0, call=0, wait=1, reason=Wait.OTHER_RUN, detail=target.name)
    )
    poll = select.poll()
    for descriptor in stop.polite_fds:
        poll.register(descriptor, select.POLLIN)
    while stop.level is StopLevel.NONE and locks.holder_of(target.path) is not None:
        poll.poll(_POLL_MS)
    record.append(j.WaitFinished(step="", attempt=0, call=0, wait=1))
    return True
