"""Which runs of a project have written to a path, by their journals."""

import posixpath
from pathlib import Path

from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_dir import RunDir, is_rehearsal


def others_wrote(root: Path, own_run: str, path: str, since: str) -> bool:
    """Whether another run asked for an answer at this path, or put one there, after a moment."""
    place = posixpath.normpath(path)
    for run_id in run_dir.run_ids(root):
        for event in () if run_id == own_run else run_events(RunDir(root, run_id)):
            written = None
            if isinstance(event, j.InvocationIntent | j.InvocationOutcome):
                written = event.output_path
            elif isinstance(event, j.OutputRecorded | j.OutputRestored):
                written = event.declared_path
            if written and event.at > since and posixpath.normpath(written) == place:
                return True
    return False


def run_events(run: RunDir) -> tuple[AnyEvent, ...]:
    """The events of a real, signed run; foreign runs are ignored."""
    try:
        examined = run_dir.examine(run)
    except InputError:
        return ()
    events = examined.reading.events
    created = next((one for one in events if isinstance(one, j.RunCreated)), None)
    if examined.foreign is not None or created is None or is_rehearsal(created.engine):
        return ()
    return events
