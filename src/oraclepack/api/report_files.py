"""Runs, findings and forecasts as files and pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oraclepack.api.settings_access import load_settings
from oraclepack.lint.validate import ValidateResult
from oraclepack.pipeline.record_pages import ProjectPages
from oraclepack.report import forecast_comment as comments
from oraclepack.report import github, sarif
from oraclepack.report.gather_report import gather_report
from oraclepack.report.report_data import ReportData
from oraclepack.report.write_report import ReportOutcome, find_run, write_report
from oraclepack.report.write_site import SiteReport, write_site
from oraclepack.run.forecast import CostForecast
from oraclepack.settings.registry import CWD, Settings


def report(
    target: str = "",
    settings: Settings | None = None,
    *,
    out: str = "",
    form: str = "html",
    redact: bool = False,
) -> ReportOutcome:
    """Write a run into one file: a page, or with `form` as `md` or `trace`.

    `target` is a run, a run directory or a pack; without it the newest run of the project is meant.
    """
    chosen = settings or load_settings()
    root, cwd = Path(chosen.root), chosen[CWD]
    return write_report(root, target, out=out, form=form, redact=redact, cwd=cwd)


def report_site(
    directory: str,
    settings: Settings | None = None,
    *,
    projects: Sequence[str] = (),
    redact: bool = False,
) -> SiteReport:
    """Write a page for every run of the project, or of several, and an index with trends."""
    chosen = settings or load_settings()
    return write_site(Path(chosen.root), directory, projects, redact=redact, cwd=chosen[CWD])


def read_run(target: str = "", settings: Settings | None = None) -> ReportData:
    """Everything about a run that a report shows; `target` as for `report`. Writes nothing."""
    return gather_report(find_run(Path((settings or load_settings()).root), target))


def pages(root: str | Path) -> ProjectPages:
    """Packs, events, answers and work of a project in pages."""
    return ProjectPages(Path(root))


def format_findings(outcome: ValidateResult, form: str) -> str:
    """The findings as `sarif` or as workflow commands for `github`."""
    findings = {checked.path: checked.findings for checked in outcome.checked}
    return github.annotations(findings) if form == "github" else sarif.sarif_of_rules(findings)


def forecast_comment(forecast: CostForecast, pack: str) -> str:
    """A forecast in Markdown, for a comment on a pull request."""
    return comments.comment(forecast, pack)
