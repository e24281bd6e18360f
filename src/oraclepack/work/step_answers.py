"""One answer → its records before they are compared with those of other answers."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from oraclepack.answers.answer_reader import ParsedAnswer, read_answer_text
from oraclepack.answers.statements import Statement
from oraclepack.answers.work_items import WorkItem
from oraclepack.pack.answer_sections import Section, normalise
from oraclepack.work.asking import AskedWork, Quote, checked_work
from oraclepack.work.backlog import (
    AnsweredStep,
    Priority,
    RecordOrigin,
    SourceSpan,
    TaskKind,
    WorkStatus,
)
from oraclepack.work.evidence import NO_EVIDENCE, Evidence, evidence_in, missing_patterns
from oraclepack.work.reading import Reading, reading_of, spoken
from oraclepack.work.titles import LONGEST, title_of

_LONGEST_READ = 4_000
"""Characters of a statement in which names are looked for; its text is handed on whole."""
_MARK = re.compile(
    r"\b(?P<level>P[0-3])\b"
    r"|\b(?:priority|severity|risk|impact)\W{1,4}(?P<said>critical|high|medium|low)\b"
    r"|[\[(*](?P<label>critical|high|medium|low)(?:[ -](?:priority|severity|risk|impact))?[\])*:]"
    r"|^\W*(?P<first>critical|high|medium|low)(?:[ -](?:priority|severity|risk|impact))?\s*[:—–]",
    re.IGNORECASE | re.MULTILINE,
)
_LEVELS = dict(zip(("p0", "p1", "p2", "p3"), Priority, strict=True))
_KINDS = {
    Reading.CHANGE: TaskKind.CHANGE,
    Reading.FINDING: TaskKind.FINDING,
    Reading.EXPERIMENT: TaskKind.EXPERIMENT,
    Reading.RISK: TaskKind.RISK,
    Reading.EVIDENCE: TaskKind.EVIDENCE,
}
_REMARKS = {Reading.DONE: "the answer says that this is done", Reading.NOTHING: "nothing to do"}
_WORK = frozenset({TaskKind.CHANGE, TaskKind.FINDING, TaskKind.EXPERIMENT, TaskKind.QUESTION})
_NEARLY_ALL = 0.8
_CUT_OFF = "the answer is cut off here"


One = TypeVar("One")


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A record of one answer."""

    step_id: str
    number: int = 0
    kind: TaskKind
    status: WorkStatus = WorkStatus.NOOP
    origin: RecordOrigin = RecordOrigin.READ
    title: str
    actions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    evidence: Evidence = NO_EVIDENCE
    spans: tuple[SourceSpan, ...] = ()
    missing_inputs: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    done_when: str = ""
    size: str | None = None
    after: tuple[str, ...] = ()
    """Titles of the same answer that come first."""
    mark: tuple[Priority, str] | None = None
    """The priority that the answer itself gives, and its word for it."""
    is_claim: bool = False
    """It says how something is or should be, and may contradict another answer."""
    is_undecided: bool = False

    @property
    def is_work(self) -> bool:
        return self.status is WorkStatus.ACTIONABLE

    @property
    def place(self) -> tuple[str, int]:
        return self.step_id, self.number


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What one answer comes to."""

    step: AnsweredStep
    title: str
    verdict: str = ""
    drafts: tuple[Draft, ...] = ()
    experiment: str = ""
    cut: str = ""
    doubts: tuple[str, ...] = ()
    free_form: bool = False

    @property
    def missing_inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.drafts for name in one.missing_inputs))

    @property
    def risks(self) -> tuple[str, ...]:
        return tuple(t for one in self.drafts if one.kind is TaskKind.RISK for t in one.actions)


def read_step(step: AnsweredStep, reply: str | None = None) -> StepAnswer:
    """Read an answer: the work that it states, else what a model found in it, else by rules."""
    parsed = _parsed(step)
    items = [(path, item) for path, one in parsed for item in one.work.items]
    is_stated = any(one.work.is_stated for _, one in parsed)
    asked = checked_work(step, reply) if reply is not None and not is_stated else None
    drafts = [_stated(step, path, item) for path, item in items]
    rejected: tuple[str, ...] = ()
    if asked is not None:
        found, used = _asked(step, parsed, asked)
        drafts += found
        drafts += _read(step, parsed, only_said=True, used=used)
        rejected = asked.rejected
    else:
        drafts += _read(step, parsed, only_said=is_stated)
        rejected = ("the reply is not of the form that was asked for",) if reply else ()
    numbered = _numbered(_decided(drafts))
    verdict = next((one.work.verdict for _, one in parsed if one.work.verdict), "")
    verdict = verdict or (asked.verdict if asked is not None else "")
    said = next((one for one in (*drafts, *numbered) if _may_name_issue(one)), None)
    title = title_of(verdict) if verdict else said.title if said is not None else ""
    return StepAnswer(
        step=step,
        title=title or f"Read the answer to question {step.question.step_id}",
        verdict=verdict or (said.actions[0] if said is not None else ""),
        drafts=tuple(numbered),
        experiment="\n\n".join(
            text for one in numbered if one.kind is TaskKind.EXPERIMENT for text in one.actions
        ),
        cut="; ".join(one.cut.reason for _, one in parsed if one.cut is not None),
        doubts=(
            *(f"Not read: {p}:{n}: {why}" for p, one in parsed for n, why in one.work.doubts),
            *(f"Rejected from the model's reply: {text}" for text in rejected),
        ),
        free_form=all(one.is_free_form for _, one in parsed),
    )


def states_work(step: AnsweredStep) -> bool:
    """Whether an answer says itself what there is to do."""
    return any(one.work.is_stated for _, one in _parsed(step))


def _parsed(step: AnsweredStep) -> list[tuple[str, ParsedAnswer]]:
    return [
        (part.path, read_answer_text(part.text, section=part.section, expected=part.expected))
        for part in step.parts
    ]


def _may_name_issue(draft: Draft) -> bool:
    """The first thing that an answer says directly; a question, a heading, a caption is none."""
    is_said = draft.kind in {*_WORK, TaskKind.STATEMENT} and not draft.remarks
    is_heading = any(text.startswith(("#", "```", "~~~")) for text in draft.actions)
    return is_said and " " in draft.title and not is_heading and not draft.title.endswith("?")


def _stated(step: AnsweredStep, path: str, item: WorkItem) -> Draft:
    """An item of stated work, as it stands."""
    text = item.title
    cited = evidence_in(" ".join((*item.files, *item.evidence, text)))
    paths = tuple(sorted({*cited.paths, *item.files}))
    return Draft(
        step_id=step.question.step_id,
        kind=TaskKind(item.kind),
        status=WorkStatus.ACTIONABLE,
        origin=RecordOrigin.STATED,
        title=title_of(item.title),
        actions=(text,),
        evidence=msgspec.structs.replace(cited, paths=paths),
        spans=(SourceSpan(path, item.line, item.line),),
        done_when=item.done_when,
        size=str(item.effort) if item.effort is not None else None,
        after=item.after,
        mark=_mark_in(item.title),
        is_claim=True,
    )


def _asked(
    step: AnsweredStep, parsed: Sequence[tuple[str, ParsedAnswer]], work: AskedWork
) -> tuple[list[Draft], set[tuple[str, int]]]:
    """The items of a reply, and the statements that went into them.

    A quote that is nearly all of a statement stands for the whole of it.
    """
    used: set[tuple[str, int]] = set()
    drafts: list[Draft] = []
    for item, quote in work.items:
        text, first, last = quote.text, quote.first_line, quote.last_line
        said = [one for path, answer in parsed if path == quote.path for one in answer.statements]
        for one in said:
            if _is_around(one, quote) and len(quote.text) >= _NEARLY_ALL * len(one.text):
                text, first, last = one.text, one.first_line, one.last_line
                used.add((quote.path, first))
            elif _is_inside(one, quote):
                used.add((quote.path, one.first_line))
        head = text[:_LONGEST_READ]
        named = evidence_in(head)
        paths = tuple(sorted({*named.paths, *item.files}))
        drafts.append(
            Draft(
                step_id=step.question.step_id,
                kind=TaskKind(item.kind),
                status=WorkStatus.ACTIONABLE,
                origin=RecordOrigin.ASKED,
                title=title_of(spoken(item.title)),
                actions=(text,),
                evidence=msgspec.structs.replace(named, paths=paths),
                spans=(SourceSpan(quote.path, first, last),),
                done_when=item.done_when,
                size=str(item.effort) if item.effort is not None else None,
                mark=_mark_in(head),
                is_claim=True,
            )
        )
    return drafts, used


def _is_around(statement: Statement, quote: Quote) -> bool:
    return statement.first_line <= quote.first_line and quote.last_line <= statement.last_line


def _is_inside(statement: Statement, quote: Quote) -> bool:
    lines = quote.first_line <= statement.first_line and statement.last_line <= quote.last_line
    return lines and normalise(statement.text) in normalise(quote.text)


def _read(
    step: AnsweredStep,
    parsed: Sequence[tuple[str, ParsedAnswer]],
    *,
    only_said: bool,
    used: Collection[tuple[str, int]] = (),
) -> Iterator[Draft]:
    """Every statement of an answer; the experiment is one, however many lines it has."""
    question = step.question.text or step.question.title
    experiment: Draft | None = None
    for path, answer in parsed:
        for statement in answer.statements:
            if (path, statement.first_line) in used:
                continue
            reading = reading_of(statement, question)
            is_last = answer.cut is not None and statement is answer.statements[-1]
            is_cut = is_last and answer.cut is not None and answer.cut.breaks_statement
            draft = _draft(step, path, statement, reading, is_cut=is_cut, only_said=only_said)
            if reading is not Reading.EXPERIMENT:
                yield draft
            else:
                experiment = draft if experiment is None else _joined(experiment, draft)
    if experiment is not None:
        yield experiment


def _draft(
    step: AnsweredStep,
    path: str,
    statement: Statement,
    reading: Reading,
    *,
    is_cut: bool,
    only_said: bool,
) -> Draft:
    text = statement.text
    head = text[:_LONGEST_READ]
    kind = _KINDS.get(reading, TaskKind.STATEMENT)
    is_direct = statement.section is Section.DIRECT_ANSWER
    if only_said and is_direct:
        kind = TaskKind.STATEMENT
    is_work = kind in _WORK and not only_said
    remarks = [_REMARKS[reading]] if reading in _REMARKS else []
    return Draft(
        step_id=step.question.step_id,
        kind=kind,
        status=WorkStatus.ACTIONABLE if is_work else WorkStatus.NOOP,
        title=title_of(spoken(head)) or text[:LONGEST],
        actions=(text,),
        notes=(statement.lead,) if statement.lead else (),
        evidence=evidence_in(head),
        spans=(SourceSpan(path, statement.first_line, statement.last_line),),
        missing_inputs=tuple(missing_patterns(head)) if reading is Reading.EVIDENCE else (),
        remarks=(*remarks, *([_CUT_OFF] if is_cut else [])),
        mark=_mark_in(f"{statement.lead}\n{head}"),
        is_claim=is_direct and reading not in _REMARKS,
        is_undecided=reading is Reading.UNDECIDED,
    )


def _joined(first: Draft, more: Draft) -> Draft:
    """Two statements of the same thing as one record."""
    return msgspec.structs.replace(
        first,
        actions=once((*first.actions, *more.actions)),
        notes=once((*first.notes, *more.notes)),
        evidence=first.evidence.with_other(more.evidence),
        spans=once((*first.spans, *more.spans)),
        remarks=once((*first.remarks, *more.remarks)),
    )


def _decided(drafts: Sequence[Draft]) -> list[Draft]:
    """Where an answer has no work, what says that it cannot tell blocks the question."""
    if any(one.status is WorkStatus.ACTIONABLE for one in drafts):
        return list(drafts)
    blocked = WorkStatus.BLOCKED
    return [msgspec.structs.replace(d, status=blocked) if d.is_undecided else d for d in drafts]


def _numbered(drafts: Iterable[Draft]) -> list[Draft]:
    """Work first, then what is only said; what an answer says twice is one record."""
    distinct: dict[tuple[str, ...], Draft] = {}
    for draft in drafts:
        key = (draft.kind, *map(normalise, draft.actions))
        distinct[key] = _joined(distinct[key], draft) if key in distinct else draft
    ordered = sorted(distinct.values(), key=lambda one: one.status is WorkStatus.NOOP)
    seen: set[str] = set()
    numbered: list[Draft] = []
    for number, draft in enumerate(ordered, start=1):
        title = draft.title
        if title.lower() in seen and draft.status is not WorkStatus.NOOP:
            title = f"{title_of(title, LONGEST - len(f' ({number})'))} ({number})"
        seen.add(title.lower())
        numbered.append(msgspec.structs.replace(draft, number=number, title=title))
    return numbered


def _mark_in(text: str) -> tuple[Priority, str] | None:
    """A priority that the answer gives itself: P0 to P3, or a word as a label."""
    match = _MARK.search(text[:_LONGEST_READ])
    if match is None:
        return None
    word = next(group for group in match.groups() if group)
    return _LEVELS.get(word.lower()) or Priority(word.lower()), word


def once(values: Iterable[One]) -> tuple[One, ...]:
    """The values in their order, each once."""
    return tuple(dict.fromkeys(values))
