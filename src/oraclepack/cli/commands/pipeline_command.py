"""`pipeline`: validate → run → verify → actionize, the entry point for CI."""

from pathlib import Path

import click

from oraclepack.cli.command import command
from oraclepack.cli.display import asking, display
from oraclepack.cli.event_lines import to_stderr
from oraclepack.cli.pipeline_text import failure_of, pipeline_text
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import (
    allow_rehearsal_option,
    asked,
    export_option,
    exports_named,
    notices,
    picking,
)
from oraclepack.cli.run_reply import continuing
from oraclepack.cli.run_text import RunLocation, idle_thresholds
from oraclepack.errors import ExitCode
from oraclepack.pipeline.pipeline_exports import (
    annotations_for_github,
    refuse_bad_place,
    tell_summary,
    write_junit,
)
from oraclepack.pipeline.pipeline_report import PipelineReport
from oraclepack.pipeline.run_pipeline import Pipeline, PipelineRequest
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import CWD, LINT_IGNORE, LINT_SELECT, OUTPUT, STRICT, Settings
from oraclepack.system.printable import single_lines


@command(
    "pipeline",
    data="pipeline-report",
    changes="what run and actionize change, and the file of --junit",
    settings=(
        STRICT,
        LINT_SELECT,
        LINT_IGNORE,
        *rs.RUN_SETTINGS,
        *rs.PIPELINE_SETTINGS,
        *cs.CALL_SETTINGS,
    ),
    exit_codes=(
        ExitCode.STEP_FAILED,
        ExitCode.CONTRACT,
        ExitCode.POLICY,
        ExitCode.LOCKED,
        ExitCode.TERMINATED,
    ),
    timed=True,
    rollback_available=True,
    examples=(
        "oraclepack pipeline pack.md",
        "oraclepack pipeline pack.md --engine rehearsal",
        "oraclepack pipeline pack.md --ci --min-completion 0.9 --min-yield 1",
        "oraclepack pipeline pack.md --ci --json --junit report.xml --export github",
    ),
)
@click.argument("pack")
@picking
@export_option
@allow_rehearsal_option
@click.option("--junit", metavar="FILE", help="Also write JUnit XML, a case for every step.")
def pipeline(
    pack: str, *, settings: Settings, exports: tuple[str, ...], junit: str | None, **flags: object
) -> Reply:
    """Validate, run, verify and actionize a pack in one go.

    What fails ends the pipeline and is kept; the same command continues. With --keep-going or
    --ci the stages after it have their turn all the same, and with --ci the policy decides:
    --min-completion and --min-yield.
    """
    if junit is not None:
        refuse_bad_place(Path(junit), settings[CWD])
    allowed = bool(flags.pop("allow_rehearsal"))
    wish = PipelineRequest(pack, settings, asked(flags), exports_named(exports), allowed)
    work = Pipeline(wish)
    way_on = ""
    if work.validate():
        with display(settings) as shown:
            person = asking(settings, shown, yes=bool(flags["yes"]))
            work.prepare(shown.observers, person, shown.expect)
            result = work.run()
        way_on = continuing(work.prepared.argv, result.plan, result.state)
        work.warnings += notices(result.found.notice)
    told, code = work.told()
    warnings = (
        work.warnings
        + idle_thresholds(settings, rs.MIN_COMPLETION, rs.MIN_YIELD)
        + _reported(work, told, junit, settings)
    )
    place = RunLocation(Path(settings.root), Path.cwd())
    text = pipeline_text(single_lines(told), work.checked, place, junit)
    text += (_annotations(work, told),) if settings[OUTPUT] != "json" else ()
    error = failure_of(told, code, way_on, work.suggestion) if code else None
    return Reply(told, text, ExitCode(code), warnings=warnings, error=error)


def _reported(
    work: Pipeline, told: PipelineReport, junit: str | None, settings: Settings
) -> tuple[str, ...]:
    """Everything for the surroundings that is not the answer itself."""
    warnings: tuple[str, ...] = ()
    if junit is not None:
        warnings += write_junit(Path(junit), told, work.pack, Path(settings.root))
    if settings[OUTPUT] == "json":
        # Stdout is one envelope; GitHub reads workflow commands from stderr as well.
        to_stderr(_annotations(work, told))
    return warnings + tell_summary(told, work.pack)


def _annotations(work: Pipeline, told: PipelineReport) -> str:
    return annotations_for_github(told, work.checked, work.pack)
