"""The report of a run in Markdown, for a pull request or a wiki. Texts from outside are escaped."""

from collections.abc import Iterator

from oraclepack.journal.costs import cost_text
from oraclepack.system.markdown_text import code_span, escape, escape_keeping_code
from oraclepack.system.printable import quantity
from oraclepack.view.report.data import ReportData
from oraclepack.view.report.figures import cost_cell, duration, moment
from oraclepack.view.report.page_views import PageView, QuestionView, TaskView, view_of
from oraclepack.work.backlog import Priority, WorkStatus

MARK = "<!-- oraclepack report -->"
MOST_TASKS = 50
MOST_ATTENTION = 40


def markdown_report(data: ReportData) -> str:
    """What came out, what needs a person, the work, and the answers in short."""
    view = view_of(data)
    parts = [MARK, "\n", *_head(view), *_attention(data), *_work(view), *_answers(view)]
    parts += _end(data)
    return "".join(parts)


def _head(view: PageView) -> Iterator[str]:
    data = view.data
    yield f"# {escape(data.pack_path or data.run_id)}\n\n"
    verb = "rehearsed" if data.is_rehearsal else "answered"
    tasks = quantity(view.counted[WorkStatus.ACTIONABLE], "task")
    yield (
        f"**{escape(data.status)}**: {data.answered} of {quantity(len(data.steps), 'question')} "
        f"{verb}, {tasks} to do, {quantity(len(data.attention), 'thing')} for a person to look at."
        "\n\n"
    )
    yield "| run | commit | models | cost | time |\n|---|---|---|---|---|\n"
    cells = (
        code_span(data.run_name, cell=True),
        code_span((data.git_sha or "none")[:9], cell=True),
        escape(", ".join(data.models) or "–", cell=True),
        escape(cost_cell(data.cost), cell=True),
        duration(data.worked_ms),
    )
    yield f"| {' | '.join(cells)} |\n"


def _attention(data: ReportData) -> Iterator[str]:
    if not data.attention:
        return
    yield "\n## Needs a person\n\n"
    for one in data.attention[:MOST_ATTENTION]:
        step = f" {one.step_id}:" if one.step_id else ":"
        action = f" *{escape_keeping_code(one.action)}*" if one.action else ""
        yield f"- **{one.kind}**{step} {escape_keeping_code(one.message)}{action}\n"
    yield from _more(len(data.attention) - MOST_ATTENTION, "- ")


def _work(view: PageView) -> Iterator[str]:
    tasks = [task for task in view.tasks if task.record.status is WorkStatus.ACTIONABLE]
    if not tasks:
        return
    yield "\n## Work\n\n"
    counted = ", ".join(
        f"{number} {priority}" for priority in Priority if (number := view.counted.get(priority, 0))
    )
    yield f"{quantity(len(tasks), 'task')}: {counted}.\n\n"
    for task in tasks[:MOST_TASKS]:
        yield _task(task)
    yield from _more(len(tasks) - MOST_TASKS, "- ")


def _task(task: TaskView) -> str:
    record = task.record
    tick = "x" if task.is_done else " "
    place = next((one.text for one in task.citations), next(iter(task.files), ""))
    where = f" ({code_span(place)})" if place else ""
    steps = ", ".join(record.sources)
    return (
        f"- [{tick}] **{record.priority}** {escape_keeping_code(record.title)}{where}"
        f" – {record.kind or record.status}, question {steps}\n"
    )


def _more(number: int, lead: str) -> Iterator[str]:
    if number > 0:
        yield f"{lead}and {number} more\n"


def _answers(view: PageView) -> Iterator[str]:
    yield "\n## Answers\n\n| | question | state | answer |\n|---|---|---|---|\n"
    for question in view.questions:
        yield _answer(question)


def _answer(question: QuestionView) -> str:
    badges = ", ".join(badge.text for badge in question.badges)
    cells = (
        question.step.step_id,
        escape_keeping_code(question.title, cell=True),
        escape(badges, cell=True),
        escape_keeping_code(question.lede, cell=True),
    )
    return f"| {' | '.join(cells)} |\n"


def _end(data: ReportData) -> Iterator[str]:
    yield "\n"
    if cost := cost_text(data.cost):
        yield f"Cost: {cost}.\n"
    yield (
        f"Created {moment(data.created_at)}; report by oraclepack {escape(data.program)}. "
        "The HTML report has the answers in full.\n"
    )
