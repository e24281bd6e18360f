"""Two runs side by side: what each question's answer says now that it did not say before.

Questions are matched by their id, then by their text; the steps of one and the same pack by number.
Answers are compared by their units, so that a new order or other words are no change.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

import msgspec

from oraclepack.journal.costs import NO_COST, CostTotal
from oraclepack.pack.answer_sections import normalise
from oraclepack.work.compare import ComparedStatement, Relation, relate, statement_of, unmatched
from oraclepack.work.evidence import CitationState

ALIKE = 0.8
"""The share of words that two statements have in common which say the same."""
_SAME_EVIDENCE = 0.1
MOST_PAIRS = 4_000
"""Pairs of statements of one question that are compared; more are taken as they are spelled."""


class AnswerChange(StrEnum):
    """What became of the answer to a question."""

    SAME = "same"
    REWORDED = "reworded"
    CHANGED = "changed"
    ONLY_IN_FIRST = "only_in_first"
    ONLY_IN_SECOND = "only_in_second"
    UNANSWERED = "unanswered"
    """In both runs."""


class AnswerStatement(msgspec.Struct, frozen=True):
    """One unit of an answer."""

    text: str
    section: str = ""
    line: int = 0


class ComparedTask(msgspec.Struct, frozen=True):
    """A task of a run, as far as it is compared."""

    task_id: str
    title: str
    kind: str
    priority: str
    text: str = ""


class ComparedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question of one run with its answer."""

    step_id: str
    title: str
    question: str = ""
    question_id: str | None = None
    is_answered: bool = False
    text: str = ""
    statements: tuple[AnswerStatement, ...] = ()
    tasks: tuple[ComparedTask, ...] = ()
    citations: Mapping[str, CitationState] = {}
    """Each cited place, and what is known of it."""
    cost: CostTotal = NO_COST
    duration_ms: int | None = None
    models: tuple[str, ...] = ()


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    name: str
    pack_path: str
    pack_hash: str
    status: str
    models: tuple[str, ...]
    worked_ms: int
    cost: CostTotal
    questions: tuple[ComparedQuestion, ...]


