"""One answer → its records before they are compared with those of other answers."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from oraclepack.answers.answer_reader import ParsedAnswer, read_answer_text
from oraclepack.answers.statements import Statement
from oraclepack.answers.work_items import WorkItem
from oraclepack.pack.answer_sections import Section, normalise
from oraclepack.work.asking import AskedWork, checked_work
from oraclepack.work.backlog import (
    AnsweredStep,
    Priority,
    Record,
    RecordOrigin,
    SourceSpan,
    TaskKind,
    WorkStatus,
)
from oraclepack.work.evidence import Evidence, evidence_in, missing_patterns
from oraclepack.work.reading import REMARKS, Reading, reading_of, spoken
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
_WORK = frozenset({TaskKind.CHANGE, TaskKind.FINDING, TaskKind.EXPERIMENT, TaskKind.QUESTION})
_NEARLY_ALL = 0.8
MARKED = "marked "
_CUT_OFF = "the answer is cut off here"


One = TypeVar("One")


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What one answer comes to."""

    step: AnsweredStep
    title: str
    verdict: str = ""
    records: tuple[Record, ...] = ()
    experiment: str = ""
    cut: str = ""
    doubts: tuple[str, ...] = ()
    free_form: bool = False

    @property
    def missing_inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.records for name in one.missing_inputs))

    @property
    def risks(self) -> tuple[str, ...]:
        return tuple(t for one in self.records if one.kind is TaskKind.RISK for t in one.actions)


