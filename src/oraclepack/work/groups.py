"""Records of different answers that are the same work, and answers that contradict each other."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations

import msgspec

from oraclepack.work.asking import Proposal
from oraclepack.work.backlog import Record, TaskKind
from oraclepack.work.compare import ComparedStatement, Relation, relate, statement_of
from oraclepack.work.reading import plain
from oraclepack.work.step_answers import is_claim

_MOST_CLASSES = 20
"""Of statements with the same words about the same thing that are compared."""

Place = tuple[str, int]


class Groups(msgspec.Struct, frozen=True):
    """What belongs together: each draft once, in the order of steps and numbers."""

    merged: tuple[tuple[Record, ...], ...]
    conflicts: tuple[tuple[Record, ...], ...]


def group_drafts(drafts: Iterable[Record], proposals: Iterable[Proposal] = ()) -> Groups:
    """Find the same work and the contradictions among the drafts of all answers.

    `proposals` are those that a model named and rules accepted.
    """
    ordered = sorted(drafts, key=lambda one: one.place)
    named = [(one.first, one.second, one.relation) for one in proposals]
    same: dict[Place, Place] = {}
    against: dict[Place, Place] = {}
    torn: set[Place] = set()
    for first, second, relation in (*_related(ordered), *named):
        _join(against, first, second)
        if relation is Relation.DUPLICATE:
            _join(same, first, second)
        else:
            torn |= {first, second}
    roots = {_root(against, place) for place in torn}
    conflicts: dict[Place, list[Record]] = {}
    merged: dict[Place, list[Record]] = {}
    for draft in ordered:
        root = _root(against, draft.place)
        if root in roots:
            conflicts.setdefault(root, []).append(draft)
        else:
            merged.setdefault(_root(same, draft.place), []).append(draft)
    return Groups(tuple(map(tuple, merged.values())), tuple(map(tuple, conflicts.values())))


def _related(drafts: Iterable[Record]) -> Iterator[tuple[Place, Place, Relation]]:
    """The related pairs of drafts of different answers, enough to connect all that are related.

    Only statements with a common name and the same words are compared, and those that say the same
    of the same places only once, so that the work grows with the answers and not with their square.
    """
    classes: dict[Hashable, list[Record]] = {}
    blocks: dict[Hashable, list[tuple[ComparedStatement, list[Record]]]] = {}
    for draft in drafts:
        if not is_claim(draft):
            continue
        statement = statement_of(plain(draft.actions[0]).partition(". ")[0], draft.evidence)
        members = classes.setdefault((statement, draft.kind, draft.status), [])
        members.append(draft)
        if len(members) == 1:
            for key in statement.keys:
                blocks.setdefault(key, []).append((statement, members))
    for members in classes.values():
        named = members[0].evidence.paths or members[0].evidence.symbols
        if named and _is_work(members[0]):
            yield from _pairs(members, members, Relation.DUPLICATE)
    for block in blocks.values():
        for (one, some), (other, others) in combinations(block[:_MOST_CLASSES], 2):
            relation = relate(one, other)
            same_kind = some[0].kind is others[0].kind and _is_work(some[0]) and _is_work(others[0])
            if relation is Relation.CONFLICT or (relation is Relation.DUPLICATE and same_kind):
                yield from _pairs(some, others, relation)


def _is_work(draft: Record) -> bool:
    return draft.is_work and draft.kind is not TaskKind.EXPERIMENT


def _pairs(
    some: Sequence[Record], others: Sequence[Record], relation: Relation
) -> Iterator[tuple[Place, Place, Relation]]:
    """Pairs of different answers that connect all members of two classes."""
    pairs = [*((one, others[0]) for one in some), *((some[0], one) for one in others[1:])]
    pairs += [(some[-1], one) for one in others]  # the first may all be of one answer
    for one, other in pairs:
        if one.step_id != other.step_id:
            yield one.place, other.place, relation


def _root(parents: dict[Place, Place], place: Place) -> Place:
    """The smallest place of the set that a place belongs to; `parents` holds the sets."""
    while (parent := parents.get(place, place)) != place:
        parents[place] = parents.get(parent, parent)
        place = parent
    return place


def _join(parents: dict[Place, Place], first: Place, second: Place) -> None:
    low, high = sorted((_root(parents, first), _root(parents, second)))
    if low != high:
        parents[high] = low
