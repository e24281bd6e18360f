"""One answer → its issue: changes, findings, the experiment, risks, what is missing."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from oraclepack.answers.answer_reader import ParsedAnswer, read_answer_text
from oraclepack.answers.answer_units import Unit, row_cells
from oraclepack.answers.sentences import sentence_spans, word_set
from oraclepack.answers.work_lines import WorkLine
from oraclepack.pack.answer_sections import Section, normalise
from oraclepack.work import titles
from oraclepack.work.backlog import AnsweredStep, AnswerPart, SourceSpan, StepQuestion, TaskKind
from oraclepack.work.command_lines import commands_in, is_search
from oraclepack.work.evidence import Evidence, united
from oraclepack.work.imperatives import starts_imperative
from oraclepack.work.mentions import evidence_in, missing_patterns, symbols_in
from oraclepack.work.unit_claims import (
    ClaimText,
    UnitClaim,
    asks_for_change,
    claim_of,
    claim_text_of,
    gives_advice,
    is_english,
    is_undecided,
)

MOST_READ = 3_000
"""Characters of a unit that are read; its text is handed on whole."""
MOST_TASKS = 99
"""Tasks of one answer; their numbers have two digits."""
_MITIGATION = re.compile(
    r"[*_]*mitigat(?:e|ion)s?\b[*_]*(?:\s*:|\s+(?:by|this|with|it)\b)", re.IGNORECASE
)
_SHARED_WORDS, _SHARED_ACTS = 3, 2
_FOREIGN = "the answer is not in English, so no tasks were taken from its direct answer"
_REPEATS = 0.6


class AnswerTask(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of work of one answer."""

    step_id: str
    number: int
    kind: TaskKind
    title: str
    claim: str
    """The words by which it is compared with other tasks."""
    actions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    evidence: Evidence
    spans: tuple[SourceSpan, ...]
    done_when: str = ""
    size: str | None = None
    is_fact: bool = False
    """Only said, not to be done: it can contradict what another answer says."""


class StepWork(msgspec.Struct, frozen=True, kw_only=True):
    """The work that results from one answer."""

    question: StepQuestion
    title: str
    answer: str = ""
    tasks: tuple[AnswerTask, ...] = ()
    facts: tuple[AnswerTask, ...] = ()
    """What the direct answer says besides, numbered after the tasks."""
    risks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    missing_inputs: tuple[str, ...] = ()
    experiment: str = ""
    commands: tuple[str, ...] = ()
    cut: str = ""
    dropped: str = ""
    is_foreign: bool = False
    """It is not in English, so its prose gives no tasks."""
    is_undecided: bool = False
    """The answer says that nothing can be decided."""
    remarks: tuple[str, ...] = ()
    answer_files: tuple[str, ...] = ()


class _PlacedUnit(msgspec.Struct, frozen=True):
    """A unit, taken apart, and the file it is in."""

    path: str
    unit: Unit
    statement: ClaimText

    @property
    def spans(self) -> tuple[SourceSpan, ...]:
        return tuple(SourceSpan(self.path, first, last) for first, last in self.unit.spans)

    @property
    def text(self) -> str:
        """What is read of the unit; of a row of a table its cells, one a line."""
        cells = [cell for cell in row_cells(self.unit.text) if not cell.isdigit()]
        return ("\n".join(cells) or self.unit.text)[:MOST_READ]

    @property
    def actions(self) -> tuple[str, ...]:
        """What is handed on: the claim, or all of it where it is long or in pieces."""
        is_row = bool(row_cells(self.unit.text))
        whole = is_row or len(self.unit.texts) > 1 or len(self.unit.text) > MOST_READ
        return self.unit.texts if whole else (self.statement.text,)

    @property
    def notes(self) -> tuple[str, ...]:
        is_apart = self.actions == (self.statement.text,) and self.statement.evidence
        return (self.statement.evidence,) if is_apart else ()


