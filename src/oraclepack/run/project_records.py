"""The runs of a project, with all that can be done to them."""

from collections.abc import Iterator
from pathlib import Path

from oraclepack.journal.run_dir import run_ids
from oraclepack.run.control import ControlReply, ControlRequest, send_request
from oraclepack.run.prune_runs import RunsPruneReport, prune_runs
from oraclepack.run.rebuild import RebuildReport, rebuild
from oraclepack.run.run_display import Display
from oraclepack.run.watch_run import (
    LogChunk,
    LogReport,
    WatchUpdate,
    log_files,
    read_logs,
    watch_events,
)
from oraclepack.shell.logs import LogWindow
from oraclepack.view.past_runs import LATEST, RunDetails, RunList, list_runs, named_run, show_run
from oraclepack.view.run_status import RunStatus, run_status


class ProjectRuns:
    """The runs of a project."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    def ids(self) -> tuple[str, ...]:
        """Their names, sorted; nothing is read but the directory."""
        return run_ids(self._root)

    def list(self) -> RunList:
        """All of them at a glance, the newest first."""
        return list_runs(self._root)

    def show(self, name: str) -> RunDetails:
        """One in full, by its name or the beginning of it."""
        return show_run(self._root, name)

    def status(self, name: str = LATEST) -> RunStatus:
        """How one stands now: its steps, calls, waits, cost and open decisions."""
        return run_status(named_run(self._root, name))

    def watch(
        self, name: str = LATEST, display: Display | None = None, *, from_start: bool = False
    ) -> Iterator[WatchUpdate]:
        """What the last command on a run does, as it happens, until no command works on it.

        Reads the journal and the logs, and nothing else. A display receives it first.
        """
        return watch_events(named_run(self._root, name), display, from_start=from_start)

    def logs(
        self,
        name: str = LATEST,
        step: str | None = None,
        *,
        stderr: bool = False,
        failed: bool = False,
        follow: bool = False,
    ) -> Iterator[LogChunk]:
        """What steps printed, or the console of a detached command, in pieces."""
        run = named_run(self._root, name)
        return read_logs(run, step, stderr=stderr, failed=failed, follow=follow)

    def log_files(
        self,
        name: str = LATEST,
        step: str | None = None,
        *,
        stderr: bool = False,
        failed: bool = False,
    ) -> LogReport:
        """The logs that `logs` would read, with their sizes."""
        return log_files(named_run(self._root, name), step, stderr=stderr, failed=failed)

    def log_windows(self, name: str, step: str) -> tuple[LogWindow, ...]:
        """The ends of what a step printed: standard output, then standard error."""
        run = named_run(self._root, name)
        paths = (run.log(one.path) for one in log_files(run, step).logs)
        return tuple(LogWindow(path) for path in paths if path is not None)

    def control(self, name: str, request: ControlRequest) -> ControlReply:
        """Ask the command that works on a run to stop, pause, resume, set or take an answer.

        Raises ControlError where no command works on it, or it refuses.
        """
        return send_request(named_run(self._root, name), request)

    def prune(
        self, *, older_than: float | None = None, keep: int | None = None, dry_run: bool = False
    ) -> RunsPruneReport:
        """Remove finished runs that hold nothing unique; `older_than` is in seconds."""
        return prune_runs(self._root, older_than=older_than, keep=keep, dry_run=dry_run)

    def rebuild(self, name: str | None = None) -> RebuildReport:
        """Compute the files of runs from their journals once more."""
        return rebuild(self._root, name)
