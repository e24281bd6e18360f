"""One answer → what it proposes and what it claims, numbered. Knows nothing of other answers."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from oraclepack.pack.answer_sections import Section
from oraclepack.system.markdown_text import in_backquotes
from oraclepack.system.text_limits import ANSWER
from oraclepack.work.answer_blocks import read_blocks
from oraclepack.work.answer_items import AnswerItem, Sections, read_sections, walk
from oraclepack.work.backlog import AnsweredStep, StepQuestion, WorkStatus
from oraclepack.work.compare import ComparedStatement, statement_of
from oraclepack.work.evidence import (
    NO_EVIDENCE,
    CitationState,
    Evidence,
    QuestionFile,
    normal_path,
    united,
)
from oraclepack.work.intent import follows_another, says_no_action, says_nothing
from oraclepack.work.points import ItemReader, Point, cut, title_of


def experiment_of(items: Sequence[AnswerItem], reader: ItemReader) -> Point | None:
    """The next experiment of an answer: one point, whatever it was written as."""
    told = [item for item in items if _counts(item)]
    actions = [_shown(item) for top in told for item in walk([top]) if _counts(item)]
    if not actions:
        return None
    if actions[0].endswith(":") and len(actions) > 1:
        actions = [f"{actions[0]} {actions[1]}", *actions[2:]]
    return Point(united(reader.whole_evidence(item) for item in told), tuple(actions))


def missing_of(
    items: Iterable[AnswerItem], reader: ItemReader
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an answer lacks, files by their bare names, and the sentences that say so."""
    inputs: dict[str, None] = {}
    notes: list[str] = []
    for item in walk(items):
        if not _counts(item):
            continue
        named = reader.evidence(item)
        things = named.paths or (named.symbols if len(item.text.split()) == 1 else ())
        inputs |= dict.fromkeys(things or (item.text.rstrip(":"),))
        bare = item.text.strip("`. ")
        notes += [item.text] if things and bare not in things else []
    return tuple(inputs), tuple(notes)


def _counts(item: AnswerItem) -> bool:
    return item.done is not True and not says_nothing(item.text) and not says_no_action(item.text)


def _shown(item: AnswerItem) -> str:
    """An item in one line, with the commands of the code block below it."""
    if item.cells:
        return "; ".join(cell for _, cell in item.cells if not cell.strip(" .)").isdigit())
    fresh = [command for command in item.commands if command not in item.text]
    shown = ", ".join(in_backquotes(command) for command in fresh)
    return f"{item.text} {shown}".strip()


MOST_TASKS = 60
"""Proposals of one answer that become tasks of their own; the last one holds the rest."""
MOST_NUMBERS = 99
"""A task number has two digits."""
MOST_NOTES = 12
LONGEST_ACTION = 800
_TELLING = 6
"""A title of fewer words needs a place to make sense."""

_HEDGED = re.compile(
    r"\b(?:may|might|could|possibly|perhaps|probably|likely|unclear|unknown|whether|if|assum\w+|"
    r"should|would|vielleicht|möglicherweise|ob|peut-être|pourrait|quizás|podría|talvez|forse)\b",
    re.IGNORECASE,
)


class Proposal(msgspec.Struct, frozen=True):
    """One piece of work, or the lack of it, as one answer tells it."""

    step_id: str
    number: int
    status: WorkStatus
    title: str
    statement: ComparedStatement
    actions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: Evidence = NO_EVIDENCE
    missing_inputs: tuple[str, ...] = ()
    experiment: bool = False
    next_experiment: str | None = None
    after: tuple[int, ...] = ()
    """Numbers of the same answer's proposals that come first."""
    stands_alone: bool = False
    """Never merged with another."""


class AnswerClaim(msgspec.Struct, frozen=True):
    """A statement of an answer about how things are."""

    step_id: str
    number: int
    statement: ComparedStatement


class NormalizedAnswer(msgspec.Struct, frozen=True):
    """One answer, understood."""

    question: StepQuestion
    proposals: tuple[Proposal, ...]
    claims: tuple[AnswerClaim, ...] = ()


