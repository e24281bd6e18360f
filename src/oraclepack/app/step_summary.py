"""The summary page of a GitHub workflow, told what a run came to."""

from pathlib import Path

from oraclepack.adapters import step_summary
from oraclepack.pack.model import Pack
from oraclepack.pack.questions import title_of
from oraclepack.run.run_report import RunTold
from oraclepack.system import environment as surroundings
from oraclepack.system.secrets import Redactor

VARIABLE = "GITHUB_STEP_SUMMARY"


def tell_github(told: RunTold, pack: Pack) -> tuple[str, ...]:
    """Append a table to the page, where there is one; trouble with it is only a warning."""
    environment = surroundings.environment()
    place = environment.get(VARIABLE)
    if not place:
        return ()
    from oraclepack.report.github import summary  # noqa: PLC0415 - only on GitHub

    redactor = Redactor.of(environment)
    titles = {str(step.id): redactor.clean(title_of(step)) for step in pack.steps}
    text = summary(redactor.clean_record(told), pack.path, titles)
    trouble = step_summary.append(Path(place), text)
    return () if trouble is None else (f"{VARIABLE}: {trouble}",)