def work_of(step: AnsweredStep) -> StepWork:
    """Take an answer apart."""
    question = step.question
    question_text = question.text or question.title
    title = titles.issue_title(question_text, question.reference) or f"Question {question.step_id}"
    read = [(part.path, _read(part)) for part in step.parts]
    placed = [
        _PlacedUnit(path, unit, claim_text_of(_claim(unit.text)[:MOST_READ]))
        for path, one in read
        for unit in one.units
    ]
    of = {section: [one for one in placed if one.unit.section is section] for section in Section}
    direct, experiment = of[Section.DIRECT_ANSWER], of[Section.NEXT_EXPERIMENT]
    missing = of[Section.MISSING_EVIDENCE]
    lines = [(path, one.work) for path, one in read if one.work is not None]
    if lines:
        tasks = [_stated(question, path, line) for path, work in lines for line in work]
    else:
        tasks = [*_claimed(question, direct, of[Section.RISKS_UNKNOWNS])]
        tasks += _experiment(question, experiment)
        tasks = _without_repeats(tasks)
    numbered = tuple(_numbered(tasks))
    used = {span for task in numbered for span in task.spans}
    facts = (_fact(question, one) for one in direct if not used.intersection(one.spans))
    is_foreign = not is_english("\n".join(one.text for one in direct))
    foreign = _FOREIGN if is_foreign and not lines else ""
    cuts = [one for _, one in read if one.cut is not None]
    return StepWork(
        question=question,
        title=title,
        answer=_answer(direct),
        tasks=numbered,
        facts=tuple(
            msgspec.structs.replace(fact, number=number)
            for number, fact in enumerate(facts, start=len(numbered) + 1)
            if number <= MOST_TASKS
        ),
        risks=tuple(text for one in of[Section.RISKS_UNKNOWNS] for text in one.unit.texts),
        missing=tuple(text for one in missing for text in one.unit.texts),
        missing_inputs=_once(name for one in missing for name in missing_patterns(one.text)),
        experiment="\n\n".join(one.unit.text for one in experiment),
        commands=_once(name for one in experiment for name in commands_in(one.text)),
        cut="; ".join(one.cut.reason for one in cuts if one.cut is not None),
        dropped="\n".join(_broken_end(one) for one in cuts),
        is_foreign=is_foreign,
        is_undecided=bool(direct) and all(is_undecided(one.statement) for one in direct),
        remarks=tuple(remark for remark in (step.remark, foreign) if remark),
        answer_files=tuple(path for path, _ in read),
    )


def _claim(text: str) -> str:
    """What is claimed: of a row of a table the cell that says what to do, else the longest."""
    cells = row_cells(text)
    if not cells:
        return text
    return max(cells, key=lambda cell: (starts_imperative(titles.plain(cell)), len(cell.split())))


def _read(part: AnswerPart) -> ParsedAnswer:
    return read_answer_text(part.text, section=part.section, expected=part.expected)


def _broken_end(answer: ParsedAnswer) -> str:
    """What of the last unit was not used."""
    if answer.broken is None:
        return ""
    text = answer.broken.text
    last_text = answer.units[-1].text if answer.units else ""
    return text[len(last_text) :].strip() if last_text and text.startswith(last_text) else text


_HEADING = re.compile(r"#{1,6} ")


def _answer(direct: Sequence[_PlacedUnit]) -> str:
    """The direct statement: the claim of the first unit that is no heading."""
    texts = [one.statement.text for one in direct]
    return next((text for text in texts if not _HEADING.match(text)), "".join(texts[:1]))


def _claimed(
    question: StepQuestion, direct: Sequence[_PlacedUnit], risks: Sequence[_PlacedUnit]
) -> Iterator[AnswerTask]:
    """The changes and findings of an answer, in its order."""
    wants_change = asks_for_change(question.text or question.title)
    recommends = gives_advice(one.statement for one in direct)
    for one in (*direct, *risks):
        in_risks = one.unit.section is Section.RISKS_UNKNOWNS
        claim = claim_of(
            one.statement, asks_for_advice=wants_change, recommends=recommends, in_risks=in_risks
        )
        if claim is not UnitClaim.FACT:
            yield _task(question, claim, one)
        elif in_risks:
            yield from _mitigations(question, one)


def _task(question: StepQuestion, claim: UnitClaim, one: _PlacedUnit) -> AnswerTask:
    statement = one.statement
    subjects = _subjects(question, statement.text, one.text)
    is_change = claim is UnitClaim.CHANGE
    write = titles.title_of_change if is_change else titles.title_of_finding
    return AnswerTask(
        step_id=question.step_id,
        number=0,
        kind=TaskKind.CHANGE if is_change else TaskKind.FINDING,
        title=write(statement, subjects) or titles.shortened(statement.text),
        claim=titles.first_sentence(statement.text),
        actions=one.actions,
        notes=one.notes,
        evidence=evidence_in(one.text),
        spans=one.spans,
    )


def _fact(question: StepQuestion, one: _PlacedUnit) -> AnswerTask:
    statement = one.statement
    return AnswerTask(
        step_id=question.step_id,
        number=0,
        kind=TaskKind.FINDING,
        title=titles.shortened(titles.first_sentence(statement.text)),
        claim=titles.first_sentence(statement.text),
        actions=(statement.text,),
        evidence=evidence_in(one.text),
        spans=one.spans,
        is_fact=True,
    )


def _mitigations(question: StepQuestion, one: _PlacedUnit) -> Iterator[AnswerTask]:
    """Sentences of a risk that say what to do against it."""
    text = one.unit.texts[0][:MOST_READ]
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        if start and _MITIGATION.match(sentence):
            claim = claim_text_of(sentence)
            subjects = _subjects(question, sentence, text)
            yield AnswerTask(
                step_id=question.step_id,
                number=0,
                kind=TaskKind.CHANGE,
                title=titles.title_of_change(claim, subjects) or titles.shortened(sentence),
                claim=sentence,
                actions=(sentence,),
                evidence=evidence_in(sentence),
                spans=one.spans,
            )


