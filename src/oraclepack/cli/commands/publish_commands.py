"""`publish`: the work of a run as issues of a tracker."""

from __future__ import annotations

from pathlib import Path

import click

from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.run_options import per_option
from oraclepack.errors import ExitCode
from oraclepack.settings.registry import GITHUB_API_URL, Settings
from oraclepack.system.printable import single_lines
from oraclepack.work.backlog import IssuesPer
from oraclepack.work.publish_issues import PublishRequest, publish_run

publish = Group(
    "publish",
    entries={
        "github": LazyCommand(
            f"{__name__}:publish_github",
            "Create or update an issue on GitHub for each question of a run, or for each task.",
        )
    },
    help="Publish the work of a run to a tracker.",
)


@command(
    "github",
    data="publish-report",
    changes="the issues of the repository, and published.jsonl in the run directory",
    starts="requests to GitHub",
    settings=(GITHUB_API_URL,),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.LOCKED),
    examples=(
        "oraclepack publish github --dry-run",
        "oraclepack publish github --repo octo/shop --run-dir DIR",
        "oraclepack publish github --repo octo/shop --run-dir DIR --per task",
    ),
)
@click.option("--repo", metavar="OWNER/NAME", default="", help="By default that of git's origin.")
@click.option("--run-dir", metavar="DIR", default="", help="The run; by default the newest one.")
@per_option
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only list what would be created or updated.",
)
@click.option(
    "--allow-rehearsal", is_flag=True, help="Publish even what a rehearsal answered, marked so."
)
def publish_github(
    repo: str,
    run_dir: str,
    per: str | None,
    *,
    dry_run: bool,
    allow_rehearsal: bool,
    settings: Settings,
) -> Reply:
    """Create or update an issue on GitHub for each question of a run, or for each task.

    The token is read from GH_TOKEN or GITHUB_TOKEN. An issue is found again by a marker in its
    text, so the same command a second time changes nothing, and after a kill it continues without
    a duplicate. Closed issues are not touched. Ticks, titles and text that people wrote around
    the marked part stay. What was published is recorded in published.jsonl of the run.

    --dry-run creates nothing. It reads the issues that exist, with the token if there is one;
    where GitHub cannot be reached it goes by what the run has recorded.
    """
    request = PublishRequest(
        repo,
        run_dir,
        IssuesPer(per or IssuesPer.QUESTION),
        settings[GITHUB_API_URL],
        dry_run,
        allow_rehearsal,
    )
    done = publish_run(request, Path(settings.root))
    report = single_lines(done.report)
    would = "would be " if dry_run else ""
    lines = [
        f"{would if one.action in {'created', 'updated'} else ''}{one.action}"
        f"{f' #{one.number}' if one.number else ''} {one.title}"
        f"{f' ({one.reason})' if one.reason else ''}"
        for one in report.issues
    ]
    counts = ", ".join(
        f"{count} {would if action in {'created', 'updated'} else ''}{action}"
        for action, count in report.totals.items()
        if count
    )
    nothing = "nothing to publish" if report.ok else "nothing was published"
    lines.append(f"{report.repository}: {counts or nothing}")
    text = "".join(f"{line}\n" for line in lines)
    if report.ok:
        return Reply(done.report, text, warnings=done.warnings)
    error = ReplyError(
        "GITHUB",
        report.error,
        retryable=report.retry_after is not None,
        suggestion=done.hint or "run the same command again; what was published is recorded",
        retry_after=report.retry_after,
    )
    return Reply(done.report, text, ExitCode.STEP_FAILED, warnings=done.warnings, error=error)
