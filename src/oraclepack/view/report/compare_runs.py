"""`runs diff`: read two runs, compare them, and optionally write the comparison as a page."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.journal.costs import total_cost
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.environment import environment
from oraclepack.system.printable import readable_record
from oraclepack.system.secrets import Redactor
from oraclepack.system.text_limits import ANSWER
from oraclepack.view.report.comparison import (
    AnswerStatement,
    ComparedQuestion,
    ComparedRun,
    ComparedTask,
    RunComparison,
    compare_runs,
)
from oraclepack.view.report.gather import GatheredRun, read_run
from oraclepack.view.report.html_page import render
from oraclepack.view.report.policies import breaches_of, read_policies
from oraclepack.view.report.quotes import citations_in
from oraclepack.view.report.write import ReportFormat, find_run, write_page
from oraclepack.work.backlog import AnsweredStep, Record, WorkStatus
from oraclepack.work.citations import check
from oraclepack.work.evidence import Evidence


def diff_runs(
    root: Path, first: str, second: str, *, fail_on: Sequence[str] = (), html: str = ""
) -> RunComparison:
    """Compare two runs, which are named as for `report`; `html` is the path of the page."""
    policies = read_policies(fail_on)
    sides = [compared_run(read_run(find_run(root, name))) for name in (first, second)]
    comparison = compare_runs(*sides)
    comparison = replace(comparison, breaches=breaches_of(comparison, policies), html=html or None)
    printable = readable_record(Redactor.of(environment()).clean_record(comparison))
    if html:
        write_page(Path(html), comparison_page(printable).encode(), ReportFormat.HTML)
    return printable


def comparison_page(comparison: RunComparison) -> str:
    """The comparison as an HTML page."""
    title = f"{comparison.first.name} and {comparison.second.name} – comparison"
    return render("comparison.html", title=title, made=comparison)


def compared_run(gathered: GatheredRun) -> ComparedRun:
    """The values of a run that a comparison uses."""
    view = gathered.view
    records = gathered.work.records if gathered.work else ()
    tasks: dict[str, list[Record]] = {}
    for record in records:
        if record.status is WorkStatus.ACTIONABLE and record.same_as is None:
            tasks.setdefault(record.step_id, []).append(record)
    return ComparedRun(
        name=view.name,
        pack_path=view.created.pack_path if view.created else "",
        pack_hash=view.created.pack_hash if view.created else "",
        status=view.status,
        models=view.models,
        worked_ms=view.duration_ms,
        cost=view.cost,
        questions=tuple(
            _question(step, tasks.get(step.question.step_id, ()), gathered)
            for step in (gathered.answers.steps if gathered.answers else ())
        ),
    )


def _question(
    step: AnsweredStep, records: Iterable[Record], gathered: GatheredRun
) -> ComparedQuestion:
    question = step.question
    state = gathered.view.state.step(question.step_id)
    calls = (call.outcome or call.intent for call in state.invocations)
    parts = [part.text for part in step.parts]
    known = {file.path: file for file in step.attached} if step.attached is not None else None
    readable = "\n".join(part for part in parts if ANSWER.excess(part) is None)
    cited = check(
        Evidence(citations=citations_in(readable)), known, complete=step.attached_known
    ).citations
    return ComparedQuestion(
        step_id=question.step_id,
        title=question.title or question.text,
        question=question.text,
        question_id=question.question_id,
        is_answered=step.is_answered,
        text="\n".join(parts).replace("\r\n", "\n").strip(),
        statements=tuple(_statements(step)),
        tasks=tuple(map(_task, records)),
        citations={str(one): one.state for one in cited},
        cost=total_cost(state.invocations),
        duration_ms=state.duration_ms,
        models=tuple(sorted({one.model for one in calls if one and one.model})),
    )


def _statements(step: AnsweredStep) -> Iterable[AnswerStatement]:
    for part in step.parts:
        if ANSWER.excess(part.text) is not None:
            digest = sha256_bytes(part.text.encode("utf-8", "replace"))[:12]
            # With a section of its own: another text is not the same in other words.
            yield AnswerStatement(f"too large to be read ({digest})", digest, 1)
            continue
        read = read_answer_text(part.text, section=part.section, expected=part.expected)
        for one in read.statements:
            yield AnswerStatement(one.text, one.section, one.first_line)


def _task(record: Record) -> ComparedTask:
    return ComparedTask(
        task_id=record.task_id,
        title=record.title,
        kind=record.kind or "",
        priority=record.priority,
        text="\n".join(record.actions),
    )
