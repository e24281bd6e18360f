"""`tickets build`: tickets become an index, actions, a PRD and a pack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError, partial_failure, rollback_notice
from oraclepack.errors import ExitCode, UsageError
from oraclepack.settings import run_settings
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import quantity
from oraclepack.tickets.steps_support import check_tickets
from oraclepack.tickets.ticket import TicketCheck
from oraclepack.tickets.ticketify import TicketifyReport, TicketifyRequest, ticketify

MODES = ("backlog", "pipelines", "autopilot", "codex", "gemini")
PARTS = ("index", "actions", "prd")
REPORTS = ("check", "determinism")
MOST_TICKETS = 200


@command(
    "build",
    data="ticketify-report",
    changes="its out dir and the PRD; with --check only the report",
    settings=(run_settings.ROLLBACK_ON_FAILURE,),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.CONTRACT),
    rollback_available=True,
    examples=(
        "oraclepack tickets build",
        "oraclepack tickets build --tickets-dir docs/tickets --top-n 50",
        "oraclepack tickets build --exclude 'archive/' --mode pipelines",
        "oraclepack tickets build --check",
    ),
)
@click.option("--tickets-dir", default="", metavar="DIR", help="[default: .tickets, else tickets]")
@click.option("--glob", default="**/*.md", show_default=True, help="Which files are tickets.")
@click.option("--include", multiple=True, metavar="GLOB", help="Only these. May be repeated.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Not these. May be repeated.")
@click.option(
    "--top-n",
    type=click.IntRange(1, MOST_TICKETS),
    default=25,
    show_default=True,
    help="At most so many, by path.",
)
@click.option(
    "--out-dir",
    default=".oraclepack/ticketify",
    show_default=True,
    metavar="DIR",
    help="Where the files go.",
)
@click.option(
    "--prd-path",
    default=".taskmaster/docs/tickets_prd.md",
    show_default=True,
    metavar="FILE",
    help="Where the PRD goes.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=MODES[0],
    show_default=True,
    help="Also write pipelines.md or autopilot.md, or ask one agent alone.",
)
@click.option("--only", type=click.Choice(PARTS), help="Refresh this part alone.")
@click.option("--check", is_flag=True, help="Only check whether the files match the tickets.")
@click.option("--report", type=click.Choice(REPORTS), help="With --check: write it down.")
@click.option("--force", is_flag=True, help="Replace a PRD that was edited; a backup is kept.")
@click.option(
    "--regenerate", is_flag=True, help="Move Task Master's results away, and have them made again."
)
def build(
    *, settings: Settings, check: bool, report: str | None, **wishes: Any
) -> Reply:  # click gives each its type
    """Turn tickets into an index, a list of actions, a PRD and a pack.

    A ticket is a Markdown file. Its id is `id`, `ticket` or `key` of the front matter, else the
    file name. Its actions are its task-list items and the bullets below "Acceptance Criteria", also
    in blocks marked ```ticket. Tickets that name no action are counted. The same tickets and
    options give the same bytes.
    """
    wishes |= {"rollback_on_failure": settings[run_settings.ROLLBACK_ON_FAILURE]}
    request = TicketifyRequest(root=Path(settings.root), **wishes)
    if check:
        return _checked(*check_tickets(request, report))
    if report is not None:
        raise UsageError("--report belongs to --check")
    outcome = ticketify(request)
    data = outcome.data
    if not data.ok:
        return partial_failure(data, f"cannot write {data.failed_step}", outcome.warnings)
    warnings = outcome.warnings + rollback_notice(data)
    return Reply(data=data, text=_text(data), warnings=warnings)


def _text(data: TicketifyReport) -> str:
    head = (
        f"{quantity(data.selected, 'ticket')} of {data.tickets_dir}, "
        f"{quantity(data.actions, 'action')}, {data.done} done"
    )
    idle = len(data.without_actions)
    lines = [f"{head}, {quantity(idle, 'ticket')} without actions" if idle else head]
    lines += [f"wrote {path}" for path in data.written]
    lines += [f"backup: {path}" for path in data.backups]
    if not (data.written or data.backups):
        lines.append("nothing has changed")
    return "\n".join([*lines, f"next: oraclepack run {data.pack}"])


def _checked(result: TicketCheck, warnings: tuple[str, ...]) -> Reply:
    text = "".join(f"{file.state}: {file.path}\n" for file in result.files)
    if result.ok:
        return Reply(data=result, text=text, warnings=warnings)
    failure = ReplyError(
        "STALE", _fault(result), phase="check", suggestion="oraclepack tickets build"
    )
    return Reply(result, text, ExitCode.CONTRACT, warnings=warnings, error=failure)


def _fault(result: TicketCheck) -> str:
    if not result.repeatable:
        return "the same tickets gave other bytes the second time"
    wrong = [file.path for file in result.files if file.state != "same"]
    return f"not what the tickets say: {', '.join(wrong)}"
