"""`verify-outputs`, `actionize`, `report` and `publish`: answers become work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

import click
from msgspec.structs import asdict

from oraclepack.answers.verification import Totals, VerifyPacksReport, VerifyReport
from oraclepack.cli.command import ASKING, Group, command, command_words, logs_json, option
from oraclepack.cli.display import PackSessions
from oraclepack.cli.outcome import (
    NO_POLICY,
    idle_thresholds,
    policy_failure,
    policy_line,
    run_failure,
)
from oraclepack.cli.render import to_stderr
from oraclepack.cli.reply import Reply, ReplyError, Styled, partial_failure, rollback_notice
from oraclepack.cli.run_options import allow_rehearsal_option, export_option, per_option
from oraclepack.cli.text import from_here, size
from oraclepack.cli.value_completion import pack_files, run_ids
from oraclepack.errors import ExitCode, UsageError
from oraclepack.run.policy import YieldPolicy
from oraclepack.run.verify_outputs import verify_outputs
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import CWD, GITHUB_API_URL, STRICT, Settings
from oraclepack.system.digests import canonical_line
from oraclepack.system.printable import quantity, single_lines
from oraclepack.view.report.site import write_site
from oraclepack.view.report.write import ReportFile, write_report
from oraclepack.work.actionize import actionize_and_weigh
from oraclepack.work.backlog import ActionizeReport, IssuesPer
from oraclepack.work.publish import PublishRequest, publish_run


@command(
    "verify-outputs",
    data="verify-report",
    settings=(
        rs.OUTPUT_VERIFY,
        rs.OUT_DIR,
        rs.OUTPUT_CONTRACT,
        rs.OUTPUT_CHUNK_MODE,
        rs.OUTPUT_REQUIRE_HEADINGS,
        STRICT,
    ),
    exit_codes=(ExitCode.CONTRACT,),
    examples=(
        "oraclepack verify-outputs pack.md",
        "oraclepack verify-outputs docs/ --json",
        "oraclepack verify-outputs --run-dir .oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10",
    ),
)
@click.argument("packs", nargs=-1, metavar="[PACK|DIR]...", shell_complete=pack_files)
@option("--run-dir DIR", "Check the outputs of this run.")
def verify(packs: tuple[str, ...], run_dir: str, settings: Settings) -> Reply:
    """Check outputs against their contract. Starts no process.

    Each declared output must exist and must not be empty; which sections it must have follows
    from the step's own words (`oraclepack list --contracts` shows what was understood).
    Signs of a cut or empty answer are warnings; with --strict they count as failures. The answers
    of a rehearsal fail, always, with the reason `rehearsal`.

    A file that is not a pack (no bash block, no steps) is exit code 2. This command always
    verifies: --output-verify is accepted, the variable ORACLEPACK_OUTPUT_VERIFY and the setting
    are for runs and change nothing here, and --output-verify=false is refused.
    """
    _refuse_nothing_to_do(settings)
    report = verify_outputs(packs, settings, run_dir or None)
    listed = report.packs
    ok = all(pack.ok for pack in listed)
    totals = report.totals
    error = None if ok else _failure(report)
    code = ExitCode.DONE if ok else ExitCode.CONTRACT
    warnings = tuple(warning for pack in listed for warning in pack.warnings)
    text = "".join(map(_pack_text, listed)) + _totals(totals)
    onwards = "oraclepack actionize"
    return Reply(report, text, code, warnings=warnings, error=error, next=onwards)


def _refuse_nothing_to_do(settings: Settings) -> None:
    given = settings.origin(rs.OUTPUT_VERIFY).source is ValueSource.FLAG
    if given and not settings[rs.OUTPUT_VERIFY]:
        raise UsageError(
            "verify-outputs only verifies: --output-verify=false leaves it nothing to do",
            hint="leave the flag out; it is `run` that can go without verification",
        )


def _pack_text(report: VerifyReport) -> str:
    pack = single_lines(report)
    lines = [f"{pack.path}: {one.line}" for one in pack.failures]
    lines += [
        f"{pack.path}: step {one.step_id}: {one.path}:{one.line}: needs a look: {one.message}"
        for one in pack.doubts
    ]
    lines += [f"{pack.path}: {one.line}" for one in pack.accepted]
    lines += [
        f"{pack.path}: step {one.step_id}: {one.declared}: unresolved, no run has recorded it"
        for one in pack.unresolved
    ]
    return "".join(f"{line}\n" for line in lines)


def _totals(totals: Totals) -> str:
    accepted = f" accepted={totals.accepted}" if totals.accepted else ""
    rehearsed = f" rehearsed={totals.rehearsed}" if totals.rehearsed else ""
    return (
        f"totals: steps={totals.steps} outputs={totals.outputs} ok={totals.ok} "
        f"failed={totals.failed} doubtful={totals.doubtful} unresolved={totals.unresolved} "
        f"skipped={totals.skipped}{accepted}{rehearsed}\n"
    )


def _failure(report: VerifyReport | VerifyPacksReport) -> ReplyError:
    totals = report.totals
    count = totals.outputs - totals.ok
    failed = [pack.path for pack in report.packs if not pack.ok]
    path = quote(failed[0]) if len(failed) == 1 else "PACK"
    if totals.rehearsed == count:
        hint = f"ask for real: oraclepack run {path} without --engine rehearsal"
    elif all(one.io_error == "missing" for pack in report.packs for one in pack.failures):
        hint = f"nothing has answered yet: oraclepack run {path}"
    else:
        hint = (
            f"correct the files, `oraclepack step accept {path} NN`, or ask again: "
            f"oraclepack run {path} --rerun NN --refresh"
        )
    return ReplyError(
        "CONTRACT",
        f"{count} of {totals.outputs} outputs lack what was asked for",
        phase="verify",
        suggestion=hint,
    )


_FIGURES = ("pack_id", "out_dir", "steps", "answered", "tasks", "action_yield", "failed_step")


@command(
    "actionize",
    data="actionize-report",
    changes="the directory actionizer/ of the run or of the answers, or --out-dir",
    settings=(
        rs.ROLLBACK_ON_FAILURE,
        rs.CI,
        rs.INTERACTIVE,
        rs.JSON_LOG,
        rs.MIN_YIELD,
        cs.ENGINE,
        cs.MAX_COST,
        cs.MAX_CALLS,
        cs.ON_UNKNOWN,
        cs.REFRESH,
    ),
    starts="with --ask: oracle, whose calls cost money",
    exit_codes=(*ASKING, ExitCode.POLICY),
    examples=(
        "oraclepack actionize",
        "oraclepack actionize --run-dir .oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10",
        "oraclepack actionize --run-dir DIR --export github,taskmaster",
        "oraclepack actionize --run-dir DIR --export github --per task",
        "oraclepack actionize --run-dir DIR --ci --min-yield 1",
        "oraclepack actionize --answers docs/answers --pack docs/pack.md --json",
        "oraclepack actionize --ask --max-cost 0.50",
    ),
)
@option("--run-dir DIR", "The run; by default the newest one.")
@option("--answers DIR", "A plain directory of 01-*.md answers.")
@option("--pack PACK", "The pack that --answers belong to.")
@option("--out-dir DIR", "Write the files to this directory.")
@export_option
@per_option
@allow_rehearsal_option
@option("--ask", "Let a model read answers that state no work; costs money.")
@option("--ask-model MODEL", "The model that --ask asks.")
def actionize(*, settings: Settings, **options: Any) -> Reply:
    """Turn answers into a backlog, a change plan and tracker files.

    The same answers give the same bytes. Text that you put between marked lines of backlog.md
    survives. A question without an answer becomes a blocked task.
    What comes from a rehearsal is marked in every file, and exported only with --allow-rehearsal.

    Without --ask no model is asked: work that an answer states is taken, other prose is sorted by
    a few plain rules. With --ask a model names the work of each answer that states none, and rules
    check that it quotes the answer; the price is shown first, what was asked once is not asked
    again, and --ci needs --max-cost.

    With --ci the policy decides: fewer actionable tasks per answered step than --min-yield is
    exit code 5, but the files are still written. It never asks a question, so
    --non-interactive changes nothing; --json-log writes a line of JSON per file and one for the
    figures on stderr.
    """
    sessions = PackSessions(settings, yes=False)
    outcome = actionize_and_weigh(
        settings, front_ends=sessions.open, argv=command_words(), **options
    )
    report, policy = outcome.report, outcome.report.policy
    assert policy is not None
    warnings = outcome.warnings + idle_thresholds(settings, rs.MIN_YIELD)
    if logs_json(settings):
        to_stderr("".join(_log(report)))
    if not report.ok:
        return partial_failure(report, f"cannot write {report.failed_step}", warnings)
    short = policy.action_yield.shortfall
    suggestion = f"what is blocked is listed in {from_here(f'{report.out_dir}/backlog.md')}"
    error = policy_failure((short,), suggestion) if outcome.exit_code and short else None
    if outcome.asked is not None:
        error = run_failure(outcome.asked)
    notices = warnings + rollback_notice(report)
    unjudged = (NO_POLICY,) if settings[rs.CI] and not policy.applies else ()
    text = (*_work_text(report, policy), *unjudged)
    onwards = "" if options["answers"] else f"oraclepack report {options['run_dir']}".rstrip()
    return Reply(report, text, outcome.exit_code, warnings=notices, error=error, next=onwards)


def _log(report: ActionizeReport) -> Iterator[str]:
    """One JSON line per file, then one with the figures; no time, so the same bytes each time."""
    for artifact in report.artifacts:
        yield _line("artifact", asdict(artifact))
    figures = {name: getattr(report, name) for name in _FIGURES}
    yield _line("actionized", {**figures, "policy": report.policy})


def _line(kind: str, fields: dict[str, object]) -> str:
    return canonical_line({"kind": kind, **fields}).decode() + "\n"


def _work_text(report: ActionizeReport, policy: YieldPolicy) -> tuple[str | Styled, ...]:
    counts = ", ".join(f"{count} {status.words}" for status, count in report.tasks.items())
    lines = [f"{report.answered} of {report.steps} answers: {counts}"]
    for artifact in report.artifacts:
        state = "written" if artifact.changed else "unchanged"
        lines.append(f"{from_here(f'{report.out_dir}/{artifact.path}')} {state}")
    text = "".join(f"{line}\n" for line in lines)
    if not policy.applies:
        return (text,)
    work = policy.action_yield
    figures = f"yield {work.ratio:.2f} of {work.required:g}"
    return (text, *policy_line(met=policy.met, figures=figures))


@command(
    "report",
    data="report-file",
    changes="the report, or the files of the site",
    examples=(
        "oraclepack report",
        "oraclepack report pack.md --out review.html --open",
        "oraclepack report 2026-01-09 --format md --out -",
        "oraclepack report --format trace --out trace.json",
        "oraclepack report --redact --out share.html",
        "oraclepack report --site reports",
    ),
)
@click.argument("targets", metavar="[RUN|PACK]", nargs=-1, shell_complete=run_ids)
@option("--out FILE", "Where to write it; `-` prints it.")
@option(
    "--format html|md|trace",
    "A page, Markdown for a pull request, or a trace that Perfetto opens.",
    name="form",
    default="html",
)
@option("--redact", "Leave out prompts, source lines and logs.")
@option("--site DIR", "Write pages of all runs, and an index with trends.")
@option("--open", "Open the page in the browser.", name="opens")
def report(
    targets: tuple[str, ...], *, out: str, opens: bool, settings: Settings, **options: Any
) -> Reply:
    """Write a run, its answers and its work into one file.

    RUN is the name of a run or the beginning of it, or a run directory; PACK stands for its newest
    run, and without either the newest run of the project is meant. Any run can be shown: finished
    or not, damaged, or of an earlier version. The page needs nothing else and no network. It is
    written to report.html in the run directory unless --out says otherwise. It quotes prompts and
    the source lines that answers cite; --redact leaves them out. Secrets never appear.

    With --site a directory gets a page for every run of the project, or of the projects whose
    directories are named, and an index that shows how answers, tasks, cost and time changed from
    run to run. Pages of runs that did not change are kept.
    """
    form, redact, site = options["form"], options["redact"], options["site"]
    if site:
        return _site(site, targets, settings, redact=redact, opens=opens, is_html=form == "html")
    if len(targets) > 1:
        raise UsageError("name one run or one pack", hint="--site DIR takes several projects")
    target = targets[0] if targets else ""
    if opens and (form != "html" or out == "-"):
        raise UsageError("--open needs a page in a file", hint="leave out --format and `--out -`")
    done = write_report(
        Path(settings.root), target, out=out, form=form, redact=redact, cwd=settings[CWD]
    )
    if done.text:
        return Reply(done.report, bare=done.text, warnings=done.warnings)
    if opens:
        _open(done.report.path)
    text = _report_text(single_lines(done.report))
    onwards = "oraclepack publish github --dry-run" if done.report.tasks else ""
    return Reply(done.report, text, warnings=done.warnings, next=onwards)


def _site(
    site: str,
    projects: tuple[str, ...],
    settings: Settings,
    *,
    redact: bool,
    opens: bool,
    is_html: bool,
) -> Reply:
    if not is_html:
        raise UsageError("a site is made of pages", hint="leave out --format")
    site_report = write_site(Path(settings.root), site, projects, redact=redact, cwd=settings[CWD])
    if opens:
        _open(site_report.index)
    printable = single_lines(site_report)
    lines = [f"left out: {one}" for one in printable.skipped]
    runs = quantity(printable.runs, "run")
    lines.append(f"{printable.index}: {runs}, {printable.written} written")
    return Reply(site_report, "".join(f"{line}\n" for line in lines))


def _report_text(file: ReportFile) -> str:
    people = f", {file.attention} for a person to look at" if file.attention else ""
    lines = quantity(file.quoted_lines, "source line")
    source = f"; it quotes {lines}" if file.quoted_lines else ""
    state = "written" if file.changed else "unchanged"
    return (
        f"run {file.run_id}: {file.status}, {file.answered} of {file.questions} answered, "
        f"{quantity(file.tasks, 'task')}{people}\n{file.path} {state}, {size(file.bytes)}{source}\n"
    )


def _open(path: str) -> None:
    import webbrowser

    webbrowser.open(Path(path).absolute().as_uri())


publish = Group("publish", "Publish the work of a run to a tracker.")


@command(
    "github",
    group=publish,
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
@option("--repo OWNER/NAME", "By default that of git's origin.")
@option("--run-dir DIR", "The run; by default the newest one.")
@per_option
@option("--dry-run", "Only list what would be created or updated.")
@option("--allow-rehearsal", "Publish even what a rehearsal answered, marked so.")
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

    Requests go through `gh api` where gh is installed, else the token is read from GH_TOKEN or
    GITHUB_TOKEN. An issue is found again by a marker in its
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