def normalize(step: AnsweredStep) -> NormalizedAnswer:
    """Read what came back for a question."""
    question = step.question
    if step.silent:
        text = f"Step {question.step_id} promises no answer in words"
        return NormalizedAnswer(question, (_alone(question, WorkStatus.NOOP, text),))
    for part in step.parts:
        if too_much := ANSWER.excess(part.text):
            reason = f"{part.path} is too large for an answer: {too_much}"
            return NormalizedAnswer(question, (_missing_answer(replace(step, absent=reason)),))
    if not step.is_answered:
        return NormalizedAnswer(question, (_missing_answer(step),))
    found = _Answer(step).normalized()
    if not step.remark:
        return found
    marked = tuple(replace(one, notes=(step.remark, *one.notes)) for one in found.proposals)
    return replace(found, proposals=marked)


def _alone(question: StepQuestion, status: WorkStatus, title: str) -> Proposal:
    statement = statement_of(title, NO_EVIDENCE)
    return Proposal(question.step_id, 1, status, title, statement, stands_alone=True)


def _missing_answer(step: AnsweredStep) -> Proposal:
    number = step.question.step_id
    reason = step.absent or "there is no file with it, or the file is empty"
    about = step.question.title or step.question.reference
    named = f"Get the answer of step {number}" + (f": {about}" if about else "")
    return replace(
        _alone(step.question, WorkStatus.BLOCKED, title_of(named)),
        missing_inputs=(f"the answer of step {number}: {reason}",),
        next_experiment=f"Run step {number} again (`oraclepack run PACK --rerun {number}`)",
    )


def _attached(step: AnsweredStep) -> dict[str, QuestionFile] | None:
    if step.attached is None:
        return None
    return {normal_path(file.path): file for file in step.attached}


def _sections(step: AnsweredStep) -> Sections:
    """The sections of all parts of an answer together."""
    whole: Sections = {section: [] for section in Section}
    for part in step.parts:
        for section, items in read_sections(read_blocks(part.text), part.section).items():
            whole[section] += items
    return whole


class _Answer:
    """One answer while it is being understood."""

    def __init__(self, step: AnsweredStep) -> None:
        sections = _sections(step)
        reader = ItemReader(_attached(step), complete=step.attached_known)
        self._question = step.question
        self._direct = list(reader.points(sections[Section.DIRECT_ANSWER]))
        self._risks = [
            replace(point, shrugs=False, waves=False)
            for point in reader.points(sections[Section.RISKS_UNKNOWNS])
        ]
        self._missing, self._why_missing = missing_of(sections[Section.MISSING_EVIDENCE], reader)
        self._experiment = experiment_of(sections[Section.NEXT_EXPERIMENT], reader)

    def normalized(self) -> NormalizedAnswer:
        proposals = [*self._proposals()] or [self._no_work()]
        numbered = [replace(one, number=n) for n, one in enumerate(proposals, start=1)]
        ordered = tuple(self._in_order(one, numbered) for one in numbered)
        return NormalizedAnswer(self._question, ordered, tuple(self._claims(len(ordered) + 1)))

    def _proposals(self) -> Iterator[Proposal]:
        asks = [p for p in (*self._direct, *self._risks) if p.actions and not p.shrugs]
        shrugs = [point for point in self._direct if point.shrugs]
        told = any(point.tells for point in self._direct)
        blocked = bool(shrugs) or bool(self._missing and not asks and not told)
        nothing_to_do = any(point.waves for point in self._direct) and not asks
        context = self._context()
        if blocked:
            yield self._blocked(shrugs, context)
        tries = self._experiment is not None and not blocked and not nothing_to_do
        for number, point in enumerate(_gathered(asks, self._question.step_id)):
            is_first = number == 0 and not tries and not blocked
            yield self._request(point, context if is_first else ())
        if tries and self._experiment is not None:
            yield replace(self._request(self._experiment, context), experiment=True)

    def _context(self) -> tuple[str, ...]:
        """What the answer tells besides its requests: findings first, then risks."""
        points = [p for p in (*self._direct, *self._risks) if not p.actions and not p.shrugs]
        return tuple(text for point in points for text in point.tells)

    def _request(self, point: Point, context: tuple[str, ...]) -> Proposal:
        first = point.actions[0]
        return Proposal(
            self._question.step_id,
            0,
            WorkStatus.ACTIONABLE,
            _title(first, point.evidence),
            statement_of(first, point.evidence),
            actions=tuple(cut(action, LONGEST_ACTION) for action in point.actions),
            notes=_notes((*point.tells, *context)),
            evidence=point.evidence,
            missing_inputs=self._missing,
        )

    def _blocked(self, shrugs: list[Point], context: tuple[str, ...]) -> Proposal:
        number = self._question.step_id
        said = [text for point in shrugs for text in (*point.tells, *point.actions)]
        evidence = united(point.evidence for point in shrugs)
        about = said[0] if said else f"Step {number} lacks evidence"
        missing = self._missing or (f"evidence for: {cut(about)}",)
        files = ", ".join(in_backquotes(name) for name in self._missing) or "what is missing"
        ask_again = f"Attach {files} to step {number} and ask it again"
        tried = self._experiment.actions[0] if self._experiment is not None else ask_again
        return Proposal(
            number,
            0,
            WorkStatus.BLOCKED,
            title_of(about),
            statement_of(about, evidence),
            notes=_notes((*said[1:], *self._why_missing, *context)),
            evidence=evidence,
            missing_inputs=missing,
            next_experiment=cut(tried, LONGEST_ACTION),
        )

    def _no_work(self) -> Proposal:
        told = self._context()
        waves = [t for point in self._direct if point.waves for t in point.tells]
        tried = self._experiment.actions if self._experiment is not None else ()
        about = (waves or list(told) or ["the answer asks for nothing"])[0]
        alone = _alone(self._question, WorkStatus.NOOP, title_of(about))
        evidence = united(point.evidence for point in (*self._direct, *self._risks))
        return replace(alone, notes=_notes((*told, *tried)), evidence=evidence)

    def _in_order(self, proposal: Proposal, every: list[Proposal]) -> Proposal:
        """The proposal with what comes before it.

        "Then …" follows the proposal above it. What stands on no verified line waits for the
        experiment of the same answer, which is there to find out.
        """
        if proposal.status is not WorkStatus.ACTIONABLE or proposal.experiment:
            return proposal
        after = {
            other.number
            for other in every
            if other.experiment and not proposal.evidence.has(CitationState.VERIFIED)
        }
        above = [o for o in every if o.number == proposal.number - 1 and o.actions]
        if above and follows_another(proposal.actions[0]):
            after.add(above[0].number)
        return replace(proposal, after=tuple(sorted(after)))

    def _claims(self, start: int) -> Iterator[AnswerClaim]:
        """What the answer says flatly about some evidence, as far as there are numbers left."""
        number = start
        for point in (*self._direct, *self._risks):
            for text in point.tells if not point.shrugs else ():
                statement = _claim(text, point.evidence)
                if statement is not None and number <= MOST_NUMBERS:
                    yield AnswerClaim(self._question.step_id, number, statement)
                    number += 1