class RunSide(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a comparison, in figures."""

    name: str
    pack_path: str
    pack_hash: str
    status: str
    models: tuple[str, ...]
    worked_ms: int
    cost: CostTotal
    questions: int
    answered: int
    tasks: int


class StatementPair(msgspec.Struct, frozen=True):
    """A statement in other words."""

    first: str
    second: str


class CitationChange(msgspec.Struct, frozen=True):
    """A cited place whose state is another one."""

    place: str
    first: CitationState
    second: CitationState


class QuestionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one question."""

    change: AnswerChange
    title: str
    first_step: str | None
    second_step: str | None
    question_id: str | None = None
    added: tuple[str, ...] = ()
    """Statements that only the second answer has."""
    dropped: tuple[str, ...] = ()
    reworded: tuple[StatementPair, ...] = ()
    added_tasks: tuple[ComparedTask, ...] = ()
    dropped_tasks: tuple[ComparedTask, ...] = ()
    kept_tasks: int = 0
    added_citations: tuple[str, ...] = ()
    dropped_citations: tuple[str, ...] = ()
    changed_citations: tuple[CitationChange, ...] = ()
    first_cost: Decimal | None = None
    second_cost: Decimal | None = None
    first_ms: int | None = None
    second_ms: int | None = None

    @property
    def is_different(self) -> bool:
        """Something besides cost and time differs."""
        return (
            self.change not in {AnswerChange.SAME, AnswerChange.UNANSWERED}
            or bool(self.added_tasks or self.dropped_tasks)
            or bool(self.added_citations or self.dropped_citations or self.changed_citations)
        )


class PolicyBreach(msgspec.Struct, frozen=True):
    """A policy of `--fail-on` that the second run does not meet, and why."""

    policy: str
    reason: str


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, compared question by question."""

    first: RunSide
    second: RunSide
    questions: tuple[QuestionComparison, ...]
    totals: dict[AnswerChange, int]
    added_tasks: int
    dropped_tasks: int
    kept_tasks: int
    breaches: tuple[PolicyBreach, ...] = ()
    html: str | None = None
    """The page that was written."""


Side = TypeVar("Side")


def compare_runs(first: ComparedRun, second: ComparedRun) -> RunComparison:
    """What the second run says that the first does not, and the other way round."""
    pairs = match_questions(first, second)
    questions = tuple(_compared(one, other) for one, other in pairs)
    counted = Counter(one.change for one in questions)
    return RunComparison(
        first=_side(first),
        second=_side(second),
        questions=questions,
        totals={change: counted[change] for change in AnswerChange},
        added_tasks=sum(len(one.added_tasks) for one in questions),
        dropped_tasks=sum(len(one.dropped_tasks) for one in questions),
        kept_tasks=sum(one.kept_tasks for one in questions),
    )


def _side(run: ComparedRun) -> RunSide:
    return RunSide(
        name=run.name,
        pack_path=run.pack_path,
        pack_hash=run.pack_hash,
        status=run.status,
        models=run.models,
        worked_ms=run.worked_ms,
        cost=run.cost,
        questions=len(run.questions),
        answered=sum(one.is_answered for one in run.questions),
        tasks=sum(len(one.tasks) for one in run.questions),
    )


QuestionPair = tuple[ComparedQuestion | None, ComparedQuestion | None]


def match_questions(first: ComparedRun, second: ComparedRun) -> tuple[QuestionPair, ...]:
    """The questions of both runs, those that are the same one together."""
    keys: list[Callable[[ComparedQuestion], str]] = [
        lambda one: one.question_id or "",
        lambda one: normalise(one.question or one.title),
    ]
    if first.pack_hash == second.pack_hash:
        keys.insert(0, lambda one: one.step_id)
    twins: dict[str, ComparedQuestion] = {}
    left, right = list(first.questions), list(second.questions)
    for key in keys:
        left_unique, right_unique = _unique(left, key), _unique(right, key)
        for name in left_unique.keys() & right_unique.keys():
            twins[left_unique[name].step_id] = right_unique[name]
        left = [one for one in left if one.step_id not in twins]
        matched = {one.step_id for one in twins.values()}
        right = [one for one in right if one.step_id not in matched]
    pairs: list[QuestionPair] = [(one, twins.get(one.step_id)) for one in first.questions]
    return (*pairs, *((None, one) for one in right))


def _unique(
    questions: Iterable[ComparedQuestion], key: Callable[[ComparedQuestion], str]
) -> dict[str, ComparedQuestion]:
    """Questions by a key; what two of them share names neither."""
    groups: dict[str, list[ComparedQuestion]] = {}
    for one in questions:
        groups.setdefault(key(one), []).append(one)
    return {name: members[0] for name, members in groups.items() if name and len(members) == 1}


def _compared(
    first: ComparedQuestion | None, second: ComparedQuestion | None
) -> QuestionComparison:
    some = first or second
    assert some is not None
    first_answered, second_answered = (
        one if one and one.is_answered else None for one in (first, second)
    )
    match_ = matched_statements(
        first_answered.statements if first_answered else (),
        second_answered.statements if second_answered else (),
    )
    tasks = matched_tasks(first.tasks if first else (), second.tasks if second else ())
    cited = (
        first_answered.citations if first_answered else {},
        second_answered.citations if second_answered else {},
    )
    return QuestionComparison(
        change=_change(first_answered, second_answered, match_),
        title=some.title,
        first_step=first.step_id if first else None,
        second_step=second.step_id if second else None,
        question_id=some.question_id,
        added=match_.added,
        dropped=match_.dropped,
        reworded=match_.reworded,
        added_tasks=tasks.added,
        dropped_tasks=tasks.dropped,
        kept_tasks=tasks.kept,
        added_citations=tuple(sorted(cited[1].keys() - cited[0].keys())),
        dropped_citations=tuple(sorted(cited[0].keys() - cited[1].keys())),
        changed_citations=tuple(
            CitationChange(place, cited[0][place], cited[1][place])
            for place in sorted(cited[0].keys() & cited[1].keys())
            if cited[0][place] is not cited[1][place]
        ),
        first_cost=first.cost.cost if first else None,
        second_cost=second.cost.cost if second else None,
        first_ms=first.duration_ms if first else None,
        second_ms=second.duration_ms if second else None,
    )


class MatchedStatements(msgspec.Struct, frozen=True):
    """The statements of two answers: those of one only, and those in other words."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    reworded: tuple[StatementPair, ...] = ()


def _change(
    first: ComparedQuestion | None, second: ComparedQuestion | None, match_: MatchedStatements
) -> AnswerChange:
    if first is None or second is None:
        if first is None and second is None:
            return AnswerChange.UNANSWERED
        return AnswerChange.ONLY_IN_FIRST if first else AnswerChange.ONLY_IN_SECOND
    if first.text == second.text:
        return AnswerChange.SAME
    if match_.added or match_.dropped:
        return AnswerChange.CHANGED
    return AnswerChange.REWORDED if match_.reworded else AnswerChange.SAME


def matched_statements(
    first: Sequence[AnswerStatement], second: Sequence[AnswerStatement]
) -> MatchedStatements:
    """Pairs the statements of two answers: the same words first, then the same meaning."""
    first_rest, second_rest = _without_twins(first, second, lambda one: normalise(one.text))
    if len(first_rest) * len(second_rest) > MOST_PAIRS:
        pairs: list[tuple[AnswerStatement, AnswerStatement]] = []
    else:
        pairs = _alike(first_rest, second_rest)
    left = {id(one) for one, _ in pairs}
    right = {id(other) for _, other in pairs}
    return MatchedStatements(
        added=tuple(one.text for one in second_rest if id(one) not in right),
        dropped=tuple(one.text for one in first_rest if id(one) not in left),
        reworded=tuple(StatementPair(one.text, other.text) for one, other in pairs),
    )


def _without_twins(
    first: Sequence[Side], second: Sequence[Side], key: Callable[[Side], str]
) -> tuple[list[Side], list[Side]]:
    """What is left of both sides when each twin is taken out, one for one."""
    common = Counter(map(key, first)) & Counter(map(key, second))
    rest: list[list[Side]] = []
    for side in (first, second):
        left = common.copy()
        remaining: list[Side] = []
        for one in side:
            if left[key(one)] > 0:
                left[key(one)] -= 1
            else:
                remaining.append(one)
        rest.append(remaining)
    return rest[0], rest[1]


def _alike(
    first: Sequence[AnswerStatement], second: Sequence[AnswerStatement]
) -> list[tuple[AnswerStatement, AnswerStatement]]:
    """Statements that say the same in other words, the most alike first, each once."""
    first_statements = [(one, statement_of(one.text)) for one in first]
    second_statements = [(other, statement_of(other.text)) for other in second]
    scored = [
        (-score, left, right)
        for left, (one, mine) in enumerate(first_statements)
        for right, (other, its) in enumerate(second_statements)
        if one.section == other.section and (score := likeness(mine, its)) >= ALIKE
    ]
    used: tuple[set[int], set[int]] = (set(), set())
    pairs = []
    for _, left, right in sorted(scored):
        if left not in used[0] and right not in used[1]:
            used[0].add(left)
            used[1].add(right)
            pairs.append((left, right))
    return [
        (first_statements[left][0], second_statements[right][0]) for left, right in sorted(pairs)
    ]


def likeness(first: ComparedStatement, second: ComparedStatement) -> float:
    """Whether two statements say the same, from 0 for a contradiction to about 1."""
    relation = relate(first, second)
    if relation is Relation.CONFLICT or first.numbers != second.numbers:
        return 0.0
    if first.is_denied != second.is_denied:
        return 0.0
    left, right = unmatched(first, second)
    total = len(first.words) + len(second.words)
    shared = (total - len(left) - len(right)) / max(1, total)
    # Statements with the same evidence that say nearly the same are the same.
    return shared + (_SAME_EVIDENCE if relation is Relation.DUPLICATE else 0.0)


class MatchedTasks(msgspec.Struct, frozen=True):
    """The tasks of two answers."""

    added: tuple[ComparedTask, ...]
    dropped: tuple[ComparedTask, ...]
    kept: int


def matched_tasks(first: Sequence[ComparedTask], second: Sequence[ComparedTask]) -> MatchedTasks:
    """Pairs tasks: the same title first, then the same words."""
    first_rest, second_rest = _without_twins(
        first, second, lambda one: f"{one.kind} {normalise(one.title)}"
    )
    first_rest, second_rest = _without_twins(
        first_rest, second_rest, lambda one: f"{one.kind} {normalise(one.text)}"
    )
    left = [
        AnswerStatement(one.text or one.title, one.kind, at) for at, one in enumerate(first_rest)
    ]
    right = [
        AnswerStatement(one.text or one.title, one.kind, at) for at, one in enumerate(second_rest)
    ]
    pairs = _alike(left, right) if len(left) * len(right) <= MOST_PAIRS else []
    gone, come = {one.line for one, _ in pairs}, {other.line for _, other in pairs}
    dropped = tuple(one for at, one in enumerate(first_rest) if at not in gone)
    return MatchedTasks(
        added=tuple(one for at, one in enumerate(second_rest) if at not in come),
        dropped=dropped,
        kept=len(first) - len(dropped),
    )
