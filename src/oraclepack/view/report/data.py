"""What a report shows of one run: values that were gathered once and are rendered in any form.

Texts are here as they came from outside, without secrets; each renderer escapes them.
"""

from decimal import Decimal
from enum import StrEnum
from itertools import groupby

import msgspec

from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.journal.statuses import OutputDoubt, OutputFailure
from oraclepack.work.backlog import Issue, Record
from oraclepack.work.evidence import CitationState

REPORT_VERSION = 1


class AttentionKind(StrEnum):
    """Why a person has to look at something, the most urgent first."""

    DAMAGED = "damaged"
    FOREIGN = "foreign"
    REHEARSAL = "rehearsal"
    BUDGET = "budget"
    DECISION = "decision"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    PARTIAL = "partial"
    DOUBTFUL = "doubtful"
    CONFLICT = "conflict"
    BLOCKED = "blocked"
    CITATION = "citation"
    EDITED = "edited"
    ACCEPTED = "accepted"


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that needs a person."""

    kind: AttentionKind
    message: str
    step_id: str | None = None
    task_id: str | None = None
    action: str = ""
    """What to do about it."""


class SourceLine(msgspec.Struct, frozen=True):
    """One line of a file, with its number."""

    number: int
    text: str
    is_cited: bool = True
    """False for the lines around the cited ones."""


class SourceQuote(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a file that an answer cites, what is known of it, and its lines."""

    path: str
    first_line: int
    last_line: int
    state: CitationState
    lines: tuple[SourceLine, ...] = ()
    omitted: str = ""
    """Why no lines are shown, or not all of them."""

    @property
    def place(self) -> str:
        last = f"-{self.last_line}" if self.last_line != self.first_line else ""
        return f"{self.path}:{self.first_line}{last}"

    @property
    def blocks(self) -> tuple[tuple[bool, str], ...]:
        """The lines with their numbers: those that are cited, and those around them, as texts."""
        width = max((len(str(line.number)) for line in self.lines), default=0)
        return tuple(
            (is_cited, "".join(f"{line.number:>{width}}  {line.text}\n" for line in lines))
            for is_cited, lines in groupby(self.lines, key=lambda line: line.is_cited)
        )


class SectionStart(msgspec.Struct, frozen=True):
    """A section of an answer, and the line on which it begins."""

    section: str
    heading: str
    line: int


class ReportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an answer."""

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
    sections: tuple[SectionStart, ...] = ()
    quotes: tuple[SourceQuote, ...] = ()


class CallPhase(StrEnum):
    """What a call was doing for some time."""

    PREPARING = "preparing"
    """Its question was looked up, or its answer stored."""
    WAITING = "waiting"
    """For a slot, for another call of the same question, or for a person."""
    TRYING = "trying"
    BACKOFF = "backing off"
    CALL = "call"
    """Trying and waiting: the journal of earlier versions does not distinguish them."""


class CallSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time of one call, in milliseconds since the start of the run."""

    kind: CallPhase
    start_ms: int
    end_ms: int
    note: str = ""


