"""The command of a detached run: its report to the command that started it."""

from __future__ import annotations

from oraclepack.cli.reply import Reply
from oraclepack.journal import events
from oraclepack.journal.events import KnownEvent
from oraclepack.run.run_display import RunPreview
from oraclepack.run.start_run import detached_report
from oraclepack.system.environment import is_detached


class DetachedStart:
    """Reports the beginning of a detached run; nothing where the run is none."""

    def __init__(self) -> None:
        self._report = detached_report() if is_detached() else None
        self._preview: RunPreview | None = None

    @property
    def is_detached(self) -> bool:
        return self._report is not None

    def begin(self, preview: RunPreview) -> None:
        self._preview = preview

    def event(self, event: KnownEvent) -> None:
        """The run has begun with the first event of the command itself."""
        if self._report is None or self._preview is None:
            return
        if not isinstance(event, events.SessionStarted):
            return
        self._report.begun(self._preview.run_id, self._preview.run_dir)


def report_start(reply: Reply) -> None:
    """Report why no run has begun, if so: the command has ended."""
    report = detached_report() if is_detached() else None
    if report is None:
        return
    error = reply.error
    report.failed(
        exit_code=int(reply.exit_code),
        code=error.code if error else "NOT_STARTED",
        message=error.message if error else "the command ended without a run",
        detail=error.detail if error else "",
        hint=error.suggestion if error else "",
        retryable=error.retryable if error else False,
        retry_after=error.retry_after if error else None,
    )
