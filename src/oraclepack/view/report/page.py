"""Pages as HTML: templates with everything escaped, one style and one script, allowed by hash.

Ids of a report: `q07` a question, `a07-1` its first answer file, `a07-1-L12` the block that begins
on line 12, `s07-1-3` a quoted source, `t07-02` a task.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from oraclepack.journal.costs import CostTotal
from oraclepack.system.files import shipped
from oraclepack.system.printable import one_line, quantity, visible
from oraclepack.view.report import figures
from oraclepack.view.report.answer_html import CitationLinks, RenderedAnswer, render_answer
from oraclepack.view.report.data import Report, ReportAnswer, ReportStep, SourceQuote
from oraclepack.view.report.timeline import described, timeline
from oraclepack.work.backlog import Record, WorkStatus
from oraclepack.work.evidence import CitationState

if TYPE_CHECKING:
    from jinja2 import Environment

LEDE = 240
"""Characters of the direct answer that are beside a closed answer."""
LONGEST_TITLE = 90
MANY = 100
"""Questions of a run whose page is laid out only where it is looked at."""
_EMPHASIS = re.compile(r"(?P<mark>\*\*|`)(?P<text>[^*`]+)(?P=mark)")
_STATE_WORDS = {
    CitationState.VERIFIED: "verified",
    CitationState.STALE: "changed since",
    CitationState.NOT_ATTACHED: "not attached",
    CitationState.OUT_OF_RANGE: "beyond the end",
    CitationState.UNKNOWN: "not checked",
}
_LOOKS = {"ok": "good", "failed": "bad", "interrupted": "warn", "accepted": "warn"}


class Page:
    """What the forms of a report show besides its values: titles, badges, links, HTML."""

    def __init__(self, data: Report) -> None:
        self.data = data
        self.has_many = len(data.steps) > MANY
        # What asks for nothing stands in the answers.
        self.tasks = [one for one in data.records if one.status is not WorkStatus.NOOP]
        self._answers = {one.path: one for step in data.steps for one in step.answers}
        self._html: dict[str, RenderedAnswer] = {}
        self._issues = {issue.step_id: issue for issue in data.issues}
        self._looked_at = {step for one in data.attention for step in one.steps}
        self._tasks_of: dict[str, list[Record]] = {}
        for record in self.tasks:
            for step_id in record.sources or (record.step_id,):
                self._tasks_of.setdefault(step_id, []).append(record)

    @cached_property
    def priorities(self) -> Counter[str]:
        """How many tasks there are of each priority."""
        return Counter(record.priority for record in self.tasks if record.is_work)

    def options(self, attribute: str) -> list[str]:
        """The values by which tasks can be filtered."""
        return sorted({str(getattr(one, attribute)) for one in self.tasks} - {"None", ""})

    @property
    def by_question(self) -> list[tuple[str, CostTotal]]:
        costs = ((step.step_id, step.cost) for step in self.data.steps)
        return [(name, cost) for name, cost in costs if cost.calls or cost.saved_calls]

    @property
    def files(self) -> list[str]:
        return sorted({file for record in self.tasks for file in files_of(record)})

    # A question

    def title(self, step: ReportStep) -> str:
        """The question as people call it."""
        issue = self._issues.get(step.step_id)
        named = (step.title, step.reference or "", issue.title if issue else "")
        return _cut(next(filter(None, map(one_line, named)), ""), LONGEST_TITLE)

    def lede(self, step: ReportStep) -> str:
        """The beginning of the answer, or why there is none."""
        issue = self._issues.get(step.step_id)
        text = (issue.answer if issue else "") or step.reason
        return _cut(_EMPHASIS.sub(r"\g<text>", one_line(text)), LEDE)

    def needs_look(self, step: ReportStep) -> bool:
        return step.step_id in self._looked_at

    def tasks_of(self, step: ReportStep) -> list[Record]:
        return self._tasks_of.get(step.step_id, [])

    def badges(self, step: ReportStep) -> list[tuple[str, str]]:
        """How a step stands: colours with a few words; the first one colours it."""
        rehearsal = self.data.run.rehearsal
        state = {"ok": "answered" if step.answers else "ok", "accepted": "accepted by hand"}
        is_cut = any(one.cut for one in step.answers) and not rehearsal
        look = _LOOKS.get(step.state, "plain")
        if look == "good" and (is_cut or step.doubts):
            look = "warn"
        rehearsed = "rehearsed" if rehearsal and step.answers else ""
        badges = [(look, rehearsed or state.get(step.state, step.state))]
        if is_cut:
            badges.append(("warn", "cut off"))
        elif step.doubts:
            badges.append(("warn", "needs a look"))
        failures = step.verification.failures if step.verification else ()
        missing = sorted({name for one in failures for name in one.missing_sections})
        if missing:
            badges.append(("bad", f"lacks {', '.join(missing)}"))
        if any(one.is_edited for one in step.answers):
            badges.append(("warn", "edited"))
        if step.bad_quotes:
            badges.append(("warn", quantity(len(step.bad_quotes), "unconfirmed source")))
        if any(one.from_cache for one in step.answers):
            badges.append(("info", "from the cache"))
        return badges + ([("plain", "imported")] if step.imported else [])

    # An answer

    def html(self, answer: ReportAnswer) -> Any:  # noqa: ANN401 - as `_safe`
        return _safe(self._rendered(answer).html)

    def anchor(self, answer: ReportAnswer, line: int) -> str:
        """The id of the block that a line is in."""
        block = self._rendered(answer).block_at(line)
        return f"{answer.id}-L{block}" if block else answer.id

    def _rendered(self, answer: ReportAnswer) -> RenderedAnswer:
        if answer.id not in self._html:
            self._html[answer.id] = render_answer(
                answer.text,
                f"{answer.id}-",
                CitationLinks(quotes_with_ids(answer)),
                plain=answer.is_capture,
                headings={line for _, line in answer.sections},
            )
        return self._html[answer.id]

    # A task

    def texts(self, record: Record) -> list[Any]:
        """Its actions as HTML."""
        said = (f"Question {one.step_id}: {one.text}" for one in record.statements)
        links = self._links(record)
        texts = record.actions or said
        return [_safe(render_answer(text, "", links, plain=False).html) for text in texts]

    def places(self, record: Record) -> Iterator[tuple[str, str]]:
        """Links to the lines of answers it comes from; without an address where none is shown."""
        for span in record.spans:
            answer = self._answers.get(span.path)
            lines = f"line {span.first_line}"
            if span.last_line != span.first_line:
                lines = f"lines {span.first_line}–{span.last_line}"
            href = f"#{self.anchor(answer, span.first_line)}" if answer else ""
            yield href, f"{span.path}, {lines}"

    def cited(self, record: Record) -> Iterator[tuple[str, str, CitationState]]:
        """Links to the sources that it cites, and what is known of each."""
        links = self._links(record)
        for one in record.evidence.citations:
            target = links.find(one)
            yield f"#{target[0]}" if target else "", str(one), one.state

    def _links(self, record: Record) -> CitationLinks:
        answers = (self._answers.get(span.path) for span in record.spans)
        return CitationLinks(pair for one in answers if one for pair in quotes_with_ids(one))


def quotes_with_ids(answer: ReportAnswer) -> list[tuple[str, SourceQuote]]:
    """The quoted sources of an answer with their ids on the page."""
    return [(f"s{answer.id[1:]}-{at}", one) for at, one in enumerate(answer.quotes, start=1)]


def files_of(record: Record) -> list[str]:
    """The files that a record names."""
    return sorted({*record.evidence.paths, *(one.path for one in record.evidence.citations)})


def task_anchor(task_id: str) -> str:
    """`OP3-55555555-07-02` → `t07-02`."""
    return "t" + "-".join(task_id.split("-")[-2:])


def _cut(text: str, longest: int) -> str:
    """A text that is too long ends after a whole word, in `…`."""
    if len(text) <= longest:
        return text
    words = text[:longest].rpartition(" ")[0] or text[: longest - 1]
    return f"{words.rstrip(' .,;:')}…"


def run_page(data: Report) -> str:
    """The report of one run: one file that needs nothing else."""
    return render(
        "run_page.html",
        title=f"{data.run.pack_path or data.run.run_id} – report",
        page=Page(data),
        data=data,
        run=data.run,
        timeline=_safe(timeline(data.steps)),
    )


def render(template: str, *, title: str, **values: object) -> str:
    """A page of ours, with its style and its script."""
    style, script = _asset("report.css"), _asset("report.js")
    hashes = (
        base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (style, script)
    )
    policy = (
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    ).format(*hashes)
    page = _environment().get_template(template)
    return page.render(
        title=title, policy=policy, style=_safe(style), script=_safe(script), **values
    )


@cache
def _asset(name: str) -> str:
    return shipped("oraclepack.view.report", f"templates/{name}").decode()


def _safe(text: str) -> Any:  # noqa: ANN401 - markupsafe is loaded with jinja2
    """A text that is HTML already: style, script, drawings and cleaned answers."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - of our own making, or cleaned


def _counted_states(quotes: Iterable[SourceQuote]) -> list[tuple[str, int]]:
    """How many citations of an answer are in which state, in the order of states."""
    counts = Counter(quote.state for quote in quotes)
    return [(_STATE_WORDS[state], counts[state]) for state in CitationState if counts[state]]


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_asset),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Text from outside loses what steers a screen; it is escaped after this.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {
        "duration": figures.duration,
        "size": figures.size,
        "moment": figures.moment,
        "amount": figures.amount,
        "cost": figures.cost_cell,
        "tokens": figures.tokens,
        "line": one_line,
        "state": _STATE_WORDS.__getitem__,
        "states": _counted_states,
        "files": files_of,
        "quoted": quotes_with_ids,
        "markdown": lambda text: _safe(
            render_answer(text, "", CitationLinks(()), plain=False).html
        ),
        "words": lambda text: str(text).replace("_", " "),
        "task_anchor": task_anchor,
    }
    environment.globals |= {"count": quantity, "described": described}
    return environment