def _experiment(question: StepQuestion, placed: Sequence[_PlacedUnit]) -> Iterator[AnswerTask]:
    """The whole section is one experiment."""
    texts = [text for one in placed for text in one.unit.texts]
    if not texts:
        return
    whole = "\n".join(one.text for one in placed)[:MOST_READ]
    commands = commands_in(whole)
    # What a search looks for is the subject; names in other commands are not.
    prose = titles.without_commands(whole, (one for one in commands if not is_search(one)))
    title = titles.title_of_experiment([whole], _subjects(question, prose, prose))
    yield AnswerTask(
        step_id=question.step_id,
        number=0,
        kind=TaskKind.EXPERIMENT,
        title=title or titles.title_of_question(question.text, question.step_id),
        claim=whole,
        actions=tuple(texts),
        evidence=evidence_in(whole, commands),
        spans=tuple(span for one in placed for span in one.spans),
    )


def _stated(question: StepQuestion, path: str, line: WorkLine) -> AnswerTask:
    """A WORK line, as it stands."""
    cited = evidence_in(" ".join((*line.files, *line.evidence)))
    return AnswerTask(
        step_id=question.step_id,
        number=0,
        kind=TaskKind.CHANGE,
        title=titles.shortened(line.title),
        claim=line.title,
        actions=(line.title,),
        evidence=msgspec.structs.replace(cited, paths=tuple(sorted({*cited.paths, *line.files}))),
        spans=(SourceSpan(path, line.line, line.line),),
        done_when=line.done_when,
        size=str(line.effort) if line.effort is not None else None,
    )


def _subjects(question: StepQuestion, claim: str, text: str) -> list[str]:
    """What a title may name: the subject of the question, then symbols in the order of the text."""
    subject = titles.subject_of(question.reference)
    here = sorted(symbols_in(text), key=lambda name: (text.find(name), name))
    first = [name for name in here if name in claim]
    is_meant = subject in text or not here or titles.begins_with_it(claim)
    known = [subject] if subject and is_meant else []
    symbols = [name for name in sorted(symbols_in(question.text)) if name in text]
    other = [subject] if subject else []
    return list(dict.fromkeys([*known, *symbols, *first, *here, *other]))


def _without_repeats(tasks: Sequence[AnswerTask]) -> list[AnswerTask]:
    """The tasks, an experiment that repeats a change merged into that change."""
    changes = [one for one in tasks if one.kind is TaskKind.CHANGE]
    others = [one for one in tasks if one.kind is not TaskKind.EXPERIMENT]
    for experiment in (one for one in tasks if one.kind is TaskKind.EXPERIMENT):
        repeated = next((one for one in changes if _repeats(experiment, one)), None)
        if repeated is None:
            others.append(experiment)
            continue
        others[others.index(repeated)] = msgspec.structs.replace(
            repeated,
            actions=(*repeated.actions, *experiment.actions),
            evidence=united([repeated.evidence, experiment.evidence]),
            spans=(*repeated.spans, *experiment.spans),
        )
    return others


def _repeats(experiment: AnswerTask, change: AnswerTask) -> bool:
    """The experiment makes the change: it uses the words of its title."""
    title_words, claim_words = words_of(change.title), words_of(experiment.claim)
    shared = title_words & claim_words
    named = words_of(" ".join((*change.evidence.symbols, *change.evidence.paths)))
    return (
        len(shared) >= max(_SHARED_WORDS, _REPEATS * len(title_words))
        and len(shared - named) >= _SHARED_ACTS
    )


_WORDS = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")
_SMALL = word_set(
    "about above after again against also although always and another any are because been "
    "before being below between both but can cannot could currently does doing done down during "
    "each either else every few for from get gets give has have having here how however into "
    "its itself just less let like made make makes many may might more most much must need "
    "needs never not now off once one only other our out over own per rather same see should "
    "since some still such than that the their them then there these they this those through "
    "today too under until upon use used uses using very via want was well were what when where "
    "whether which while who why will with within without would yes yet you your"
)
_ROOT, _SHORTEST = 6, 3


def words_of(text: str) -> frozenset[str]:
    """The words that carry a text, names of code split, endings cut off."""
    every = (word.lower() for word in _WORDS.findall(text))
    return frozenset(
        word[:_ROOT] for word in every if len(word) >= _SHORTEST and word not in _SMALL
    )


def _numbered(tasks: Iterable[AnswerTask]) -> Iterator[AnswerTask]:
    """The tasks with their numbers; what an answer says twice is one task, and titles differ."""
    distinct: dict[tuple[str, ...], AnswerTask] = {}
    for task in tasks:
        distinct.setdefault((task.kind, *map(normalise, task.actions)), task)
    seen: set[str] = set()
    for number, task in enumerate(distinct.values(), start=1):
        if number > MOST_TASKS:
            return
        title = task.title
        if title.lower() in seen:
            mark = f" ({task.kind} {number})"
            title = titles.shortened(title, titles.LONGEST - len(mark)) + mark
        seen.add(title.lower())
        yield msgspec.structs.replace(task, number=number, title=title)


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
