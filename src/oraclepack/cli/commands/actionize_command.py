"""`actionize`: answers → work items."""

from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import asdict, replace

from oraclepack.cli.command import command
from oraclepack.cli.event_lines import to_stderr
from oraclepack.cli.reply import Reply, Styled, partial_failure, rollback_notice
from oraclepack.cli.run_options import allow_rehearsal_option, export_option, exports_named
from oraclepack.cli.run_text import idle_thresholds, policy_failure, policy_line
from oraclepack.errors import ExitCode
from oraclepack.run.policy import YieldPolicy, weigh, yield_of
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import Settings
from oraclepack.system.digests import canonical_line
from oraclepack.system.environment import project_of
from oraclepack.work.actionize import ActionizeRequest, actionize_request
from oraclepack.work.backlog import ActionizeReport, WorkStatus
from oraclepack.work.engine_actionize import BACKLOG

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
    ),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.POLICY, ExitCode.LOCKED),
    rollback_available=True,
    examples=(
        "oraclepack actionize --run-dir .oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10",
        "oraclepack actionize --run-dir DIR --export github,taskmaster",
        "oraclepack actionize --run-dir DIR --ci --min-yield 1",
        "oraclepack actionize --answers docs/answers --pack docs/pack.md --json",
    ),
)
@click.option("--run-dir", metavar="DIR", default="", help="The run whose answers are meant.")
@click.option("--answers", metavar="DIR", default="", help="A plain directory of 01-*.md answers.")
@click.option("--pack", metavar="PACK", default="", help="The pack that --answers belong to.")
@click.option("--out-dir", metavar="DIR", default="", help="Where to write instead.")
@export_option
@allow_rehearsal_option
def actionize(
    run_dir: str,
    answers: str,
    pack: str,
    out_dir: str,
    exports: tuple[str, ...],
    *,
    allow_rehearsal: bool,
    settings: Settings,
) -> Reply:
    """Turn the answers of a pack into a backlog, a change plan and tracker files.

    No model is asked and the same answers give the same bytes. Text that you put between marked
    lines of backlog.md survives. A question without an answer is a blocked task, never a gap.
    What comes from a rehearsal is marked in every file, and exported only with --allow-rehearsal.

    With --ci the policy decides: fewer actionable tasks per answered step than --min-yield is
    exit code 5, and the files are written all the same. It never asks a question, so
    --non-interactive changes nothing; --json-log writes a line of JSON per file and one for the
    figures on stderr.
    """
    undo = settings[rs.ROLLBACK_ON_FAILURE]
    request = ActionizeRequest(
        run_dir, answers, pack, out_dir, exports_named(exports), undo, allow_rehearsal
    )
    done = actionize_request(request, _root(request, settings))
    policy = _policy(done.told, settings)
    told = replace(done.told, policy=policy)
    warnings = done.warnings + idle_thresholds(settings, rs.MIN_YIELD)
    if settings[rs.JSON_LOG] or settings[rs.CI]:
        to_stderr("".join(_log(told)))
    if not told.ok:
        return partial_failure(told, f"cannot write {told.failed_step}", warnings)
    code = weigh(failed=False, met=policy.met if policy.applies else None, unweighable=False)
    short = policy.action_yield.shortfall
    suggestion = f"what is blocked stands in {told.out_dir}/{BACKLOG}"
    error = policy_failure((short,), suggestion) if code and short else None
    said = warnings + rollback_notice(told)
    return Reply(told, _text(told, policy), code, warnings=said, error=error)


def _policy(told: ActionizeReport, settings: Settings) -> YieldPolicy:
    figures = yield_of(told.tasks[WorkStatus.ACTIONABLE], told.answered, settings[rs.MIN_YIELD])
    return YieldPolicy(applies=settings[rs.CI], met=figures.shortfall is None, action_yield=figures)


def _log(told: ActionizeReport) -> Iterator[str]:
    """One JSON line per file, then one with the figures; no time, so the same bytes each time."""
    for artifact in told.artifacts:
        yield _line("artifact", asdict(artifact))
    figures = {name: getattr(told, name) for name in _FIGURES}
    yield _line("actionized", {**figures, "policy": told.policy})


def _line(kind: str, fields: dict[str, object]) -> str:
    return canonical_line({"kind": kind, **fields}).decode() + "\n"


def _root(request: ActionizeRequest, settings: Settings) -> Path:
    """The project: where a run directory lies, unless it was moved elsewhere."""
    home = project_of(Path(request.run_dir)) if request.run_dir else None
    return home or Path(settings.root)


def _text(told: ActionizeReport, policy: YieldPolicy) -> tuple[str | Styled, ...]:
    counts = ", ".join(f"{told.tasks[status]} {status}" for status in WorkStatus)
    lines = [f"{told.answered} of {told.steps} answers: {counts}"]
    for artifact in told.artifacts:
        state = "written" if artifact.changed else "unchanged"
        lines.append(f"{told.out_dir}/{artifact.path} {state}")
    text = "".join(f"{line}\n" for line in lines)
    if not policy.applies:
        return (text,)
    work = policy.action_yield
    figures = f"yield {work.ratio:.2f} of {work.required:g}"
    return (text, *policy_line(met=policy.met, figures=figures))
