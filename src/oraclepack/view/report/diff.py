"""`runs diff`: what a second run says that the first does not, question by question.

Questions are matched by their id, then by their text; the steps of one and the same pack by number.
Answers are compared by their units, so that a new order or other words are no change.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.errors import UsageError, did_you_mean
from oraclepack.journal.costs import total_cost
from oraclepack.pack.answer_sections import normalise
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.environment import environment
from oraclepack.system.printable import quantity, readable_record
from oraclepack.system.secrets import Redactor
from oraclepack.system.text_limits import ANSWER
from oraclepack.view.past_runs import RunListEntry, listing_of
from oraclepack.view.report.figures import amount, duration
from oraclepack.view.report.gather import GatheredRun, gather_run
from oraclepack.view.report.page import render
from oraclepack.view.report.write import ReportFormat, find_run, write_page
from oraclepack.work.backlog import AnsweredStep, Record
from oraclepack.work.compare import ComparedStatement, Relation, relate, statement_of

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


class RunSide(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a comparison, in figures."""

    run: RunListEntry
    pack_hash: str
    models: tuple[str, ...]
    questions: int
    answered: int
    tasks: int


class QuestionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one question."""

    change: AnswerChange
    title: str
    first_step: str | None
    second_step: str | None
    added: tuple[str, ...]
    """Statements that only the second answer has."""
    dropped: tuple[str, ...]
    reworded: tuple[tuple[str, str], ...]
    added_tasks: tuple[str, ...]
    dropped_tasks: tuple[str, ...]
    kept_tasks: int
    first_cost: Decimal | None
    second_cost: Decimal | None
    first_ms: int | None
    second_ms: int | None

    @property
    def is_different(self) -> bool:
        """Something besides cost and time differs."""
        is_other = self.change not in {AnswerChange.SAME, AnswerChange.UNANSWERED}
        return is_other or bool(self.added_tasks or self.dropped_tasks)


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


def diff_runs(
    root: Path, first: str, second: str, *, fail_on: Sequence[str] = (), html: str = ""
) -> RunComparison:
    """Compare two runs, which are named as for `report`; `html` is the path of the page."""
    policies = read_policies(fail_on)
    before, now = (gather_run(find_run(root, name)) for name in (first, second))
    left, right = _questions(before), _questions(now)
    is_same_pack = before.view.pack_hash == now.view.pack_hash
    pairs = matched_questions(left, right, is_same_pack=is_same_pack)
    questions = tuple(_compared(one, other) for one, other in pairs)
    counted = Counter(one.change for one in questions)
    made = RunComparison(
        first=_side(before, left),
        second=_side(now, right),
        questions=questions,
        totals={change: counted[change] for change in AnswerChange},
        added_tasks=sum(len(one.added_tasks) for one in questions),
        dropped_tasks=sum(len(one.dropped_tasks) for one in questions),
        kept_tasks=sum(one.kept_tasks for one in questions),
        html=html or None,
    )
    breaches = ((one, _breach(made, one)) for one in policies)
    made = replace(made, breaches=tuple(PolicyBreach(one, why) for one, why in breaches if why))
    printable = readable_record(Redactor.of(environment()).clean_record(made))
    if html:
        sides = f"{printable.first.run.name} and {printable.second.run.name}"
        page = render("comparison.html", title=f"{sides} – comparison", made=printable)
        write_page(Path(html), page.encode(), ReportFormat.HTML)
    return printable


# The questions of both runs


class Said(msgspec.Struct, frozen=True):
    """A statement or a task of an answer."""

    text: str
    section: str = ""
    """Only statements of one section, and tasks of one kind, are the same in other words."""
    title: str = ""
    """Of a task; the text of a statement is its own title."""


class Question(msgspec.Struct, frozen=True):
    """A question of one run with its answer."""

    answered: AnsweredStep
    tasks: tuple[Said, ...] = ()
    cost: Decimal | None = None
    duration_ms: int | None = None

    @property
    def step_id(self) -> str:
        return self.answered.question.step_id

    @property
    def title(self) -> str:
        return self.answered.question.title or self.answered.question.text

    @property
    def text(self) -> str:
        parts = (part.text for part in self.answered.parts)
        return "\n".join(parts).replace("\r\n", "\n").strip()

    def statements(self) -> Iterable[Said]:
        for part in self.answered.parts:
            if ANSWER.excess(part.text) is not None:
                digest = sha256_bytes(part.text.encode("utf-8", "replace"))[:12]
                # With a section of its own: another text is not the same in other words.
                yield Said(f"too large to be read ({digest})", digest)
                continue
            read = read_answer_text(part.text, section=part.section, expected=part.expected)
            for one in read.statements:
                yield Said(one.text, one.section)


def _questions(found: GatheredRun) -> tuple[Question, ...]:
    tasks: dict[str, list[Record]] = {}
    for record in found.work.records if found.work else ():
        if record.is_work and record.same_as is None:
            tasks.setdefault(record.step_id, []).append(record)
    questions = []
    for step in found.answers.steps if found.answers else ():
        state = found.view.state.step(step.question.step_id)
        texts = (
            Said("\n".join(one.actions) or one.title, one.kind or "", one.title)
            for one in tasks.get(step.question.step_id, ())
        )
        cost = total_cost(state.invocations).cost
        questions.append(Question(step, tuple(texts), cost, state.duration_ms))
    return tuple(questions)


def _side(found: GatheredRun, questions: Sequence[Question]) -> RunSide:
    return RunSide(
        run=listing_of(found.view),
        pack_hash=found.view.pack_hash,
        models=found.view.models,
        questions=len(questions),
        answered=sum(one.answered.is_answered for one in questions),
        tasks=sum(len(one.tasks) for one in questions),
    )


QuestionPair = tuple[Question | None, Question | None]


def matched_questions(
    first: Sequence[Question], second: Sequence[Question], *, is_same_pack: bool
) -> tuple[QuestionPair, ...]:
    """The questions of both runs, those that are the same one together."""
    keys: list[Callable[[Question], str]] = [
        lambda one: one.answered.question.question_id or "",
        lambda one: normalise(one.answered.question.text or one.title),
    ]
    if is_same_pack:
        keys.insert(0, lambda one: one.step_id)
    twins: dict[str, Question] = {}
    left, right = list(first), list(second)
    for key in keys:
        unique = []
        for side in (left, right):
            # What two questions of a run share names neither.
            counts = Counter(map(key, side))
            unique.append({key(one): one for one in side if key(one) and counts[key(one)] == 1})
        for name in unique[0].keys() & unique[1].keys():
            twins[unique[0][name].step_id] = unique[1][name]
        matched = {one.step_id for one in twins.values()}
        left = [one for one in left if one.step_id not in twins]
        right = [one for one in right if one.step_id not in matched]
    pairs: list[QuestionPair] = [(one, twins.get(one.step_id)) for one in first]
    return (*pairs, *((None, one) for one in right))


# What they say


def _compared(first: Question | None, second: Question | None) -> QuestionComparison:
    some = first or second
    assert some is not None
    before, now = (one if one and one.answered.is_answered else None for one in (first, second))
    dropped, added, pairs = matched(
        list(before.statements()) if before else [], list(now.statements()) if now else []
    )
    gone, come, _ = matched(
        list(first.tasks) if first else [], list(second.tasks) if second else []
    )
    if before is None or now is None:
        change = AnswerChange.ONLY_IN_FIRST if before else AnswerChange.ONLY_IN_SECOND
        change = change if before or now else AnswerChange.UNANSWERED
    elif before.text != now.text and (added or dropped):
        change = AnswerChange.CHANGED
    else:
        change = AnswerChange.REWORDED if pairs else AnswerChange.SAME
    return QuestionComparison(
        change=change,
        title=some.title,
        first_step=first.step_id if first else None,
        second_step=second.step_id if second else None,
        added=tuple(one.text for one in added),
        dropped=tuple(one.text for one in dropped),
        reworded=tuple((one.text, other.text) for one, other in pairs),
        added_tasks=tuple(one.title for one in come),
        dropped_tasks=tuple(one.title for one in gone),
        kept_tasks=len(first.tasks if first else ()) - len(gone),
        first_cost=first.cost if first else None,
        second_cost=second.cost if second else None,
        first_ms=first.duration_ms if first else None,
        second_ms=second.duration_ms if second else None,
    )


def matched(
    first: list[Said], second: list[Said]
) -> tuple[list[Said], list[Said], list[tuple[Said, Said]]]:
    """What only the first and only the second says, and what both say in other words."""
    keys: tuple[Callable[[Said], tuple[str, ...]], ...] = (
        lambda one: (normalise(one.title or one.text),),
        lambda one: (one.section, normalise(one.text)),
    )
    for key in keys:
        common = Counter(map(key, first)) & Counter(map(key, second))
        first, second = (_without(side, key, common.copy()) for side in (first, second))
    pairs = _alike(first, second) if len(first) * len(second) <= MOST_PAIRS else []
    gone, come = {one for one, _ in pairs}, {other for _, other in pairs}
    return (
        [one for at, one in enumerate(first) if at not in gone],
        [one for at, one in enumerate(second) if at not in come],
        [(first[left], second[right]) for left, right in sorted(pairs)],
    )


def _without(
    side: list[Said], key: Callable[[Said], tuple[str, ...]], common: Counter[tuple[str, ...]]
) -> list[Said]:
    """What is left when so many of each are taken out."""
    rest = []
    for one in side:
        common[key(one)] -= 1
        if common[key(one)] < 0:
            rest.append(one)
    return rest


def _alike(first: Sequence[Said], second: Sequence[Said]) -> list[tuple[int, int]]:
    """The places of what says the same in other words, the most alike first, each once."""
    ours, theirs = ([statement_of(one.text) for one in side] for side in (first, second))
    scored = [
        (-score, left, right)
        for left, one in enumerate(ours)
        for right, other in enumerate(theirs)
        if first[left].section == second[right].section and (score := likeness(one, other)) >= ALIKE
    ]
    pairs: dict[int, int] = {}
    for _, left, right in sorted(scored):
        if left not in pairs and right not in pairs.values():
            pairs[left] = right
    return list(pairs.items())


def likeness(first: ComparedStatement, second: ComparedStatement) -> float:
    """Whether two statements say the same, from 0 for a contradiction to about 1."""
    relation = relate(first, second)
    if relation is Relation.CONFLICT or first.numbers != second.numbers:
        return 0.0
    if first.is_denied != second.is_denied:
        return 0.0
    total = len(first.words) + len(second.words)
    shared = 2 * len(first.words & second.words) / max(1, total)
    # Statements with the same evidence that say nearly the same are the same.
    return shared + (_SAME_EVIDENCE if relation is Relation.DUPLICATE else 0.0)


# What the second run may not be worse in

_GROWTH = re.compile(r"(?P<what>cost|time)\+(?P<percent>\d{1,4}(?:\.\d{1,2})?)%")
_COUNTED: dict[str, tuple[Callable[[RunComparison], int], str, str]] = {
    "dropped-tasks": (lambda made: made.dropped_tasks, "task is gone", "tasks are gone"),
    "added-tasks": (lambda made: made.added_tasks, "task is new", "tasks are new"),
    "changed-answers": (
        lambda made: sum(
            made.totals[one]
            for one in (
                AnswerChange.CHANGED,
                AnswerChange.ONLY_IN_FIRST,
                AnswerChange.ONLY_IN_SECOND,
            )
        ),
        "answer says something else",
        "answers say something else",
    ),
    "dropped-answers": (
        lambda made: made.totals[AnswerChange.ONLY_IN_FIRST],
        "answer is gone",
        "answers are gone",
    ),
}


def read_policies(words: Iterable[str]) -> tuple[str, ...]:
    """The policies of a command line, each several if separated by commas."""
    parts = (one.strip() for word in words for one in word.split(","))
    names = tuple(dict.fromkeys(filter(None, parts)))
    known = (*_COUNTED, "cost+N%", "time+N%")
    for one in names:
        if one not in _COUNTED and _GROWTH.fullmatch(one) is None:
            hint = did_you_mean(one, known) or f"there are {', '.join(known)}"
            raise UsageError(f"--fail-on: {one!r} is unknown", hint=hint)
    return names


def _breach(made: RunComparison, policy: str) -> str:
    """Why the second run does not meet a policy; empty where it does."""
    grown = _GROWTH.fullmatch(policy)
    if grown is None:
        count, one, several = _COUNTED[policy]
        return quantity(count(made), one, several) if count(made) else ""
    most = 1 + Decimal(grown["percent"]) / 100
    before, now = made.first.run, made.second.run
    if grown["what"] == "time":
        is_over = now.duration_ms > before.duration_ms * most
        words = f"{duration(before.duration_ms)} became {duration(now.duration_ms)}"
        return words if is_over else ""
    if before.cost.cost is None or now.cost.cost is None or now.cost.unknown_calls:
        return "the cost of a run is not known" if now.cost.calls else ""
    is_over = now.cost.cost > before.cost.cost * most
    return f"{amount(before.cost.cost)} became {amount(now.cost.cost)}" if is_over else ""
