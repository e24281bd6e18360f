"""`runs diff`: two runs, question by question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError, Styled
from oraclepack.cli.text import seconds
from oraclepack.cli.value_completion import run_ids
from oraclepack.errors import ExitCode
from oraclepack.journal.costs import short_cost
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import quantity, single_lines
from oraclepack.view.report.compare_runs import diff_runs
from oraclepack.view.report.comparison import QuestionComparison, RunComparison

_LONGEST = 150


@command(
    "diff",
    data="run-comparison",
    changes="the page of --html",
    exit_codes=(ExitCode.POLICY,),
    examples=(
        "oraclepack runs diff 2026-03-01 2026-03-08",
        "oraclepack runs diff 2026-03-01 2026-03-08 --html diff.html",
        "oraclepack runs diff 2026-03-01 2026-03-08 --fail-on dropped-tasks,cost+20%",
    ),
)
@click.argument("first", metavar="A", shell_complete=run_ids)
@click.argument("second", metavar="B", shell_complete=run_ids)
@click.option("--html", metavar="FILE", default="", help="Also write the comparison as a page.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="POLICY",
    help="dropped-tasks, added-tasks, changed-answers, dropped-answers, cost+N%, time+N%; "
    "several with commas.",
)
def diff(
    first: str, second: str, html: str, fail_on: tuple[str, ...], *, settings: Settings
) -> Reply:
    """Compare the answers and tasks of two runs.

    A and B are runs, run directories or packs, as for `report`. Questions are matched by their
    QuestionId, then by their text, so that two versions of a pack and two models can be compared.
    Per question: the same answer, reworded, changed, or only in one run; statements and tasks that
    were added and dropped, citations, cost and time. With --fail-on the exit code is 5 where B is
    worse than the policy allows.
    """
    comparison = diff_runs(Path(settings.root), first, second, fail_on=fail_on, html=html)
    error = None
    if comparison.breaches:
        reasons = "; ".join(f"{one.policy}: {one.reason}" for one in comparison.breaches)
        error = ReplyError("POLICY", reasons, suggestion="look at the differences above")
    code = ExitCode.POLICY if comparison.breaches else ExitCode.DONE
    return Reply(comparison, tuple(_text(single_lines(comparison))), code, error=error)


def _text(diff: RunComparison) -> Iterator[str | Styled]:
    for mark, side in (("A", diff.first), ("B", diff.second)):
        yield Styled(f"{mark} {side.name}", "bold")
        models = ", ".join(side.models) or "no model"
        yield (
            f": {side.status}, {models}, {side.answered} of {side.questions} answered, "
            f"{quantity(side.tasks, 'task')}, {short_cost(side.cost)}, "
            f"{seconds(side.worked_ms)}\n"
        )
    counted = [f"{number} {_words(change)}" for change, number in diff.totals.items() if number]
    yield f"answers: {', '.join(counted) or 'none'}\n"
    yield (
        f"tasks: {diff.kept_tasks} kept, {diff.added_tasks} added, {diff.dropped_tasks} dropped\n"
    )
    for one in diff.questions:
        if one.is_different:
            yield from _question(one)
    if diff.html:
        yield f"{diff.html} written\n"


def _question(one: QuestionComparison) -> Iterator[str | Styled]:
    steps = dict.fromkeys(step for step in (one.first_step, one.second_step) if step)
    yield Styled(f"\n{' → '.join(steps)} {_words(one.change)}", "bold")
    yield f": {_short(one.title)}\n"
    for mark, look, texts in (
        ("-", "red", one.dropped),
        ("+", "green", one.added),
        ("- task:", "red", [task.title for task in one.dropped_tasks]),
        ("+ task:", "green", [task.title for task in one.added_tasks]),
        ("- cites", "red", one.dropped_citations),
        ("+ cites", "green", one.added_citations),
    ):
        for text in texts:
            yield "  "
            yield Styled(mark, look)
            yield f" {_short(text)}\n"
    for pair in one.reworded:
        yield f"  ~ {_short(pair.second)}\n"
    for cited in one.changed_citations:
        yield f"  {cited.place}: {cited.first} → {cited.second}\n"


def _words(change: str) -> str:
    return change.replace("_", " ")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
