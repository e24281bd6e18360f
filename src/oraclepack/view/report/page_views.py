"""What the templates show of a run: ids, links, badges and rendered texts. Decides, writes nothing.

Ids of the page: `q07` a question, `a07-1` its first answer file, `a07-1-L12` the block that begins
on line 12, `s07-1-3` a quoted source, `t07-02` a task.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from oraclepack.system.printable import one_line
from oraclepack.view.report.answer_html import CitationLinks, RenderedAnswer, render_answer
from oraclepack.view.report.data import ReportAnswer, ReportData, ReportStep, SourceQuote
from oraclepack.work.backlog import Record, SourceSpan, WorkStatus
from oraclepack.work.evidence import Citation, CitationState

LEDE = 240
"""Characters of the direct answer that are beside a closed answer."""
LONGEST_TITLE = 200
MANY = 100
"""Questions of a run whose page is laid out only where it is looked at."""
_EMPHASIS = re.compile(r"(?P<mark>\*\*|`)(?P<text>[^*`]+)(?P=mark)")


class Badge(msgspec.Struct, frozen=True):
    """A word on a coloured ground."""

    look: str
    """`good`, `warn`, `bad`, `info` or `plain`."""
    text: str


class QuoteView(msgspec.Struct, frozen=True):
    """A quoted source and its id."""

    id: str
    quote: SourceQuote


class AnswerView(msgspec.Struct, frozen=True):
    """One answer file, rendered."""

    id: str
    answer: ReportAnswer
    rendered: RenderedAnswer
    quotes: tuple[QuoteView, ...]

    def line(self, line: int) -> str:
        """The id of the block that a line is in."""
        block = self.rendered.block_at(line)
        return f"{self.id}-L{block}" if block else self.id


class TaskLink(msgspec.Struct, frozen=True):
    """A place in an answer or in its sources."""

    href: str
    text: str
    state: str = ""


class TaskView(msgspec.Struct, frozen=True):
    """A record of work with everything it links to."""

    id: str
    record: Record
    texts: tuple[str, ...]
    """Its actions as HTML."""
    places: tuple[TaskLink, ...]
    citations: tuple[TaskLink, ...]
    files: tuple[str, ...]
    is_done: bool


class QuestionView(msgspec.Struct, frozen=True):
    """A question with its answer and what is known of both."""

    id: str
    step: ReportStep
    title: str
    lede: str
    badges: tuple[Badge, ...]
    answers: tuple[AnswerView, ...]
    tasks: tuple[TaskView, ...]
    needs_look: bool

    @property
    def look(self) -> str:
        return self.badges[0].look if self.badges else "plain"


class PageView(msgspec.Struct, frozen=True):
    """A run as its page shows it."""

    data: ReportData
    questions: tuple[QuestionView, ...]
    tasks: tuple[TaskView, ...]

    @property
    def counted(self) -> Mapping[str, int]:
        """How many records there are of each status, and of each priority among the tasks."""
        counts = {status.value: 0 for status in WorkStatus}
        for task in self.tasks:
            counts[task.record.status] += 1
            if task.record.status is WorkStatus.ACTIONABLE:
                name = f"{task.record.priority}"
                counts[name] = counts.get(name, 0) + 1
        return counts

    def options(self, attribute: str) -> tuple[str, ...]:
        """The values by which tasks can be filtered."""
        values = {getattr(task.record, attribute) for task in self.tasks}
        return tuple(sorted(str(one) for one in values if one))

    @property
    def has_many(self) -> bool:
        return len(self.questions) > MANY

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(sorted({file for task in self.tasks for file in task.files}))


def question_id(step_id: str) -> str:
    return f"q{step_id}"


def task_anchor(task_id: str) -> str:
    """`OP3-55555555-07-02` → `t07-02`."""
    return "t" + "-".join(task_id.split("-")[-2:])


def view_of(data: ReportData) -> PageView:
    """The page of a run."""
    answers = {step.step_id: tuple(_answers(step)) for step in data.steps}
    by_path = {view.answer.path: view for views in answers.values() for view in views}
    tasks = tuple(_task(record, by_path, data) for record in data.records)
    per_step: dict[str, list[TaskView]] = {}
    for task in tasks:
        for step_id in task.record.sources or (task.record.step_id,):
            per_step.setdefault(step_id, []).append(task)
    ledes = {issue.step_id: issue.answer for issue in data.issues}
    titles = {issue.step_id: issue.title for issue in data.issues}
    looked_at = {one.step_id for one in data.attention if one.step_id}
    questions = tuple(
        QuestionView(
            id=question_id(step.step_id),
            step=step,
            title=_title(step, titles.get(step.step_id, ""), redacted=data.is_redacted),
            lede=_lede(ledes.get(step.step_id, "") or step.reason),
            badges=tuple(badges_of(step, rehearsal=data.is_rehearsal)),
            answers=answers[step.step_id],
            tasks=tuple(per_step.get(step.step_id, ())),
            needs_look=step.step_id in looked_at,
        )
        for step in data.steps
    )
    return PageView(data, questions, tasks)


def _title(step: ReportStep, issue_title: str, *, redacted: bool) -> str:
    """The question as people call it."""
    named = step.title
    if not redacted and step.question.startswith(step.title):
        named = step.question  # the title is only its beginning
    plain = one_line(named) or one_line(step.reference or "") or one_line(issue_title)
    return _cut(plain, LONGEST_TITLE)


def _lede(text: str) -> str:
    plain = _EMPHASIS.sub(r"\g<text>", one_line(text))
    return _cut(plain, LEDE)


def _cut(text: str, longest: int) -> str:
    """A text that is too long ends after a whole word, in `…`."""
    if len(text) <= longest:
        return text
    words = text[:longest].rpartition(" ")[0] or text[: longest - 1]
    return f"{words.rstrip(' .,;:')}…"


def badges_of(step: ReportStep, *, rehearsal: bool = False) -> Iterator[Badge]:
    """How a step stands, in a few words; the first one colours it."""
    looks = {"ok": "good", "failed": "bad", "interrupted": "warn", "accepted": "warn"}
    words = {"ok": "answered" if step.answers else "ok", "accepted": "accepted by hand"}
    is_partial = any(one.cut for one in step.answers) and not rehearsal
    is_doubtful = bool(step.doubts)
    look = looks.get(step.state, "plain")
    if look == "good" and (is_partial or is_doubtful):
        look = "warn"
    yield Badge(
        look, "rehearsed" if rehearsal and step.answers else words.get(step.state, step.state)
    )
    if is_partial:
        yield Badge("warn", "partial")
    elif is_doubtful:
        yield Badge("warn", "doubtful")
    missing = sorted({name for one in step.failures for name in one.missing_sections})
    if missing:
        yield Badge("bad", f"lacks {', '.join(missing)}")
    if any(one.is_edited for one in step.answers):
        yield Badge("warn", "edited")
    bad = sum(quote.state.is_bad for one in step.answers for quote in one.quotes)
    if bad:
        yield Badge("warn", f"{bad} bad citation{'' if bad == 1 else 's'}")
    if any(one.from_cache for one in step.answers):
        yield Badge("info", "from the cache")
    if step.imported:
        yield Badge("plain", "imported")


def _answers(step: ReportStep) -> Iterator[AnswerView]:
    for number, answer in enumerate(step.answers, start=1):
        name = f"a{step.step_id}-{number}"
        quotes = tuple(
            QuoteView(f"s{step.step_id}-{number}-{place}", quote)
            for place, quote in enumerate(answer.quotes, start=1)
        )
        links = links_to(quotes)
        rendered = render_answer(
            answer.text,
            f"{name}-",
            links,
            plain=answer.is_capture,
            headings={section.line for section in answer.sections},
        )
        yield AnswerView(name, answer, rendered, quotes)


def links_to(quotes: Iterable[QuoteView]) -> CitationLinks:
    """The links of an answer to its quoted sources."""
    return CitationLinks(
        {
            (one.quote.path, one.quote.first_line, one.quote.last_line): (one.id, one.quote.state)
            for one in quotes
        }
    )


def _task(record: Record, answers: Mapping[str, AnswerView], data: ReportData) -> TaskView:
    quotes = [
        quote
        for view in answers.values()
        if any(span.path == view.answer.path for span in record.spans)
        for quote in view.quotes
    ]
    links = links_to(quotes)
    texts = record.actions or tuple(
        f"Question {one.step_id}: {one.text}" for one in record.statements
    )
    return TaskView(
        id=task_anchor(record.task_id),
        record=record,
        texts=tuple(render_answer(text, "", links, plain=False).html for text in texts),
        places=tuple(_place(span, answers) for span in record.spans),
        citations=tuple(_cited(one, links) for one in record.evidence.citations),
        files=_files(record),
        is_done=record.task_id in data.ticked,
    )


def _files(record: Record) -> tuple[str, ...]:
    named = {*record.evidence.paths, *(one.path for one in record.evidence.citations)}
    return tuple(sorted(named))


def _place(span: SourceSpan, answers: Mapping[str, AnswerView]) -> TaskLink:
    view = answers.get(span.path)
    lines = f"line {span.first_line}"
    if span.last_line != span.first_line:
        lines = f"lines {span.first_line}–{span.last_line}"
    if view is None:
        return TaskLink("", f"{span.path}, {lines}")
    return TaskLink(f"#{view.line(span.first_line)}", f"{span.path}, {lines}")


def _cited(citation: Citation, links: CitationLinks) -> TaskLink:
    target = links.find(citation)
    state = citation.state
    return TaskLink(f"#{target[0]}" if target else "", str(citation), state)


def state_words(state: CitationState | str) -> str:
    """What became of a citation, in words."""
    return {
        "verified": "verified",
        "stale": "changed since",
        "not_attached": "not attached",
        "out_of_range": "beyond the end",
        "unknown": "not checked",
    }.get(str(state), str(state))


def counted_states(quotes: Sequence[QuoteView]) -> tuple[tuple[str, int], ...]:
    """How many citations of an answer are in which state, in the order of states."""
    counts = {state: sum(one.quote.state is state for one in quotes) for state in CitationState}
    return tuple((state.value, number) for state, number in counts.items() if number)
