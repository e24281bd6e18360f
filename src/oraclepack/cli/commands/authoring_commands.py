"""`generate`: a strict pack from the repository, without any model."""

from pathlib import Path
from typing import Any

import click

from oraclepack.authoring import generate as use_case
from oraclepack.authoring.blank import TEMPLATES, new_pack
from oraclepack.authoring.generation import GenerateReport, UpgradeReport
from oraclepack.authoring.upgrade import upgrade_pack
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError, partial_failure, rollback_notice
from oraclepack.cli.text import columns
from oraclepack.errors import ExitCode
from oraclepack.settings.registry import CWD, Settings
from oraclepack.settings.run_settings import ROLLBACK_ON_FAILURE


@command(
    "upgrade",
    data="upgraded",
    changes="nothing; with --write the pack",
    examples=("oraclepack upgrade old-pack.md", "oraclepack upgrade --write old-pack.md"),
)
@click.argument("pack")
@click.option("--write", is_flag=True, help="Write the strict form into the file.")
def upgrade(pack: str, *, write: bool, settings: Settings) -> Reply:
    """Propose the strict form of an old pack, with a proof.

    Only headers and prose are changed; the proof compares the bash of both forms. A pack that
    cannot be made strict without changing what it executes is left alone: exit code 2.
    """
    told = upgrade_pack(pack, settings, write=write)
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


def _talk(told: UpgradeReport) -> str:
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


def _advice(told: UpgradeReport) -> str:
    words = " ".join(told.reasons)
    if "questions; --strict wants" in words:
        return "validate it without --strict, or let `oraclepack generate` write twenty questions"
    return "mend these by hand; `oraclepack validate --fix` mends some of them"


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
def new(pack: str, template: str, *, force: bool, settings: Settings) -> Reply:
    """Write an empty pack that teaches the format.

    It is valid as it is; its comments tell what each part is for.
    """
    made = new_pack(pack, template, settings[CWD], force=force)
    return Reply(data=made, text=f"{made.path}: written from the template {made.template}\n")


@command(
    "generate",
    data="generated",
    changes="one pack file",
    settings=(ROLLBACK_ON_FAILURE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    rollback_available=True,
    examples=(
        "oraclepack generate",
        "oraclepack generate --focus src/billing --out docs/oracle-pack-billing.md",
        "oraclepack generate --chunked --model gpt-5.2 --engine api",
        'oraclepack generate --constraints "no new dependencies" --extra-file docs/adr.md',
    ),
)
@click.option("--out", default="", metavar="FILE", help="The pack [docs/oracle-pack-<date>.md].")
@click.option(
    "--out-dir",
    default="",
    metavar="DIR",
    help="Where answers go [beside the pack, oracle-answers-<its name>].",
)
@click.option("--force", is_flag=True, help="Replace the pack if it exists and is different.")
@click.option("--oracle-cmd", default="oracle", metavar="WORDS", help="How oracle is called.")
@click.option(
    "--oracle-flags",
    default="--files-report --wait",
    metavar="WORDS",
    help="Flags of every call  [default: --files-report --wait]",
)
@click.option("--model", default="", metavar="NAME", help="Ask this model (-m of oracle).")
@click.option("--engine", default="", metavar="NAME", help="Ask by this engine of oracle.")
@click.option(
    "--extra-file",
    "extra_files",
    multiple=True,
    metavar="FILE",
    help="Attach this tracked file to every question. May be given twice.",
)
@click.option("--constraints", default="", metavar="TEXT", help="What every answer must respect.")
@click.option("--non-goals", default="", metavar="TEXT", help="What no answer should deal with.")
@click.option(
    "--focus",
    multiple=True,
    metavar="PATH",
    help="Only ask about files at or below this path. May be repeated.",
)
@click.option("--chunked", is_flag=True, help="Ask for the four parts of each answer one by one.")
@click.option("--date", "day", default="", metavar="DAY", help="Instead of the commit's day.")
def generate(*, settings: Settings, **wishes: Any) -> Reply:  # noqa: ANN401 - click's own types
    """Write a strict pack of twenty questions about this repository.

    Asks no model: files are chosen and scored by fixed rules from the commit and its history, so
    the same commit and options give the same bytes.
    """
    wish = use_case.GenerateRequest(
        root=Path(settings.root),
        rollback_on_failure=settings[ROLLBACK_ON_FAILURE],
        **wishes,
    )
    outcome = use_case.generate(wish)
    data = outcome.data
    if not data.ok:
        return partial_failure(data, f"cannot write {data.path}", outcome.warnings)
    warnings = outcome.warnings + rollback_notice(data)
    return Reply(data=data, text=_text(data), warnings=warnings)


def _text(data: GenerateReport) -> str:
    rows = [
        (step.step_id, f"{step.roi:.2f}", step.category, step.reference, str(len(step.attachments)))
        for step in data.steps
    ]
    table = columns(("step", "ROI", "category", "reference", "files"), rows)
    done = "was already there, the same" if data.unchanged else "written"
    return f"{table}\n{data.path}: {done}; answers go to {data.out_dir}\n"
