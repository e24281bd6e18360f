"""`pipeline`: validate → run → verify → actionize, the entry point for CI."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from oraclepack.cli.command import command, logs_json
from oraclepack.cli.display import DisplaySession
from oraclepack.cli.pipeline_text import failure_of, pipeline_text
from oraclepack.cli.render import to_stderr
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import (
    allow_rehearsal_option,
    export_option,
    picking,
    run_arguments,
)
from oraclepack.cli.run_reply import started_reply
from oraclepack.cli.run_text import NO_POLICY, RunLocation, idle_thresholds
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import ExitCode
from oraclepack.pipeline.run_pipeline import PipelineRequest, run_pipeline
from oraclepack.run.entry_points import start_run
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.notify_settings import NOTIFY
from oraclepack.settings.registry import LINT_IGNORE, LINT_SELECT, OUTPUT, STRICT, Settings
from oraclepack.system.printable import single_lines


@command(
    "pipeline",
    data="pipeline-report",
    changes="what run and actionize change, the file of --junit, the page of --report",
    effect="execute",
    starts="the bash of the pack and the tools it calls; their calls cost money",
    settings=(
        STRICT,
        LINT_SELECT,
        LINT_IGNORE,
        *rs.RUN_SETTINGS,
        *rs.PIPELINE_SETTINGS,
        *cs.CALL_SETTINGS,
        NOTIFY,
    ),
    exit_codes=(
        ExitCode.STEP_FAILED,
        ExitCode.CONTRACT,
        ExitCode.POLICY,
        ExitCode.LOCKED,
        ExitCode.BUDGET,
        ExitCode.DECISION,
        ExitCode.TERMINATED,
    ),
    runs_something=True,
    rollback_available=True,
    examples=(
        "oraclepack pipeline pack.md",
        "oraclepack pipeline pack.md --engine rehearsal",
        "oraclepack pipeline pack.md --ci --min-completion 0.9 --min-yield 1",
        "oraclepack pipeline pack.md --ci --json --junit report.xml --export github",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@picking
@export_option
@allow_rehearsal_option
@click.option("--junit", metavar="FILE", help="Also write JUnit XML, a case for every step.")
@click.option("--report", "page", is_flag=True, help="Also write the HTML report of the run.")
def pipeline(
    pack: str,
    *,
    settings: Settings,
    exports: tuple[str, ...],
    junit: str | None,
    page: bool,
    **flags: object,
) -> Reply:
    """Validate, run, verify and actionize a pack in one go.

    A stage that fails ends the pipeline; everything is kept, and the same command continues. With
    --keep-going or
    --ci the stages after it still run, and with --ci the policy decides:
    --min-completion and --min-yield.
    """
    allowed = bool(flags.pop("allow_rehearsal"))
    arguments = run_arguments(flags)
    if flags["detach"]:
        more = [*(f"--export={word}" for word in exports)]
        more += ["--allow-rehearsal"] if allowed else []
        more += [f"--junit={junit}"] if junit else []
        started = start_run(pack, settings, arguments, command="pipeline", more=more)
        return started_reply(started)
    with DisplaySession(settings, yes=bool(flags["yes"])) as watching:
        request = PipelineRequest(
            pack,
            settings,
            msgspec.structs.replace(arguments, detached=watching.is_detached),
            exports,
            allowed,
            junit,
            github=True,
            page=page,
        )
        outcome = run_pipeline(request, watching, watching.ask, watching.stop)
    report, code = outcome.report, outcome.exit_code
    warnings = watching.unshown_warnings(outcome) + idle_thresholds(
        settings, rs.MIN_COMPLETION, rs.MIN_YIELD
    )
    way_on = outcome.continue_command
    error = failure_of(report, pack, code, way_on, outcome.suggestion) if code else None
    place = RunLocation(outcome.root, Path.cwd(), pack)
    text = pipeline_text(single_lines(report), outcome.checked, place, junit, error)
    if settings[rs.CI] and report.policy is not None and not report.policy.applies:
        text += (NO_POLICY,)
    if settings[OUTPUT] == "text":
        text += (outcome.annotations,)
    elif not logs_json(settings):
        # Stdout is one envelope; GitHub reads workflow commands from stderr as well.
        to_stderr(outcome.annotations)
    return Reply(report, text, code, warnings=warnings, error=error)