class CallEnd(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    CACHED = "cached"
    ADOPTED = "adopted"
    FAILED = "failed"
    OPEN = "no end recorded"


class ReportCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    step_id: str
    attempt: int
    call: int
    tool: str
    provider: str | None
    model: str | None
    end: CallEnd
    tries: int
    waited_ms: int
    start_ms: int
    end_ms: int
    segments: tuple[CallSegment, ...] = ()
    session: str | None = None
    error: str = ""
    cost: CostTotal = NO_COST


class LogExcerpt(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a log."""

    path: str
    bytes: int
    """Of the whole log."""
    text: str
    shown_bytes: int
    attempt: int = 0


class ReportStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step: what it asked, what became of it, and what came back."""

    step_id: str
    title: str
    question: str = ""
    prompts: tuple[str, ...] = ()
    """What was asked, in full; empty where the pack is not known or prompts are left out."""
    question_id: str | None = None
    category: str | None = None
    reference: str | None = None
    roi: float | None = None
    effort: float | None = None
    state: str
    reason: str = ""
    """Why it failed, was skipped or has no answer."""
    error_code: str = ""
    attempts: int = 0
    started_at: str | None = None
    finished_at: str | None = None
    duration_ms: int | None = None
    imported: bool = False
    is_checked: bool = False
    """Its outputs were compared with their contract."""
    failures: tuple[OutputFailure, ...] = ()
    doubts: tuple[OutputDoubt, ...] = ()
    accepted: tuple[str, ...] = ()
    """Outputs that a person took as they are, each with the reason."""
    answers: tuple[ReportAnswer, ...] = ()
    attached: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()
    calls: tuple[ReportCall, ...] = ()
    logs: tuple[LogExcerpt, ...] = ()
    cost: CostTotal = NO_COST


class ReportFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of the rules in the pack."""

    rule: str
    severity: str
    line: int
    message: str
    hint: str = ""
    step_id: str | None = None


class ReportSession(msgspec.Struct, frozen=True, kw_only=True):
    """A command that worked on the run."""

    command: str
    started_at: str
    finished_at: str | None
    exit_code: int | None
    start_ms: int
    end_ms: int


class MoneyRow(msgspec.Struct, frozen=True):
    """What the calls of one step, model or provider cost."""

    name: str
    cost: CostTotal


class OpenDecision(msgspec.Struct, frozen=True):
    """A question to a person that a running command waits for."""

    step_id: str
    question: str
    options: tuple[str, ...] = ()


class ForecastRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a command was expected to cost, and what it cost. US dollars; null is unknown."""

    at: str
    to_ask: int
    low: Decimal | None
    likely: Decimal | None
    high: Decimal | None
    actual: Decimal | None


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report shows of one run."""

    version: int = REPORT_VERSION
    program: str
    """The version of oraclepack that made the report."""
    run_id: str
    run_name: str
    """As `runs list` names it: a rehearsal is `rehearsals/ID`."""
    pack_path: str
    pack_hash: str
    status: str
    """As `runs list` says it."""
    created_at: str | None = None
    finished_at: str | None = None
    worked_ms: int = 0
    span_ms: int = 0
    """From the first event to the last."""
    git_sha: str | None = None
    git_dirty: bool | None = None
    engine: str | None = None
    oraclepack_version: str | None = None
    oracle_version: str | None = None
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    is_rehearsal: bool = False
    foreign: str | None = None
    damage: str | None = None
    is_held: bool = False
    """A command works on the run now."""
    steps: tuple[ReportStep, ...] = ()
    records: tuple[Record, ...] = ()
    """Work, the most valuable first; without those merged into another record."""
    issues: tuple[Issue, ...] = ()
    ticked: tuple[str, ...] = ()
    """Tasks that a person ticked in the backlog."""
    attention: tuple[Attention, ...] = ()
    sessions: tuple[ReportSession, ...] = ()
    cost: CostTotal = NO_COST
    by_model: tuple[MoneyRow, ...] = ()
    by_provider: tuple[MoneyRow, ...] = ()
    forecasts: tuple[ForecastRow, ...] = ()
    """Of each command that had one, beside what it came to."""
    reserved: Decimal | None = None
    """The worst case of all tries, as it was reserved in the budgets before they were made."""
    decisions: tuple[OpenDecision, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    pack_text: str = ""
    """The pack, where it is still what the run used."""
    pack_note: str = ""
    """Why the pack is not shown."""
    findings: tuple[ReportFinding, ...] = ()
    is_redacted: bool = False

    @property
    def answered(self) -> int:
        return sum(any(one.is_used for one in step.answers) for step in self.steps)

    @property
    def quoted_files(self) -> tuple[str, ...]:
        """The files of which lines are quoted."""
        quotes = (quote for step in self.steps for one in step.answers for quote in one.quotes)
        return tuple(sorted({quote.path for quote in quotes if quote.lines}))

    @property
    def quoted_lines(self) -> int:
        return sum(
            len(quote.lines) for step in self.steps for one in step.answers for quote in one.quotes
        )


_LEFT_OUT = "left out by --redact"


def redacted_data(data: ReportData) -> ReportData:
    """The report without prompts and without the content of files and logs."""
    return msgspec.structs.replace(
        data,
        steps=tuple(map(_redacted_step, data.steps)),
        issues=tuple(msgspec.structs.replace(issue, question="") for issue in data.issues),
        pack_text="",
        pack_note=_LEFT_OUT,
        is_redacted=True,
    )


def _redacted_step(step: ReportStep) -> ReportStep:
    answers = tuple(
        msgspec.structs.replace(answer, quotes=tuple(map(_redacted_quote, answer.quotes)))
        for answer in step.answers
    )
    # Without a title of its own, a step is named by its question.
    title = "" if step.title and step.question.startswith(step.title) else step.title
    return msgspec.structs.replace(
        step, title=title, question="", prompts=(), answers=answers, logs=()
    )


def _redacted_quote(quote: SourceQuote) -> SourceQuote:
    return msgspec.structs.replace(quote, lines=(), omitted=_LEFT_OUT)
