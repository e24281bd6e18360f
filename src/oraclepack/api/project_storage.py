"""The records of a project: runs, cached answers, quarantine, foreign records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.api.settings_access import load_settings
from oraclepack.run.accept import AcceptReport, accept_outputs
from oraclepack.run.project_records import (
    ForeignRecords,
    ProjectCache,
    ProjectQuarantine,
    ProjectRecords,
    ProjectRuns,
)
from oraclepack.run.run_control import ControlRequest
from oraclepack.run.undo import UndoReport, undo_step
from oraclepack.settings.registry import Settings

if TYPE_CHECKING:
    from oraclepack.report.run_comparison import RunComparison


class ComparableRuns(ProjectRuns):
    """The runs of a project, which can also be compared."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._project = root

    def diff(
        self, first: str, second: str, *, fail_on: Sequence[str] = (), html: str = ""
    ) -> RunComparison:
        """What the second run says that the first does not; runs are named as for `report`."""
        # Comparing loads the whole of `work`, which listing runs does not need.
        from oraclepack.report.compare_runs import diff_runs

        return diff_runs(self._project, first, second, fail_on=fail_on, html=html)


def runs(root: str | Path) -> ComparableRuns:
    """The runs of a project: list, show, status, watch, logs, control, diff, prune, rebuild."""
    return ComparableRuns(Path(root))


def cache(root: str | Path) -> ProjectCache:
    """The cached answers of a project: list, show, explain, prune."""
    return _records(root).cache


def quarantine(root: str | Path) -> ProjectQuarantine:
    """The outputs of failed attempts: list, restore."""
    return _records(root).quarantine


def foreign_records(root: str | Path) -> ForeignRecords:
    """What is not signed with the user's key: find it, look at it, trust it."""
    return _records(root).foreign


def _records(root: str | Path) -> ProjectRecords:
    return ProjectRecords(Path(root))


def accept(
    pack: str,
    step: str,
    settings: Settings | None = None,
    *,
    reason: str = "",
    outputs: Sequence[str] = (),
    run_id: str | None = None,
) -> AcceptReport:
    """Take the outputs of a step as they are, whatever their contracts say."""
    settings = settings or load_settings(pack)
    return accept_outputs(pack, step, settings, reason=reason, outputs=outputs, run_id=run_id)


def undo(
    pack: str, step: str, settings: Settings | None = None, run_id: str | None = None
) -> UndoReport:
    """Take back what a step changed in the work tree."""
    return undo_step(pack, step, settings or load_settings(pack), run_id)


def control_request(
    action: str,
    *,
    step: str | None = None,
    call: int | None = None,
    now: bool = False,
    values: Mapping[str, str] | None = None,
    answer: str = "",
    by: str = "",
) -> ControlRequest:
    """A request for `runs(root).control`: `stop`, `pause`, `resume`, `set` or `answer`."""
    return ControlRequest(
        action=action,
        step=step,
        call=call,
        now=now,
        values=dict(values or {}),
        answer=answer,
        by=by,
    )
