"""Tasks of different answers that are the same work, and answers that contradict each other.

Statements are compared by `compare`, which needs a symbol, a path or a command that both name. What
one answer asks for and another refuses is a contradiction also where only the words are the same.
Pairs are looked for among tasks that share such a name, a title or its words, two answers at a
time: an answer that changes affects only the groups that it belongs to.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product

import msgspec

from oraclepack.answers.sentences import word_set
from oraclepack.pack.answer_sections import normalise
from oraclepack.work.backlog import TaskKind
from oraclepack.work.compare import ComparedStatement, Relation, statement_of
from oraclepack.work.compare import relate as compare
from oraclepack.work.step_work import AnswerTask, words_of
from oraclepack.work.unit_claims import is_negated

MOST_KEYS, MOST_WORDS = 16, 10
_MOST_PAIRS = 400
"""Pairs of two answers that are compared for one key; more are left alone."""
_SHARED_WORDS = 3
_ABOUT_ONE = 0.35
"""The share of words of two titles about one subject."""

Place = tuple[str, int]


class Groups(msgspec.Struct, frozen=True):
    """What belongs together: each task once, in the order of steps and numbers."""

    merged: tuple[tuple[AnswerTask, ...], ...]
    conflicts: tuple[tuple[AnswerTask, ...], ...]


class Profile(msgspec.Struct, frozen=True):
    """What a task or a fact is compared by."""

    statement: ComparedStatement
    title: str
    title_words: frozenset[str]
    act: int


_ALLOW = word_set(
    "accept allow continue degrade enable ignore include keep opt-in optional pass permit proceed "
    "retain skip support tolerate warn"
)
_REFUSE = word_set(
    "abort block deny disable error exclude fail forbid mandatory prevent prohibit refuse reject "
    "require stop throw"
)
_SIGNS = dict.fromkeys(sorted(_ALLOW), 1) | dict.fromkeys(sorted(_REFUSE), -1)
"""Verbs that leave something as it is, and verbs that change it."""
_WORD = re.compile(r"[a-z][a-z-]+")


def group_tasks(tasks: Iterable[AnswerTask]) -> Groups:
    """Find the same work and the contradictions among the tasks and facts of all answers."""
    ordered = sorted(tasks, key=_place)
    profiles = {_place(task): profile_of(task) for task in ordered}
    same, against = _Union(), _Union()
    torn: set[Place] = set()
    for first, second in _pairs(ordered, profiles):
        relation = relate(first, second, profiles[_place(first)], profiles[_place(second)])
        if relation is Relation.UNRELATED:
            continue
        against.join(_place(first), _place(second))
        if relation is Relation.DUPLICATE:
            same.join(_place(first), _place(second))
        else:
            torn |= {_place(first), _place(second)}
    roots = {against.root(place) for place in torn}
    conflicts: dict[Place, list[AnswerTask]] = {}
    merged: dict[Place, list[AnswerTask]] = {}
    for task in ordered:
        root = against.root(_place(task))
        if root in roots:
            conflicts.setdefault(root, []).append(task)
        elif not task.is_fact:
            merged.setdefault(same.root(_place(task)), []).append(task)
    return Groups(tuple(map(tuple, merged.values())), tuple(map(tuple, conflicts.values())))


def profile_of(task: AnswerTask) -> Profile:
    """What a task is compared by: its claim, about what the whole unit names."""
    return Profile(
        statement_of(task.claim.replace("\n", " "), task.evidence),
        normalise(task.title),
        words_of(task.title),
        _act(task.title),
    )


def relate(first: AnswerTask, second: AnswerTask, mine: Profile, other: Profile) -> Relation:
    """The relation of two tasks or facts of different answers."""
    if first.kind is not second.kind:
        return Relation.UNRELATED
    if first.kind is TaskKind.CHANGE and _refuses(mine, other):
        return Relation.CONFLICT
    are_tasks = not (first.is_fact or second.is_fact)
    if are_tasks and mine.title == other.title:
        return Relation.DUPLICATE
    if first.kind is TaskKind.EXPERIMENT:
        return Relation.UNRELATED  # another experiment on the same thing is another experiment
    relation = compare(mine.statement, other.statement)
    return relation if are_tasks or relation is Relation.CONFLICT else Relation.UNRELATED


def _refuses(mine: Profile, other: Profile) -> bool:
    """One title asks for what the other refuses, and both are about one subject."""
    shared = mine.title_words & other.title_words
    if mine.act * other.act != -1 or len(shared) < _SHARED_WORDS:
        return False
    if {*mine.statement.evidence.symbols} & {*other.statement.evidence.symbols}:
        return True
    return len(shared) >= _ABOUT_ONE * len(mine.title_words | other.title_words)


def _act(title: str) -> int:
    """1 where a title leaves something as it is, -1 where it changes it, else 0."""
    signs = (_SIGNS.get(_root(word), 0) for word in _WORD.findall(title.lower()))
    first = next((sign for sign in signs if sign), 0)
    return -first if is_negated(title) else first


def _root(word: str) -> str:
    """A verb without its ending."""
    endings = ("ing", "ed", "es", "s", "d")
    cut = [word.removesuffix(ending) for ending in endings if word.endswith(ending)]
    forms = (word, *cut, *(f"{form}e" for form in cut))
    return next((form for form in forms if form in _SIGNS), word)


def _pairs(
    tasks: Sequence[AnswerTask], profiles: dict[Place, Profile]
) -> Iterator[tuple[AnswerTask, AnswerTask]]:
    """The pairs worth comparing, each once: those that share a name, a title, or its words."""
    blocks: dict[str, dict[str, list[AnswerTask]]] = {}
    for task in tasks:
        for key in _keys(task, profiles[_place(task)]):
            blocks.setdefault(key, {}).setdefault(task.step_id, []).append(task)
    seen: set[tuple[Place, Place]] = set()
    for answers in blocks.values():
        for one, other in _candidates([*answers.values()], profiles):
            first, second = sorted((one, other), key=_place)
            pair = (_place(first), _place(second))
            if first.step_id != second.step_id and pair not in seen:
                seen.add(pair)
                yield first, second


def _candidates(
    answers: Sequence[Sequence[AnswerTask]], profiles: Mapping[Place, Profile]
) -> Iterator[tuple[AnswerTask, AnswerTask]]:
    """The pairs of a block that may be related, and enough of those with one title.

    One name may occur in every answer: pairs that `relate` calls unrelated at a glance are never
    made, so that the work grows with the answers and not with their square.
    """
    if len(answers) == 1:
        return
    *_, second, first = sorted(map(len, answers))
    if first * second > _MOST_PAIRS:
        for one, other in combinations(answers, 2):
            if len(one) * len(other) <= _MOST_PAIRS:
                yield from product(one, other)
        return
    tasks = [task for answer in answers for task in answer]
    titled = _grouped(tasks, lambda task: [_titled(task, profiles[_place(task)])])
    for same in titled.values():
        acts = {profiles[_place(task)].act for task in same}
        yield from _joined(same) if len(acts) == 1 else combinations(same, 2)
    compared = [task for task in tasks if task.kind is not TaskKind.EXPERIMENT]
    for group in _grouped(compared, _common_names).values():
        classes = _grouped(group, lambda task: [_titled(task, profiles[_place(task)])])
        for one_class, other_class in combinations(classes.values(), 2):
            yield from product(one_class, other_class)
    yield from product([task for task in compared if not task.evidence.paths], compared)
    by_act = _grouped(tasks, lambda task: [profiles[_place(task)].act])
    yield from product(by_act.get(1, ()), by_act.get(-1, ()))


def _grouped(
    tasks: Iterable[AnswerTask], keys: Callable[[AnswerTask], Iterable[Hashable]]
) -> dict[Hashable, list[AnswerTask]]:
    groups: dict[Hashable, list[AnswerTask]] = {}
    for task in tasks:
        for key in keys(task):
            groups.setdefault(key, []).append(task)
    return groups


def _titled(task: AnswerTask, profile: Profile) -> Hashable:
    """Tasks with the same are the same work; a fact is like no other."""
    return _place(task) if task.is_fact else (task.kind, profile.title)


def _joined(same: Sequence[AnswerTask]) -> Iterator[tuple[AnswerTask, AnswerTask]]:
    """Of tasks with one title, pairs that connect all: each with the first of another answer."""
    first = same[0]
    elsewhere = next((task for task in same if task.step_id != first.step_id), None)
    if elsewhere is not None:
        for task in same:
            yield task, elsewhere if task.step_id == first.step_id else first


def _common_names(task: AnswerTask) -> Iterator[tuple[TaskKind, str]]:
    """Without one of these in common, and with paths in both, two statements are unrelated."""
    evidence = task.evidence
    yield from ((task.kind, name) for name in {*evidence.paths, *evidence.commands})


def _keys(task: AnswerTask, profile: Profile) -> Iterator[str]:
    """What a task is filed under."""
    evidence = task.evidence
    yield f"={profile.title}"
    yield from [*evidence.paths, *evidence.symbols][:MOST_KEYS]
    if profile.act and task.kind is TaskKind.CHANGE:
        words = sorted(profile.title_words)[:MOST_WORDS]
        yield from (" ".join(three) for three in combinations(words, _SHARED_WORDS))


def _place(task: AnswerTask) -> Place:
    return task.step_id, task.number


class _Union:
    """Sets that grow together; the smallest place of a set stands for it."""

    def __init__(self) -> None:
        self._parent: dict[Place, Place] = {}

    def root(self, place: Place) -> Place:
        path = []
        while (parent := self._parent.get(place, place)) != place:
            path.append(place)
            place = parent
        for passed in path:
            self._parent[passed] = place
        return place

    def join(self, first: Place, second: Place) -> None:
        low, high = sorted((self.root(first), self.root(second)))
        if low != high:
            self._parent[high] = low