def _title(action: str, evidence: Evidence) -> str:
    """The request itself; where it is short and names no place, with the first one."""
    title = title_of(action)
    places = [*map(str, evidence.citations), *evidence.paths]
    if len(title.split()) >= _TELLING or "`" in title or not places:
        return title
    return f"{title} ({in_backquotes(places[0])})"


def _claim(text: str, around: Evidence) -> ComparedStatement | None:
    """A sentence as a claim; about what its item names when it names nothing itself."""
    if _HEDGED.search(text):
        return None
    own = statement_of(text)
    if own.asks or not own.words:
        return None
    evidence = _known(own.evidence, around) if own.evidence else around
    return replace(own, evidence=evidence) if evidence else None


def _known(own: Evidence, around: Evidence) -> Evidence:
    """The sentence's own evidence, with citations as they were judged for its item."""
    places = {(path.rpartition("/")[2]) for path in own.paths}
    cited = [c for c in around.citations if c.path.rpartition("/")[2] in places]
    paths = {path for path in around.paths if path.rpartition("/")[2] in places}
    if not own.paths:
        return Evidence(around.paths, own.symbols, own.commands, around.citations)
    return Evidence(tuple(sorted(paths)), own.symbols, own.commands, tuple(sorted(cited)))


def _gathered(points: list[Point], step_id: str) -> list[Point]:
    """At most as many points as an answer may have tasks; the last one holds the rest."""
    if len(points) <= MOST_TASKS:
        return points
    rest = points[MOST_TASKS - 1 :]
    head = f"Go through the remaining {len(rest)} proposals of answer {step_id}"
    actions = (head, *(action for point in rest for action in point.actions))
    return [*points[: MOST_TASKS - 1], Point(united(p.evidence for p in rest), actions)]


def _notes(texts: Iterable[str]) -> tuple[str, ...]:
    """Each note once, in order, of a bearable length and number."""
    once = tuple(dict.fromkeys(cut(text) for text in texts))
    if len(once) <= MOST_NOTES:
        return once
    return (*once[:MOST_NOTES], f"… and {len(once) - MOST_NOTES} more notes in the answer")
