"""The runs of a project for the api: everything of `ProjectRuns`, and the comparison of two."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.run.project_records import ProjectRuns

if TYPE_CHECKING:
    from oraclepack.report.run_comparison import RunComparison


class ComparableRuns(ProjectRuns):
    """The runs of a project, which can also be compared."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._project = root

    def diff(
        self, first: str, second: str, *, fail_on: Sequence[str] = (), html: str = ""
    ) -> "RunComparison":
        """What the second run says that the first does not; runs are named as for `report`."""
        # Comparing needs the whole of `work`; listing runs should not wait for it.
        from oraclepack.report.compare_runs import diff_runs

        return diff_runs(self._project, first, second, fail_on=fail_on, html=html)
