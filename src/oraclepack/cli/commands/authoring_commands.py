"""`new` and `upgrade`: a pack from a template, and an old one made strict."""

from __future__ import annotations

from pathlib import Path

import click

from oraclepack.authoring.blank import new_pack
from oraclepack.authoring.generation import UpgradeReport
from oraclepack.authoring.upgrade import upgrade_pack
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.text import from_here
from oraclepack.cli.value_completion import pack_files, run_ids
from oraclepack.errors import ExitCode, UsageError
from oraclepack.pipeline.run_followup import FollowupResult, followup_run
from oraclepack.settings.registry import CWD, Settings
from oraclepack.system.printable import quantity, single_lines

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
def upgrade(pack: str, *, write: bool, work_block: bool, settings: Settings) -> Reply:
    """Propose the strict form of an old pack, with a proof.

    Only headers and prose are changed; the proof compares the bash of both forms. A pack that
    cannot be made strict without changing what it executes is left alone: exit code 2.
    """
    report = upgrade_pack(pack, settings, write=write, work_block=work_block)
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


def _progress(report: UpgradeReport) -> str:
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


def _advice(report: UpgradeReport) -> str:
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
        "oraclepack new --from-run latest docs/next.md",
    ),
)
@click.argument("pack", required=False, shell_complete=pack_files)
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    default="single",
    help="One file for an answer, four files, or steps without questions  [default: single]",
)
@click.option(
    "--from-run",
    metavar="RUN",
    help="The open questions of this run; latest is the newest.",
    shell_complete=run_ids,
)
@click.option("--run-dir", metavar="DIR", default="", hidden=True, help="The same as --from-run.")
@click.option("--out", metavar="PACK", default="", hidden=True, help="The pack to write.")
@click.option("--force", is_flag=True, help="Replace the file if it exists and is different.")
def new(
    pack: str | None,
    template: str,
    from_run: str | None,
    run_dir: str,
    out: str,
    *,
    force: bool,
    settings: Settings,
) -> Reply:
    """Write a new pack: a template, or what a run left open.

    The comments of a template explain each part. Its questions are placeholders, which are errors:
    write yours before you run it.

    With --from-run the pack asks the open questions of a run again: those whose answer was cut
    off, could not decide, is missing or contradicts another. Each gets the files that its missing
    evidence names in the repository, a summary of what is known, and an output of its own; PACK is
    NAME-followup.md by default. Files that look like secrets are never attached.
    """
    if from_run is not None:
        chosen = run_dir or ("" if from_run == "latest" else from_run)
        return _open_questions(followup_run(chosen, Path(settings.root), pack or out, force=force))
    if pack is None:
        raise UsageError("Missing argument 'PACK'.", hint="name the file to write: docs/pack.md")
    report = new_pack(pack, template, settings[CWD], force=force)
    text = f"{report.path}: written from the template {report.template}\n"
    return Reply(
        report, text, talk=f"next: write your questions, then oraclepack validate {pack}\n"
    )


def _open_questions(done: FollowupResult) -> Reply:
    report = single_lines(done.report)
    if not report.pack:
        return Reply(done.report, "nothing is open: no pack was written\n", warnings=done.warnings)
    lines = [
        f"{one.step_id} asks question {one.original_step} again ({', '.join(one.reasons)}): "
        f"{', '.join(one.files) or 'no file'}"
        for one in report.questions
    ]
    for one in report.questions:
        lines += [f"{one.step_id} not found: {name}" for name in one.unmatched]
        lines += [f"{one.step_id} not attached, a secret or too large: {p}" for p in one.refused]
        if one.not_attached:
            lines.append(f"{one.step_id} also matching: {quantity(one.not_attached, 'file')}")
    lines.append(f"{from_here(report.pack)} {'written' if report.changed else 'unchanged'}")
    return Reply(done.report, "".join(f"{line}\n" for line in lines), warnings=done.warnings)
