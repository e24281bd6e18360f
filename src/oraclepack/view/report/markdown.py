"""The report of a run in Markdown, for a pull request or a wiki. Texts from outside are escaped."""

from collections.abc import Iterator

from oraclepack.journal.costs import cost_text
from oraclepack.system.markdown_text import code_span, escape, escape_keeping_code
from oraclepack.system.printable import quantity
from oraclepack.view.report.data import Report
from oraclepack.view.report.figures import cost_cell, duration, moment
from oraclepack.view.report.page import Page, files_of
from oraclepack.work.backlog import Priority

MARK = "<!-- oraclepack report -->"
MOST_TASKS = 50
MOST_ATTENTION = 40


def markdown_report(data: Report) -> str:
    """What came out, the work, what needs a person, and the answers in short."""
    page = Page(data)
    parts = [MARK, "\n", *_head(data), *_work(page), *_attention(data), *_answers(page), "\n"]
    if cost := cost_text(data.run.cost):
        parts.append(f"Cost: {cost}.\n")
    made = f"Created {moment(data.run.created_at)}; report by oraclepack {escape(data.program)}."
    return "".join((*parts, f"{made} The HTML report has the answers in full.\n"))


def _head(data: Report) -> Iterator[str]:
    run = data.run
    yield f"# {escape(run.pack_path or run.run_id)}\n\n"
    verb = "rehearsed" if run.rehearsal else "answered"
    yield (
        f"**{escape(run.status)}**: {data.answered} of {quantity(len(data.steps), 'question')} "
        f"{verb}, {quantity(data.tasks, 'task')} to do, "
        f"{quantity(len(data.attention), 'thing')} to look at.\n\n"
    )
    cells = (
        code_span(run.name, cell=True),
        code_span((run.git_sha or "none")[:9], cell=True),
        escape(", ".join(data.manifest.models if data.manifest else ()) or "–", cell=True),
        escape(cost_cell(run.cost), cell=True),
        duration(run.duration_ms),
    )
    yield "| run | commit | models | cost | time |\n|---|---|---|---|---|\n"
    yield f"| {' | '.join(cells)} |\n"


def _work(page: Page) -> Iterator[str]:
    tasks = [record for record in page.tasks if record.is_work]
    if not tasks:
        return
    counts = (f"{page.priorities[one]} {one}" for one in Priority if page.priorities[one])
    yield f"\n## Work\n\n{quantity(len(tasks), 'task')}: {', '.join(counts)}.\n\n"
    for record in tasks[:MOST_TASKS]:
        tick = "x" if record.task_id in page.data.ticked else " "
        place = next(iter((*map(str, record.evidence.citations), *files_of(record))), "")
        where = f" ({code_span(place)})" if place else ""
        yield (
            f"- [{tick}] **{record.priority}** {escape_keeping_code(record.title)}{where}"
            f" – {record.kind or record.status}, question {', '.join(record.sources)}\n"
        )
    yield from _more(len(tasks) - MOST_TASKS)


def _attention(data: Report) -> Iterator[str]:
    if not data.attention:
        return
    yield "\n## Needs a look\n\n"
    for one in data.attention[:MOST_ATTENTION]:
        steps = f" {', '.join(one.steps)}:" if one.steps else ":"
        action = f" *{escape_keeping_code(one.action)}*" if one.action else ""
        yield f"- **{one.kind}**{steps} {escape_keeping_code(one.message)}{action}\n"
    yield from _more(len(data.attention) - MOST_ATTENTION)


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"- and {number} more\n"


def _answers(page: Page) -> Iterator[str]:
    yield "\n## Answers\n\n| | question | state | answer |\n|---|---|---|---|\n"
    for step in page.data.steps:
        cells = (
            step.step_id,
            escape_keeping_code(page.title(step), cell=True),
            escape(", ".join(text for _, text in page.badges(step)), cell=True),
            escape_keeping_code(page.lede(step), cell=True),
        )
        yield f"| {' | '.join(cells)} |\n"
