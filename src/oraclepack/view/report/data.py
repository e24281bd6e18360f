"""What a report shows of one run: values that were gathered once and are rendered in any form.

Texts are here as they came from outside, without secrets; each renderer escapes them.
"""

from decimal import Decimal
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from oraclepack.journal.costs import CostTotal
from oraclepack.journal.events import ForecastRecorded
from oraclepack.lint.finding import Finding
from oraclepack.view.calls import RunCall, RunTime
from oraclepack.view.past_runs import RunDetails
from oraclepack.view.run_status import DecisionRequest
from oraclepack.view.step import StepView
from oraclepack.work.backlog import Issue, Record
from oraclepack.work.evidence import Citation


class AttentionKind(StrEnum):
    """Why a person has to look at something, the most urgent first."""

    DAMAGED = "damaged"
    FOREIGN = "not yours"
    REHEARSAL = "rehearsal"
    BUDGET = "budget"
    DECISION = "decision"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    PARTIAL = "cut off"
    DOUBTFUL = "doubt"
    CONFLICT = "contradiction"
    BLOCKED = "blocked"
    CITATION = "sources"
    EDITED = "edited"
    ACCEPTED = "accepted"


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that needs a person; the same thing in several steps is one."""

    kind: AttentionKind
    message: str
    steps: tuple[str, ...] = ()
    task_id: str | None = None
    action: str = ""
    """What to do about it."""


class SourceQuote(Citation, frozen=True, kw_only=True):
    """A place in a file that an answer cites, with its lines and those around them."""

    lines: tuple[tuple[int, str], ...] = ()
    omitted: str = ""
    """Why no lines are shown, or not all of them."""


class ReportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an answer."""

    id: str
    """Its place in a page: `a07-1`. A quoted source is `s07-1-3`."""
    path: str
    """Relative to the run directory, as records name it."""
    text: str
    sha256: str
    bytes: int
    from_cache: bool = False
    is_capture: bool = False
    """It was copied from a page and is no Markdown: its lines are shown as they are."""
    is_used: bool = True
    """False for an answer that missed its contract."""
    is_edited: bool = False
    """The file is not what the run recorded."""
    cut: str = ""
    """Why the answer is not whole; empty when it is."""
    omitted: str = ""
    """Why its text is not shown."""
    sections: tuple[tuple[str, int], ...] = ()
    """Headings, and the lines on which the sections begin."""
    quotes: tuple[SourceQuote, ...] = ()


class LogExcerpt(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a log."""

    path: str
    bytes: int
    """Of the whole log."""
    text: str
    shown_bytes: int


class ReportStep(StepView, frozen=True, kw_only=True):
    """A step with what it asked and what came back."""

    title: str
    question: str = ""
    prompts: tuple[str, ...] = ()
    """What was asked, in full; empty where the pack is not known or prompts are left out."""
    answers: tuple[ReportAnswer, ...] = ()
    attached: tuple[str, ...] = ()
    calls: tuple[RunCall, ...] = ()
    logs: tuple[LogExcerpt, ...] = ()

    @property
    def bad_quotes(self) -> tuple[SourceQuote, ...]:
        """The cited places that do not hold."""
        return tuple(one for answer in self.answers for one in answer.quotes if one.state.is_bad)


class Report(RunDetails, frozen=True, kw_only=True):
    """Everything a report shows of one run."""

    program: str
    """The version of oraclepack that made the report."""
    clock: RunTime
    steps: tuple[ReportStep, ...] = ()
    records: tuple[Record, ...] = ()
    """Work, the most valuable first; without those merged into another record."""
    issues: tuple[Issue, ...] = ()
    ticked: tuple[str, ...] = ()
    """Tasks that a person ticked in the backlog."""
    attention: tuple[Attention, ...] = ()
    by_model: dict[str, CostTotal]
    by_provider: dict[str, CostTotal]
    forecasts: tuple[tuple[ForecastRecorded, Decimal | None], ...] = ()
    """Of each command that had one, and what it came to."""
    reserved: Decimal | None = None
    """The worst case of all tries, as it was reserved in the budgets before they were made."""
    decisions: tuple[DecisionRequest, ...] = ()
    """What the command that works on the run asks a person."""
    warnings: tuple[str, ...] = ()
    pack_text: str = ""
    """The pack, where it is still what the run used."""
    pack_note: str = ""
    """Why the pack is not shown."""
    findings: tuple[Finding, ...] = ()
    is_redacted: bool = False

    @property
    def answered(self) -> int:
        return sum(any(one.is_used for one in step.answers) for step in self.steps)

    @property
    def tasks(self) -> int:
        return sum(record.is_work for record in self.records)

    @property
    def quotes(self) -> tuple[SourceQuote, ...]:
        """The quoted places of all answers."""
        answers = (one for step in self.steps for one in step.answers)
        return tuple(quote for one in answers for quote in one.quotes if quote.lines)

    @property
    def quoted_lines(self) -> int:
        return sum(len(quote.lines) for quote in self.quotes)


_LEFT_OUT = "left out by --redact"


def redacted_data(data: Report) -> Report:
    """The report without prompts and without the content of files and logs."""
    return replace(
        data,
        steps=tuple(map(_redacted_step, data.steps)),
        issues=tuple(replace(issue, question="") for issue in data.issues),
        pack_text="",
        pack_note=_LEFT_OUT,
        is_redacted=True,
    )


def _redacted_step(step: ReportStep) -> ReportStep:
    answers = tuple(
        replace(one, quotes=tuple(replace(q, lines=(), omitted=_LEFT_OUT) for q in one.quotes))
        for one in step.answers
    )
    # Without a title of its own, a step is named by its question.
    title = "" if step.title and step.question.startswith(step.title) else step.title
    return replace(step, title=title, question="", prompts=(), answers=answers, logs=())
