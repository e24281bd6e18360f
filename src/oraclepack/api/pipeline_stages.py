"""Run the whole pipeline, and work with the results of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oraclepack.api.settings_access import load_settings
from oraclepack.journal.run_state import Ask
from oraclepack.pipeline.project_work import ProjectWork
from oraclepack.pipeline.run_pipeline import PipelineOutcome, PipelineRequest, run_pipeline
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.run_display import Display
from oraclepack.settings.registry import GITHUB_API_URL, Settings
from oraclepack.shell.stop import Stop


def pipeline(  # noqa: PLR0913 - each is optional and given by name
    pack: str,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    exports: Sequence[str] = (),
    allow_rehearsal: bool = False,
    junit: str | None = None,
    page: bool = False,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
    github: bool = False,
) -> PipelineOutcome:
    """Validate, run, verify and actionize a pack; `display`, `stop` and `ask` as for `run`.

    With `page` the HTML report of the run is written at the end.
    """
    request = PipelineRequest(
        pack,
        settings or load_settings(pack),
        arguments or RunArguments(),
        tuple(exports),
        allow_rehearsal,
        junit,
        github,
        page,
    )
    return run_pipeline(request, display, ask, stop)


def work(settings: Settings | None = None) -> ProjectWork:
    """Work with results: `followup` writes the next pack, `publish` creates issues on GitHub."""
    settings = settings or load_settings()
    return ProjectWork(Path(settings.root), settings[GITHUB_API_URL])
