"""`new` and `upgrade`: a pack from a template, and an old one made strict."""

from __future__ import annotations

import click

from oraclepack import api
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.errors import ExitCode

TEMPLATES = ("single", "chunked", "runbook")


@command(
    "upgrade",
    data="upgrade-report",
    changes="nothing; with --write the pack",
    examples=(
        "oraclepack upgrade old-pack.md",
        "oraclepack upgrade --write old-pack.md",
        "oraclepack upgrade --work-lines old-pack.md",
    ),
)
@click.argument("pack")
@click.option("--write", is_flag=True, help="Write the strict form into the file.")
@click.option(
    "--work-lines",
    is_flag=True,
    help="Let the prompts ask for WORK lines too; the next run asks them again.",
)
def upgrade(pack: str, *, write: bool, work_lines: bool, settings: api.Settings) -> Reply:
    """Propose the strict form of an old pack, with a proof.

    Only headers and prose are changed; the proof compares the bash of both forms. A pack that
    cannot be made strict without changing what it executes is left alone: exit code 2.
    """
    told = api.upgrade(pack, settings, write=write, work_lines=work_lines)
    if told.upgradable:
        return Reply(data=told, text=told.diff, talk=_talk(told))
    failure = ReplyError(
        "NOT_UPGRADABLE",
        f"{pack} cannot be made strict without changing what it executes",
        detail="\n".join(told.reasons),
        phase="upgrade",
        suggestion=_advice(told),
    )
    text = "".join(f"- {reason}\n" for reason in told.reasons)
    return Reply(data=told, text=text, exit_code=ExitCode.INVALID, error=failure)


def _talk(told: api.UpgradeReport) -> str:
    if not told.changed:
        return f"{told.path} is strict already\n"
    lines = [f"- {note}" for note in told.notes]
    if told.proof is not None:
        lines.append(
            f"proof: {told.proof.commands_before} commands before, {told.proof.commands_after}"
            f" after, the same bash (sha256 {told.proof.sha256_before[:12]})"
        )
    lines.append(f"{told.path}: written" if told.written else "nothing written; --write does it")
    return "".join(f"{line}\n" for line in lines)


def _advice(told: api.UpgradeReport) -> str:
    words = " ".join(told.reasons)
    if "questions; --strict wants" in words:
        return "validate it without --strict, or let `oraclepack generate` write twenty questions"
    return "fix these by hand; `oraclepack validate --fix` fixes some of them"


@command(
    "new",
    data="new-pack",
    changes="one pack file",
    examples=(
        "oraclepack new docs/oracle-pack.md",
        "oraclepack new --template runbook docs/release.md",
    ),
)
@click.argument("pack")
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    default="single",
    help="One file for an answer, four files, or steps without questions  [default: single]",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def new(pack: str, template: str, *, force: bool, settings: api.Settings) -> Reply:
    """Write an empty pack that teaches the format.

    It is valid as it is; its comments tell what each part is for.
    """
    made = api.new_pack(pack, template, settings[api.CWD], force=force)
    return Reply(data=made, text=f"{made.path}: written from the template {made.template}\n")
