"""`tickets`: a pack from tickets, and the commands of its steps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from oraclepack.cli.command import Group, command, option
from oraclepack.cli.reply import Reply, ReplyError, partial_failure, rollback_notice
from oraclepack.errors import ExitCode, UsageError
from oraclepack.settings import run_settings
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import quantity
from oraclepack.tickets.steps_support import REPORTS, TicketSteps, check_tickets
from oraclepack.tickets.ticket import MOST_TICKETS, AgentStage, TicketCheck, TicketMode
from oraclepack.tickets.ticketify import (
    PARTS,
    TicketifyReport,
    TicketifyRequest,
    TicketsReply,
    ticketify,
)

tickets = Group("tickets", "Turn tickets into a pack that works them off.")


@command(
    "build",
    group=tickets,
    data="ticketify-report",
    changes="its out dir and the PRD; with --check only the report",
    settings=(run_settings.ROLLBACK_ON_FAILURE,),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.CONTRACT),
    examples=(
        "oraclepack tickets build",
        "oraclepack tickets build --tickets-dir docs/tickets --top-n 50",
        "oraclepack tickets build --exclude 'archive/' --mode pipelines",
        "oraclepack tickets build --check",
    ),
)
@option("--tickets-dir DIR", "[default: .tickets, else tickets]")
@option("--glob NAME", "Which files are tickets.", default="**/*.md")
@option("--include GLOB", "Only these.", many=True)
@option("--exclude GLOB", "Not these.", many=True)
@option("--top-n N", "At most so many, by path.", default=25, least=1, most=MOST_TICKETS)
@option("--out-dir DIR", "Where the files go.", default=".oraclepack/ticketify")
@option("--prd-path FILE", "Where the PRD goes.", default=".taskmaster/docs/tickets_prd.md")
@option(
    "--mode",
    "Also write pipelines.md or autopilot.md, or ask one agent alone.",
    default=TicketMode.BACKLOG.value,
    type=click.Choice([mode.value for mode in TicketMode]),
)
@option("--only", "Refresh this part alone.", type=click.Choice(PARTS))
@option("--check", "Only check whether the files match the tickets.")
@option("--report", "With --check: write it down.", type=click.Choice(REPORTS))
@option("--force", "Replace a PRD that was edited; a backup is kept.")
@option("--regenerate", "Move Task Master's results away, and have them made again.")
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


_STAGE = click.Choice([stage.value for stage in AgentStage])
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
_out_dir = option(
    "--out-dir DIR", "Where ticketify put its files.", default=".oraclepack/ticketify"
)


@command(
    "prompt", group=tickets, data="tickets-reply", examples=("oraclepack tickets prompt implement",)
)
@click.argument("stage", type=_STAGE)
@_out_dir
def prompt(stage: str, out_dir: str, *, settings: Settings) -> Reply:
    """Print what an agent is to be asked.

    A line that begins with `SKIP:` says why there is nothing to ask.
    """
    return _reply(TicketSteps.at(Path(settings.root), out_dir).prompt(AgentStage(stage)))


@command(
    "take",
    group=tickets,
    data="tickets-reply",
    changes="one file of the out dir",
    examples=('printf "%s\\n" "$answer" | oraclepack tickets take select',),
)
@click.argument("stage", type=_STAGE)
@option("--agent", "Who answered.", default="gemini", type=_AGENT)
@option("--missing", "Record that this reviewer is not installed.", type=_AGENT)
@_out_dir
def take(stage: str, agent: str, missing: str | None, out_dir: str, *, settings: Settings) -> Reply:
    """Check an agent's answer on stdin, and write it to a file.

    The file is written completely or not at all: an invalid answer is an error. For
    `select` the ids must be of open actions; for `accept` every criterion needs one verdict.
    """
    steps = TicketSteps.at(Path(settings.root), out_dir)
    if missing is not None:
        return _reply(steps.note_missing(missing))
    return _reply(steps.take(AgentStage(stage), _answer(), agent))


@command(
    "tasks",
    group=tickets,
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
    return _reply(*TicketSteps.at(Path(settings.root), out_dir).tasks(question))


@command(
    "report",
    group=tickets,
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
    return _reply(TicketSteps.at(Path(settings.root), out_dir).report(about))


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
