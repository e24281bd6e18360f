"""`tickets`: a pack from tickets, and the commands of its steps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.reply import Reply, ReplyError, partial_failure, rollback_notice
from oraclepack.errors import ExitCode, UsageError
from oraclepack.settings import run_settings
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import quantity
from oraclepack.tickets.steps_support import TicketSteps, check_tickets
from oraclepack.tickets.ticket import TicketCheck
from oraclepack.tickets.ticketify import TicketifyReport, TicketifyRequest, TicketsReply, ticketify

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


tickets = Group(
    "tickets",
    entries={
        "build": LazyCommand(
            "oraclepack.cli.commands.tickets:build",
            "Turn tickets into an index, a list of actions, a PRD and a pack.",
        ),
        "prompt": LazyCommand(f"{__name__}:prompt", "Print what an agent is to be asked."),
        "take": LazyCommand(
            f"{__name__}:take", "Check an agent's answer on stdin, and write it to a file."
        ),
        "tasks": LazyCommand(
            f"{__name__}:tasks", "Look at Task Master's results; changes none of them."
        ),
        "report": LazyCommand(f"{__name__}:report", "Write a report at the end of a turn."),
    },
    help="Turn tickets into a pack that works them off.",
)

STAGES = ("select", "implement", "verify", "docs", "regressions", "pr", "accept")
_TASKS = (
    "found",
    "wanted",
    "made",
    "kept",
    "complexity",
    "weighed",
    "expanded",
    "check",
    "selected",
    "sync",
)
_LONGEST_ANSWER = 4 * 1024 * 1024
_AGENT = click.Choice(["codex", "gemini"])
_out_dir = click.option(
    "--out-dir",
    default=".oraclepack/ticketify",
    show_default=True,
    metavar="DIR",
    help="Where ticketify put its files.",
)


@command("prompt", data="tickets-reply", examples=("oraclepack tickets prompt implement",))
@click.argument("stage", type=click.Choice(STAGES))
@_out_dir
def prompt(stage: str, out_dir: str, *, settings: Settings) -> Reply:
    """Print what an agent is to be asked.

    A line that begins with `SKIP:` says why there is nothing to ask.
    """
    return _reply(TicketSteps(settings.root, out_dir).prompt(stage))


@command(
    "take",
    data="tickets-reply",
    changes="one file of the out dir",
    examples=('printf "%s\\n" "$answer" | oraclepack tickets take select',),
)
@click.argument("stage", type=click.Choice(STAGES))
@click.option("--agent", type=_AGENT, default="gemini", show_default=True, help="Who answered.")
@click.option("--missing", type=_AGENT, help="Record that this reviewer is not installed.")
@_out_dir
def take(stage: str, agent: str, missing: str | None, out_dir: str, *, settings: Settings) -> Reply:
    """Check an agent's answer on stdin, and write it to a file.

    The file is written completely or not at all: an invalid answer is an error. For
    `select` the ids must be of open actions; for `accept` every criterion needs one verdict.
    """
    steps = TicketSteps(settings.root, out_dir)
    if missing is not None:
        return _reply(steps.note_missing(missing))
    return _reply(steps.take(stage, _answer(), agent))


@command(
    "tasks",
    data="tickets-reply",
    changes="for made, kept, expanded, check and sync: a file of the out dir",
    exit_codes=(ExitCode.CONTRACT,),
    examples=("oraclepack tickets tasks found", "oraclepack tickets tasks check"),
)
@click.argument("question", type=click.Choice(_TASKS))
@_out_dir
def tasks(question: str, out_dir: str, *, settings: Settings) -> Reply:
    """Look at Task Master's results; changes none of them.

    `found` and `complexity` answer `some` or `none`, `wanted` how many tasks to ask for,
    `selected` the task of the selected work if it may go to review. The others write figures:
    `made` and `kept` (tm-tasks.json), `expanded`, `check` (exit code 4 on problems) and `sync`;
    `weighed` demands a complexity report.
    """
    return _reply(*TicketSteps(settings.root, out_dir).tasks(question))


@command(
    "report",
    data="tickets-reply",
    changes="one file of the out dir",
    exit_codes=(ExitCode.CONTRACT,),
    examples=("oraclepack tickets report close-out",),
)
@click.argument("about", type=click.Choice(["changes", "audit", "close-out"]))
@_out_dir
def report(about: str, out_dir: str, *, settings: Settings) -> Reply:
    """Write a report at the end of a turn.

    `changes`: what differs from the last commit. `audit`: every file of ours, whether it is
    there and can be read; exit code 4 if one cannot. `close-out`: what was done and what is left.
    """
    return _reply(TicketSteps(settings.root, out_dir).report(about))


def _answer() -> str:
    """What an agent said, handed to us on stdin; cut where no answer is that long."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read(_LONGEST_ANSWER).decode("utf-8", "replace")


def _reply(reply: TicketsReply, warnings: tuple[str, ...] = ()) -> Reply:
    if reply.ok:
        return Reply(data=reply, text=reply.text, warnings=warnings)
    first, _, rest = reply.text.partition("\n")
    failure = ReplyError("PROBLEMS", "the check found problems", detail=rest, phase="check")
    return Reply(reply, first, ExitCode.CONTRACT, warnings=warnings, error=failure)