def read_step(step: AnsweredStep, blank: Record, reply: str | None = None) -> StepAnswer:
    """Read an answer: the work that it states, else what a model found in it, else by rules.

    Its records are made from a blank one, which knows the pack and the question.
    """
    parsed = _parsed(step)
    items = [(path, item) for path, one in parsed for item in one.work.items]
    is_stated = any(one.work.is_stated for _, one in parsed)
    asked = checked_work(step, reply) if reply is not None and not is_stated else None
    records = [_stated(blank, path, item) for path, item in items]
    rejected: tuple[str, ...] = ()
    used: set[tuple[str, int]] = set()
    if asked is not None:
        found, used = _asked(blank, parsed, asked)
        records += found
        rejected = asked.rejected
    elif reply:
        rejected = ("the reply is not of the form that was asked for",)
    is_known = is_stated or asked is not None
    question = step.question.text or step.question.title
    records += _read(blank, question, parsed, only_said=is_known, used=used)
    after = {title: item.after for _, item in items for title in (title_of(item.title),)}
    numbered = _numbered(records, after)
    verdict = next((one.work.verdict for _, one in parsed if one.work.verdict), "")
    verdict = verdict or (asked.verdict if asked is not None else "")
    said = next((one for one in (*records, *numbered) if _may_name_issue(one)), None)
    title = title_of(verdict) if verdict else said.title if said is not None else ""
    return StepAnswer(
        step=step,
        title=title or f"Read the answer to question {step.question.step_id}",
        verdict=verdict or (said.actions[0] if said is not None else ""),
        records=numbered,
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


def _may_name_issue(draft: Record) -> bool:
    """The first thing that an answer says directly; a question, a heading, a caption is none."""
    is_said = draft.kind in {*_WORK, TaskKind.STATEMENT} and not draft.remarks
    is_heading = any(text.startswith(("#", "```", "~~~")) for text in draft.actions)
    return is_said and " " in draft.title and not is_heading and not draft.title.endswith("?")


def _stated(blank: Record, path: str, item: WorkItem) -> Record:
    """An item of stated work, as it stands."""
    named = evidence_in(" ".join((*item.files, *item.evidence, item.title)))
    return msgspec.structs.replace(
        _item(blank, item, item.title, named, item.title),
        origin=RecordOrigin.STATED,
        title=title_of(item.title),
        spans=(SourceSpan(path, item.line, item.line),),
    )


def _item(blank: Record, item: WorkItem, text: str, named: Evidence, marked: str) -> Record:
    """An item that the answer states, or that a model found in it."""
    paths = tuple(sorted({*named.paths, *item.files}))
    priority, why = _mark_in(marked) or (blank.priority, blank.why)
    return msgspec.structs.replace(
        blank,
        kind=TaskKind(item.kind),
        status=WorkStatus.ACTIONABLE,
        origin=RecordOrigin.ASKED,
        title=title_of(spoken(item.title)),
        actions=(text,),
        evidence=msgspec.structs.replace(named, paths=paths),
        done_when=item.done_when,
        size=str(item.effort) if item.effort is not None else None,
        priority=priority,
        why=why,
    )


def _asked(
    blank: Record, parsed: Sequence[tuple[str, ParsedAnswer]], work: AskedWork
) -> tuple[list[Record], set[tuple[str, int]]]:
    """The items of a reply, and the statements that went into them.

    A quote that is nearly all of a statement stands for the whole of it.
    """
    used: set[tuple[str, int]] = set()
    records: list[Record] = []
    for item, quote in work.items:
        text, first, last = quote.text, quote.first_line, quote.last_line
        said = [one for path, answer in parsed if path == quote.path for one in answer.statements]
        for one in said:
            is_around = one.first_line <= quote.first_line and quote.last_line <= one.last_line
            is_inside = quote.first_line <= one.first_line and one.last_line <= quote.last_line
            if is_around and len(quote.text) >= _NEARLY_ALL * len(one.text):
                text, first, last = one.text, one.first_line, one.last_line
                used.add((quote.path, first))
            elif is_inside and normalise(one.text) in normalise(quote.text):
                used.add((quote.path, one.first_line))
        head = text[:_LONGEST_READ]
        record = _item(blank, item, text, evidence_in(head), head)
        spans = (SourceSpan(quote.path, first, last),)
        records.append(msgspec.structs.replace(record, spans=spans))
    return records, used


def _read(
    blank: Record,
    question: str,
    parsed: Sequence[tuple[str, ParsedAnswer]],
    *,
    only_said: bool,
    used: Collection[tuple[str, int]] = (),
) -> Iterator[Record]:
    """Every statement of an answer; the experiment is one, however many lines it has."""
    experiment: Record | None = None
    for path, answer in parsed:
        broken = answer.statements[-1:] if answer.cut and answer.cut.breaks_statement else ()
        for statement in answer.statements:
            if (path, statement.first_line) in used:
                continue
            reading = reading_of(statement, question)
            record = _said(blank, path, statement, reading, only_said=only_said)
            if any(statement is one for one in broken):
                record = msgspec.structs.replace(record, remarks=(*record.remarks, _CUT_OFF))
            if reading is not Reading.EXPERIMENT:
                yield record
            else:
                experiment = record if experiment is None else _joined(experiment, record)
    if experiment is not None:
        yield experiment


def _said(
    blank: Record, path: str, statement: Statement, reading: Reading, *, only_said: bool
) -> Record:
    text = statement.text
    head = text[:_LONGEST_READ]
    kind = _KINDS.get(reading, TaskKind.STATEMENT)
    if only_said and statement.section is Section.DIRECT_ANSWER:
        kind = TaskKind.STATEMENT
    status = WorkStatus.ACTIONABLE if kind in _WORK and not only_said else WorkStatus.NOOP
    priority, why = _mark_in(f"{statement.lead}\n{head}") or (blank.priority, blank.why)
    return msgspec.structs.replace(
        blank,
        kind=kind,
        status=WorkStatus.BLOCKED if reading is Reading.UNDECIDED else status,
        title=title_of(spoken(head)) or text[:LONGEST],
        actions=(text,),
        notes=(statement.lead,) if statement.lead else (),
        evidence=evidence_in(head),
        spans=(SourceSpan(path, statement.first_line, statement.last_line),),
        missing_inputs=tuple(missing_patterns(head)) if reading is Reading.EVIDENCE else (),
        remarks=(REMARKS[reading],) if reading in REMARKS else (),
        priority=priority,
        why=why,
    )


def _joined(first: Record, more: Record) -> Record:
    """Two statements of the same thing as one record."""
    return msgspec.structs.replace(
        first,
        actions=once((*first.actions, *more.actions)),
        notes=once((*first.notes, *more.notes)),
        evidence=first.evidence.with_other(more.evidence),
        spans=once((*first.spans, *more.spans)),
        remarks=once((*first.remarks, *more.remarks)),
    )


def _numbered(
    records: Iterable[Record], after: Mapping[str, tuple[str, ...]]
) -> tuple[Record, ...]:
    """Work first, then what is only said; what an answer says twice is one record.

    Where an answer has no work, what says that it cannot tell blocks the question. `after` has the
    titles that come before those of stated work.
    """
    distinct: dict[tuple[str, ...], Record] = {}
    for record in records:
        key = (str(record.kind), *map(normalise, record.actions))
        distinct[key] = _joined(distinct[key], record) if key in distinct else record
    has_work = any(one.is_work for one in distinct.values())
    ordered = sorted(
        (
            msgspec.structs.replace(one, status=WorkStatus.NOOP)
            if has_work and one.status is WorkStatus.BLOCKED
            else one
            for one in distinct.values()
        ),
        key=lambda one: one.status is WorkStatus.NOOP,
    )
    seen: set[str] = set()
    ids = {normalise(one.title): f"{one.task_id}{n:02}" for n, one in enumerate(ordered, 1)}
    numbered: list[Record] = []
    for number, record in enumerate(ordered, start=1):
        title = record.title
        before = (ids.get(normalise(title_of(name))) for name in after.get(title, ()))
        if title.lower() in seen and record.status is not WorkStatus.NOOP:
            title = f"{title_of(title, LONGEST - len(f' ({number})'))} ({number})"
        seen.add(title.lower())
        name = f"{record.task_id}{number:02}"
        depends = tuple(one for one in before if one is not None)
        numbered.append(
            msgspec.structs.replace(record, task_id=name, title=title, depends_on=depends)
        )
    return tuple(numbered)


def _mark_in(text: str) -> tuple[Priority, str] | None:
    """A priority that the answer gives itself, and its word for it: P0 to P3, or a label."""
    match = _MARK.search(text[:_LONGEST_READ])
    if match is None:
        return None
    word = next(group for group in match.groups() if group)
    return _LEVELS.get(word.lower()) or Priority(word.lower()), f"{MARKED}{word}"


def once(values: Iterable[One]) -> tuple[One, ...]:
    """The values in their order, each once."""
    return tuple(dict.fromkeys(values))
