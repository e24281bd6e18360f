"""`new`, `generate`, `survey` and `upgrade`: packs are written."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from shlex import quote
from typing import Any

import click

from oraclepack.authoring import generate as generating
from oraclepack.authoring import survey as surveying
from oraclepack.authoring.blank import TEMPLATES, new_pack
from oraclepack.authoring.generate import GenerateRequest
from oraclepack.authoring.generation import GeneratedStep, GenerateReport, UpgradeReport
from oraclepack.authoring.upgrade import upgrade_pack
from oraclepack.cli.command import ASKING, command, command_words, option
from oraclepack.cli.display import PackSessions
from oraclepack.cli.options import FormerChoice
from oraclepack.cli.outcome import run_failure
from oraclepack.cli.reply import Reply, ReplyError, partial_failure, rollback_notice
from oraclepack.cli.text import columns, from_here
from oraclepack.cli.value_completion import pack_files, run_ids
from oraclepack.errors import ExitCode, UsageError
from oraclepack.pipeline.run_followup import FollowupResult, followup_run
from oraclepack.run.ask_model import ModelAsker
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import CWD, OUTPUT, STRICT, Settings
from oraclepack.system.printable import quantity, single_lines
from oraclepack.system.terminal import ask as terminal_ask
from oraclepack.system.terminal import can_ask, is_terminal


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
@option("--write", "Write the strict form into the file.")
@option(
    "--work-block --work-lines",
    "Let the prompts ask for stated work too; the next run asks them again.",
    name="work_block",
)
def upgrade(pack: str, *, write: bool, work_block: bool, settings: Settings) -> Reply:
    """Propose the strict form of an old pack, with a proof.

    Only headers and prose are changed; the proof compares the bash of both forms. A pack that
    cannot be made strict without changing what it executes is left alone: exit code 2.
    """
    report = upgrade_pack(pack, settings, write=write, work_block=work_block)
    if report.upgradable:
        onwards = "validate --strict" if report.written else "upgrade --write"
        onwards = f"oraclepack {onwards} {quote(pack)}" if report.changed else ""
        return Reply(data=report, text=report.diff, talk=_upgraded(report), next=onwards)
    failure = ReplyError(
        "NOT_UPGRADABLE",
        f"{pack} cannot be made strict without changing what it executes",
        detail="\n".join(report.reasons),
        phase="upgrade",
        suggestion=_advice(report),
    )
    text = "".join(f"- {reason}\n" for reason in report.reasons)
    return Reply(data=report, text=text, exit_code=ExitCode.INVALID, error=failure)


def _upgraded(report: UpgradeReport) -> str:
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
    settings=(STRICT,),
    examples=(
        "oraclepack new docs/pack.md",
        "oraclepack new --strict docs/oracle-pack.md",
        "oraclepack new --template runbook docs/release.md",
        "oraclepack new --from-run latest docs/next.md",
    ),
)
@click.argument("pack", required=False, shell_complete=pack_files)
@option(
    "--template",
    "Three plain questions; two with the metadata of a review; four files; no questions.",
    type=FormerChoice(TEMPLATES, {"single": "review"}),
)
@option("--from-run RUN", "The open questions of this run; latest is the newest.", complete=run_ids)
@option("--run-dir DIR", "The same as --from-run.", hidden=True)
@option("--out PACK", "The pack to write.", hidden=True)
@option("--force", "Replace the file if it exists and is different.")
def new(
    pack: str | None,
    template: str | None,
    from_run: str,
    run_dir: str,
    out: str,
    *,
    force: bool,
    settings: Settings,
) -> Reply:
    """Write a new pack: a template, or what a run left open.

    The comments of a template explain each part. Its questions are placeholders, which are errors:
    write yours before you run it. --template is short, review (also with --strict: the metadata
    that a strict pack needs), chunked or runbook.

    With --from-run the pack asks the open questions of a run again: those whose answer was cut
    off, could not decide, is missing or contradicts another. Each gets the files that its missing
    evidence names in the repository, a summary of what is known, and an output of its own; PACK is
    NAME-followup.md by default. Files that look like secrets are never attached.
    """
    if from_run:
        chosen = run_dir or ("" if from_run == "latest" else from_run)
        return _open_questions(followup_run(chosen, Path(settings.root), pack or out, force=force))
    if pack is None:
        raise UsageError("Missing argument 'PACK'.", hint="name the file to write: docs/pack.md")
    template = template or ("review" if settings[STRICT] else "short")
    report = new_pack(pack, template, settings[CWD], force=force)
    text = f"{report.path}: written from the template {report.template}\n"
    return Reply(report, text, next=f"write your questions, then oraclepack validate {quote(pack)}")


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
    text = "".join(f"{line}\n" for line in lines)
    onwards = f"oraclepack plan {quote(from_here(report.pack))}"
    return Reply(done.report, text, warnings=done.warnings, next=onwards)


_MANY_FILES = 1000
"""From this many files on, reading takes long enough to say how far it is."""
_EVERY = 200


@command(
    "survey",
    data="survey-report",
    changes="nothing",
    examples=(
        "oraclepack survey",
        "oraclepack survey --since origin/main --max-tokens 6000",
        "oraclepack survey --focus src/billing --json",
    ),
)
@option("--since REF", "Also tell what changed since this commit.")
@option("--focus PATH", "Only facts of this path.", many=True)
@option("--exclude PATH|GLOB", "Leave these files out.", many=True)
@option(
    "--max-tokens N",
    "How long the brief may be",
    default=12_000,
    least=500,
    most=200_000,
)
def survey(
    since: str,
    focus: tuple[str, ...],
    exclude: tuple[str, ...],
    max_tokens: int,
    *,
    settings: Settings,
) -> Reply:
    """Show what a writer of questions needs to know of it.

    A brief in Markdown, or facts as JSON, each with its path, its line and the line itself: what
    the project promises, its public surface and central files, functions that were fixed again and
    again, copies that drifted apart, waits without a limit, dense functions, tests, changes, open
    tickets. Asks no model; the same commit gives the same bytes.
    """
    report, notices = surveying.survey(
        Path(settings.root),
        since=since,
        focus=focus,
        exclude=exclude,
        max_tokens=max_tokens,
        progress=_progress if is_terminal() and settings[OUTPUT] == "text" else _no_progress,
    )
    text = surveying.brief(report)
    return Reply(data=report, text=text, warnings=notices, next="oraclepack generate")


@command(
    "generate",
    data="generate-report",
    changes="one pack file; with --ask also a run below .oraclepack",
    settings=(
        rs.ROLLBACK_ON_FAILURE,
        rs.CI,
        rs.INTERACTIVE,
        cs.MAX_COST,
        cs.ON_UNKNOWN,
        cs.REFRESH,
    ),
    starts="with --ask: oracle, whose call costs money",
    exit_codes=ASKING,
    examples=(
        "oraclepack generate --explain",
        "oraclepack generate --focus src/billing --out docs/oracle-pack-billing.md",
        "oraclepack generate --since origin/main --stdout",
        'oraclepack generate --constraints "no new dependencies" --extra-file docs/adr.md',
        "oraclepack generate --ask --yes --max-cost 5",
    ),
)
@option("--out FILE", "The pack  [default: docs/oracle-pack-<date>.md]")
@option("--out-dir DIR", "Where answers go [beside the pack, oracle-answers-<its name>].")
@option("--stdout", "Print the pack and write nothing.", name="to_stdout")
@option("--force", "Replace the pack if it exists and is different.")
@option("--focus PATH|SYMBOL", "Only ask about this path, function or class.", many=True)
@option("--since REF", "Only ask about what changed since the fork point from this commit.")
@option("--exclude PATH|GLOB", "Leave these files out.", many=True)
@option("--count N", "How many questions at most  [default: 10, with --ask 20]", least=1, most=99)
@option("--ask", "Let a model write the questions; costs money.")
@option("--ask-model MODEL", "The model that --ask asks [oracle's own].")
@option("-y --yes", "Send files to that model without a question.")
@option("--explain", "Print each question, its evidence and its score.")
@option("--oracle-cmd WORDS", "How oracle is called.", default="oracle")
@option(
    "--oracle-flags WORDS",
    "Flags of every call",
    default="--files-report --wait",
)
@option("--model NAME", "Ask this model (-m of oracle).")
@option("--engine NAME", "Ask by this engine of oracle.")
@option(
    "--extra-file FILE",
    "Attach this tracked file to every question.",
    name="extra_files",
    many=True,
)
@option("--constraints TEXT", "What every answer must respect.")
@option("--non-goals TEXT", "What no answer should deal with.")
@option("--chunked", "Ask for the four parts of each answer one by one.")
@option("--date DAY", "Instead of the commit's day.", name="day")
def generate(
    *,
    settings: Settings,
    count: int | None,
    explain: bool,
    yes: bool,
    ask: bool,
    ask_model: str,
    **wishes: Any,
) -> Reply:
    """Write a pack of questions about this repository.

    Without --ask no model is asked: the code and its history are read, and every question quotes
    the lines that it is based on. There are six kinds of questions and seldom more than ten of
    them; the same commit and options give the same bytes. Without any evidence no pack is written:
    exit code 2. With --since the diff and the subjects of the commits are part of each question.

    With --ask a model gets a survey and the central files and writes up to twenty questions. Rules
    check each: quoted lines are in the commit, files are the right ones, nothing is asked twice or
    answered by yes. What fails is dropped with the reason. The price is shown first, what was asked
    once is not asked again, and --ci needs --max-cost.
    """
    asker = None
    if ask or ask_model:
        asker = ModelAsker(
            settings,
            command="generate --ask",
            model=ask_model,
            front_ends=PackSessions(settings, yes=yes).open,
            argv=command_words(),
        )
    request = GenerateRequest(
        root=Path(settings.root),
        asker=asker,
        count=count or 0,
        may_send=lambda question: yes or _may_send(question, settings),
        rollback_on_failure=settings[rs.ROLLBACK_ON_FAILURE],
        progress=_progress if is_terminal() and settings[OUTPUT] == "text" else _no_progress,
        **wishes,
    )
    result = generating.generate(request)
    data = result.data
    if result.failed is not None:
        error = run_failure(result.failed)
        return Reply(data, "", result.failed.exit_code, warnings=result.warnings, error=error)
    if not data.ok:
        return partial_failure(data, f"cannot write {data.path}", result.warnings)
    warnings = result.warnings + rollback_notice(data)
    if data.text is not None:
        talk = _explained(data.steps) if explain else ""
        return Reply(data=data, text=data.text, talk=talk, warnings=warnings)
    text = _text(data, explain=explain)
    return Reply(
        data=data, text=text, warnings=warnings, next=f"oraclepack plan {quote(data.path)}"
    )


def _may_send(question: str, settings: Settings) -> bool:
    is_silent = settings[rs.CI] or not settings[rs.INTERACTIVE] or settings[OUTPUT] != "text"
    return not is_silent and can_ask() and terminal_ask(question, _paused)


def _paused(seconds: float) -> bool:
    threading.Event().wait(seconds)
    return True


def _no_progress(_done: int, _files: int) -> None:
    """Report no progress."""


def _progress(done: int, files: int) -> None:
    """One line on the terminal that is written over; empty in the end."""
    if files < _MANY_FILES or done % _EVERY:
        return
    is_last = done + _EVERY >= files
    line = "" if is_last else f"reading {done:,} of {files:,} files"
    sys.stderr.write(f"\r{line:40}\r" if is_last else f"\r{line:40}")
    sys.stderr.flush()


def _text(data: GenerateReport, *, explain: bool) -> str:
    table = _explained(data.steps) if explain else f"{_table(data.steps)}\n"
    done = "was already there, the same" if data.unchanged else "written"
    dropped = "".join(f"dropped: {one.reason}: {one.question}\n" for one in data.dropped)
    return f"{table}{dropped}{data.path}: {done}; answers go to {data.out_dir}\n"


def _table(steps: tuple[GeneratedStep, ...]) -> str:
    rows = [
        (step.step_id, f"{step.roi:.2f}", step.category, step.reference, str(len(step.attachments)))
        for step in steps
    ]
    return columns(("step", "ROI", "category", "reference", "files"), rows)


def _explained(steps: tuple[GeneratedStep, ...]) -> str:
    """Each question with its evidence and its score."""
    parts = []
    for step in steps:
        evidence = "".join(f"      {line}\n" for line in step.evidence)
        parts.append(
            f"{step.step_id}  {step.question_id} ({step.category})\n"
            f"    {step.question}\n{evidence}"
            f"    ROI {step.roi:.2f}: {step.score}\n\n"
        )
    return "".join(parts)
