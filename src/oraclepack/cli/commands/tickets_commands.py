"""`tickets`: commands for the steps of the ticket action pack."""

from __future__ import annotations

import sys

import click

from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.errors import ExitCode
from oraclepack.settings.registry import Settings
from oraclepack.tickets.steps_support import TicketSteps
from oraclepack.tickets.ticketify import TicketsReply

tickets = Group(
    "tickets",
    entries={
        "build": LazyCommand(
            "oraclepack.cli.commands.ticketify_command:build",
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
