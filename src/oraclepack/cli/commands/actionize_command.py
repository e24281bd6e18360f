"""`actionize`: answers → work items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from msgspec.structs import asdict

from oraclepack.cli.command import command, command_words, logs_json
from oraclepack.cli.display import PackSessions
from oraclepack.cli.render import to_stderr
from oraclepack.cli.reply import Reply, Styled, partial_failure, rollback_notice
from oraclepack.cli.run_options import allow_rehearsal_option, export_option, per_option
from oraclepack.cli.run_reply import run_failure
from oraclepack.cli.run_text import NO_POLICY, idle_thresholds, policy_failure, policy_line
from oraclepack.cli.text import from_here
from oraclepack.errors import ExitCode
from oraclepack.run.policy import YieldPolicy
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import Settings
from oraclepack.system.digests import canonical_line
from oraclepack.work.actionize import actionize_and_weigh
from oraclepack.work.backlog import ActionizeReport

_FIGURES = ("pack_id", "out_dir", "steps", "answered", "tasks", "action_yield", "failed_step")


@command(
    "actionize",
    data="actionize-report",
    changes="the directory actionizer/ of the run or of the answers, or --out-dir",
    settings=(
        rs.ROLLBACK_ON_FAILURE,
        rs.CI,
        rs.INTERACTIVE,
        rs.JSON_LOG,
        rs.MIN_YIELD,
        cs.ENGINE,
        cs.MAX_COST,
        cs.MAX_CALLS,
        cs.ON_UNKNOWN,
        cs.REFRESH,
    ),
    starts="with --ask: oracle, whose calls cost money",
    exit_codes=(
        ExitCode.STEP_FAILED,
        ExitCode.POLICY,
        ExitCode.LOCKED,
        ExitCode.BUDGET,
        ExitCode.DECISION,
        ExitCode.TERMINATED,
    ),
    rollback_available=True,
    examples=(
        "oraclepack actionize",
        "oraclepack actionize --run-dir .oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10",
        "oraclepack actionize --run-dir DIR --export github,taskmaster",
        "oraclepack actionize --run-dir DIR --export github --per task",
        "oraclepack actionize --run-dir DIR --ci --min-yield 1",
        "oraclepack actionize --answers docs/answers --pack docs/pack.md --json",
        "oraclepack actionize --ask --max-cost 0.50",
    ),
)
@click.option("--run-dir", metavar="DIR", default="", help="The run; by default the newest one.")
@click.option("--answers", metavar="DIR", default="", help="A plain directory of 01-*.md answers.")
@click.option("--pack", metavar="PACK", default="", help="The pack that --answers belong to.")
@click.option("--out-dir", metavar="DIR", default="", help="Write the files to this directory.")
@export_option
@per_option
@allow_rehearsal_option
@click.option(
    "--ask", is_flag=True, help="Let a model read answers that state no work; costs money."
)
@click.option("--ask-model", metavar="MODEL", default="", help="The model that --ask asks.")
def actionize(*, settings: Settings, **options: Any) -> Reply:
    """Turn answers into a backlog, a change plan and tracker files.

    The same answers give the same bytes. Text that you put between marked lines of backlog.md
    survives. A question without an answer becomes a blocked task.
    What comes from a rehearsal is marked in every file, and exported only with --allow-rehearsal.

    Without --ask no model is asked: work that an answer states is taken, other prose is sorted by
    a few plain rules. With --ask a model names the work of each answer that states none, and rules
    check that it quotes the answer; the price is shown first, what was asked once is not asked
    again, and --ci needs --max-cost.

    With --ci the policy decides: fewer actionable tasks per answered step than --min-yield is
    exit code 5, but the files are still written. It never asks a question, so
    --non-interactive changes nothing; --json-log writes a line of JSON per file and one for the
    figures on stderr.
    """
    sessions = PackSessions(settings, yes=False)
    outcome = actionize_and_weigh(
        settings, front_ends=sessions.open, argv=command_words(), **options
    )
    report, policy = outcome.report, outcome.policy
    warnings = outcome.warnings + idle_thresholds(settings, rs.MIN_YIELD)
    if logs_json(settings):
        to_stderr("".join(_log(report)))
    if not report.ok:
        return partial_failure(report, f"cannot write {report.failed_step}", warnings)
    short = policy.action_yield.shortfall
    suggestion = f"what is blocked is listed in {from_here(f'{report.out_dir}/backlog.md')}"
    error = policy_failure((short,), suggestion) if outcome.exit_code and short else None
    if outcome.asked is not None:
        error = run_failure(outcome.asked)
    notices = warnings + rollback_notice(report)
    unjudged = (NO_POLICY,) if settings[rs.CI] and not policy.applies else ()
    text = (*_text(report, policy), *unjudged)
    return Reply(report, text, outcome.exit_code, warnings=notices, error=error)


def _log(report: ActionizeReport) -> Iterator[str]:
    """One JSON line per file, then one with the figures; no time, so the same bytes each time."""
    for artifact in report.artifacts:
        yield _line("artifact", asdict(artifact))
    figures = {name: getattr(report, name) for name in _FIGURES}
    yield _line("actionized", {**figures, "policy": report.policy})


def _line(kind: str, fields: dict[str, object]) -> str:
    return canonical_line({"kind": kind, **fields}).decode() + "\n"


def _text(report: ActionizeReport, policy: YieldPolicy) -> tuple[str | Styled, ...]:
    counts = ", ".join(f"{count} {status}" for status, count in report.tasks.items())
    lines = [f"{report.answered} of {report.steps} answers: {counts}"]
    for artifact in report.artifacts:
        state = "written" if artifact.changed else "unchanged"
        lines.append(f"{from_here(f'{report.out_dir}/{artifact.path}')} {state}")
    text = "".join(f"{line}\n" for line in lines)
    if not policy.applies:
        return (text,)
    work = policy.action_yield
    figures = f"yield {work.ratio:.2f} of {work.required:g}"
    return (text, *policy_line(met=policy.met, figures=figures))
