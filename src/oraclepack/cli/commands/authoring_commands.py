"""`new` and `upgrade`: a pack from a template, and an old one made strict."""

from __future__ import annotations

import click

from oraclepack import api
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import ExitCode

TEMPLATES = ("single", "chunked", "runbook")


@command(
    "upgrade",
    data="upgrade-report",
    changes="nothing; with --write the pack",
    examples=(
        "oraclepack upgrade old-pack.md",
        "oraclepack upgrade --write old-pack.md",
        "oraclepack upgrade --work-block old-pack.md",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@click.option("--write", is_flag=True, help="Write the strict form into the file.")
@click.option(
    "--work-block",
    "--work-lines",
    "work_block",
    is_flag=True,
    help="Let the prompts ask for stated work too; the next run asks them again.",
)
def upgrade(pack: str, *, write: bool, work_block: bool, settings: api.Settings) -> Reply:
    """Propose the strict form of an old pack, with a proof.

    Only headers and prose are changed; the proof compares the bash of both forms. A pack that
    cannot be made strict without changing what it executes is left alone: exit code 2.
    """
    report = api.upgrade(pack, settings, write=write, work_block=work_block)
    if report.upgradable:
        return Reply(data=report, text=report.diff, talk=_progress(report))
    failure = ReplyError(
        "NOT_UPGRADABLE",
        f"{pack} cannot be made strict without changing what it executes",
        detail="\n".join(report.reasons),
        phase="upgrade",
        suggestion=_advice(report),
    )
    text = "".join(f"- {reason}\n" for reason in report.reasons)
    return Reply(data=report, text=text, exit_code=ExitCode.INVALID, error=failure)


def _progress(report: api.UpgradeReport) -> str:
    if not report.changed:
        return f"{report.path} is strict already\n"
    lines = [f"- {note}" for note in report.notes]
    if report.proof is not None:
        lines.append(
            f"proof: {report.proof.commands_before} commands before, {report.proof.commands_after}"
            f" after, the same bash (sha256 {report.proof.sha256_before[:12]})"
        )
    lines.append(
        f"{report.path}: written" if report.written else "nothing written; --write does it"
    )
    return "".join(f"{line}\n" for line in lines)


def _advice(report: api.UpgradeReport) -> str:
    words = " ".join(report.reasons)
    if "questions; --strict requires" in words:
        return "validate it without --strict, or add the questions that are missing"
    return f"fix these by hand; `oraclepack validate {report.path}` says what --fix can do"


@command(
    "new",
    data="new-pack",
    changes="one pack file",
    examples=(
        "oraclepack new docs/oracle-pack.md",
        "oraclepack new --template runbook docs/release.md",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    default="single",
    help="One file for an answer, four files, or steps without questions  [default: single]",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def new(pack: str, template: str, *, force: bool, settings: api.Settings) -> Reply:
    """Write an empty pack that teaches the format.

    Its comments explain each part. Its questions are placeholders, which are errors: write yours
    before you run it.
    """
    report = api.new_pack(pack, template, settings[api.CWD], force=force)
    return Reply(data=report, text=f"{report.path}: written from the template {report.template}\n")
