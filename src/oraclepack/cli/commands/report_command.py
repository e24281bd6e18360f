"""`report`: a run as one file for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import size
from oraclepack.cli.value_completion import run_ids
from oraclepack.errors import UsageError
from oraclepack.settings.registry import CWD, Settings
from oraclepack.system.printable import quantity, single_lines
from oraclepack.view.report.site import write_site
from oraclepack.view.report.write import ReportFile, write_report


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
@click.option("--out", metavar="FILE", default="", help="Where to write it; `-` prints it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md", "trace"]),
    default="html",
    show_default=True,
    help="A page, Markdown for a pull request, or a trace that Perfetto opens.",
)
@click.option("--redact", is_flag=True, help="Leave out prompts, source lines and logs.")
@click.option(
    "--site", metavar="DIR", default="", help="Write pages of all runs, and an index with trends."
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
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
    directories are named, and an index that shows how cost, time, retries, completion and tasks
    changed from run to run. Pages of runs that did not change are kept.
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
    return Reply(done.report, _text(single_lines(done.report)), warnings=done.warnings)


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


def _text(file: ReportFile) -> str:
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
