"""Records of different answers that are the same work, and answers that contradict each other."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations

import msgspec

from oraclepack.work.asking import Proposal
from oraclepack.work.backlog import TaskKind, WorkStatus
from oraclepack.work.compare import (
    DENYING,
    OPPOSITE_WORDS,
    ROOT,
    ComparedStatement,
    Relation,
    relate,
    statement_of,
)
from oraclepack.work.evidence import Evidence
from oraclepack.work.reading import plain
from oraclepack.work.step_answers import Draft

_MOST_CLASSES, _MOST_NAMES = 20, 8
"""Of statements with the same words, and of names, that are compared."""

Place = tuple[str, int]


class Groups(msgspec.Struct, frozen=True):
    """What belongs together: each draft once, in the order of steps and numbers."""

    merged: tuple[tuple[Draft, ...], ...]
    conflicts: tuple[tuple[Draft, ...], ...]


def group_drafts(drafts: Iterable[Draft], proposals: Iterable[Proposal] = ()) -> Groups:
    """Find the same work and the contradictions among the drafts of all answers.

    `proposals` are those that a model named and rules accepted.
    """
    ordered = sorted(drafts, key=_place)
    named = [(one.first, one.second, one.relation) for one in proposals]
    same, against = _Union(), _Union()
    torn: set[Place] = set()
    for first, second, relation in (*_related(ordered), *named):
        against.join(first, second)
        if relation is Relation.DUPLICATE:
            same.join(first, second)
        else:
            torn |= {first, second}
    roots = {against.root(place) for place in torn}
    conflicts: dict[Place, list[Draft]] = {}
    merged: dict[Place, list[Draft]] = {}
    for draft in ordered:
        root = against.root(_place(draft))
        if root in roots:
            conflicts.setdefault(root, []).append(draft)
        else:
            merged.setdefault(same.root(_place(draft)), []).append(draft)
    return Groups(tuple(map(tuple, merged.values())), tuple(map(tuple, conflicts.values())))


class _Class(msgspec.Struct, frozen=True):
    """Drafts that say the same in the same words about the same places."""

    statement: ComparedStatement
    members: list[Draft]

    @property
    def is_work(self) -> bool:
        first = self.members[0]
        return first.status is WorkStatus.ACTIONABLE and first.kind is not TaskKind.EXPERIMENT


def _related(drafts: Iterable[Draft]) -> Iterator[tuple[Place, Place, Relation]]:
    """The related pairs of drafts of different answers, enough to connect all that are related.

    Only statements with a common name and the same words are compared, words that are opposites of
    each other aside, so that the work grows with the answers and not with their square.
    """
    classes: dict[Hashable, _Class] = {}
    for draft in drafts:
        if not draft.is_claim or not draft.actions:
            continue
        statement = statement_of(plain(draft.actions[0]).partition(". ")[0], draft.evidence)
        sense = (statement.words, statement.is_denied, statement.numbers, draft.evidence)
        key = (sense, draft.kind, draft.status)
        classes.setdefault(key, _Class(statement, [])).members.append(draft)
    blocks: dict[Hashable, list[_Class]] = {}
    for one in classes.values():
        if one.is_work and _names(one.statement.evidence):
            yield from _joined(one.members, one.members, Relation.DUPLICATE)
        for name in _keys(one.statement):
            blocks.setdefault(name, []).append(one)
    for block in blocks.values():
        for one, other in combinations(block[:_MOST_CLASSES], 2):
            yield from _judged(one, other)


def _judged(one: _Class, other: _Class) -> Iterator[tuple[Place, Place, Relation]]:
    relation = relate(one.statement, other.statement)
    same_kind = one.members[0].kind is other.members[0].kind
    is_same = relation is Relation.DUPLICATE and one.is_work and other.is_work and same_kind
    if is_same or relation is Relation.CONFLICT:
        yield from _joined(one.members, other.members, relation)


def _joined(
    some: Sequence[Draft], others: Sequence[Draft], relation: Relation
) -> Iterator[tuple[Place, Place, Relation]]:
    """Pairs of different answers that connect all members of two classes."""
    pairs = [*((one, others[0]) for one in some), *((some[0], one) for one in others[1:])]
    pairs += [(some[-1], one) for one in others]  # the first may all be of one answer
    for one, other in pairs:
        if one.step_id != other.step_id:
            yield _place(one), _place(other), relation


def _keys(statement: ComparedStatement) -> Iterator[Hashable]:
    """What a statement is filed under: each name with the roots of its words, opposites aside."""
    words = [word for word in statement.words if word not in OPPOSITE_WORDS]
    roots = frozenset(map(_root, words))
    return ((name, roots) for name in _names(statement.evidence))


def _names(evidence: Evidence) -> tuple[str, ...]:
    return (*evidence.paths, *evidence.symbols)[:_MOST_NAMES]


def _root(word: str) -> str:
    bare = next((word[len(one) :] for one in DENYING if word.startswith(one)), word)
    return (bare if len(bare) >= ROOT - 1 else word)[:ROOT]


def _place(draft: Draft) -> Place:
    return draft.step_id, draft.number


class _Union:
    """Sets that grow together; the smallest place of a set stands for it."""

    def __init__(self) -> None:
        self._parent: dict[Place, Place] = {}

    def root(self, place: Place) -> Place:
        while (parent := self._parent.get(place, place)) != place:
            self._parent[place] = self._parent.get(parent, parent)
            place = parent
        return place

    def join(self, first: Place, second: Place) -> None:
        low, high = sorted((self.root(first), self.root(second)))
        if low != high:
            self._parent[high] = low
