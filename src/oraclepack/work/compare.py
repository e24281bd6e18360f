"""What is the same work in several answers, and what contradicts: few and sure rather than many.

Both must name the same place or thing and have the same words, whatever their order and endings; a
denial on one side, or another number, makes a conflict of it. One word more is allowed on one side.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import combinations

import msgspec

from oraclepack.answers.sentences import word_set
from oraclepack.work.backlog import Record, TaskKind
from oraclepack.work.evidence import Evidence, evidence_in, without_evidence
from oraclepack.work.reading import REMARKS, plain

Place = tuple[str, int]

NEAR_LINES = 5
_MOST = 1_000
"""Characters that are compared."""
_FEWEST_WORDS, _FEWEST_FOR_ONE_MORE = 2, 3
_MOST_CLASSES = 20
"""Of statements with the same words about the same thing that are compared."""
_MOST_NAMES, _MOST_WORDS = 4, 16
"""Under which a statement is filed."""
_ROOT = 5
"""Letters that two forms of a word have in common."""
_WORD = re.compile(r"[^\W\d_]+|\d+")
_DENIAL = re.compile(
    r"\b(?:not|no|never|without|cannot|neither|nicht|kein|pas)\b|n[’']t\b", re.IGNORECASE
)
_DENIED = re.compile(r"(?:un|dis|non|in)(?=\w{4})")
_OPPOSITES = {
    "remove": "keep",
    "drop": "keep",
    "disable": "enable",
    "disabled": "enable",
    "deny": "allow",
    "reject": "allow",
    "accept": "allow",
    "off": "on",
    "decrease": "increase",
    "after": "before",
    "outside": "inside",
}
"""Words, and those that they deny."""
_SAME = frozenset({"accept"})
_SMALL = word_set(
    "a an and any are as at be been being by can could do does each for from has have if in into "
    "is it its may might must need needs of or shall should so such that the their then there "
    "these they this those to was were when which while will with would"
)
_NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "ten": "10"}


class Relation(StrEnum):
    """The relation of two statements."""

    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNRELATED = "unrelated"


class ComparedStatement(msgspec.Struct, frozen=True):
    """A statement, prepared for comparison."""

    words: frozenset[str]
    """The roots of its words, without small words, denials, numbers and code."""
    is_denied: bool
    numbers: frozenset[str]
    evidence: Evidence

    @property
    def keys(self) -> Iterator[tuple[str, frozenset[str]]]:
        """What it is filed under: a statement that is related to it has one of them too."""
        shorter = [self.words - {word} for word in sorted(self.words)]
        words = [self.words, *(shorter if len(shorter) > _FEWEST_FOR_ONE_MORE else ())]
        names = (*self.evidence.paths, *self.evidence.symbols)[:_MOST_NAMES]
        return ((name, one) for name in names for one in words[:_MOST_WORDS])


def statement_of(text: str, evidence: Evidence | None = None) -> ComparedStatement:
    """Prepare a statement."""
    prose = without_evidence(text[:_MOST])
    denials = len(_DENIAL.findall(prose))
    roots: set[str] = set()
    numbers: set[str] = set()
    for word in _WORD.findall(_DENIAL.sub(" ", prose).lower()):
        number = _NUMBERS.get(word, word)
        if number.isdigit():
            numbers.add(number)
        elif word not in _SMALL:
            positive = _OPPOSITES.get(word) or _DENIED.sub("", word, count=1)
            denials += positive != word and word not in _SAME
            roots.add(positive[:_ROOT])
    named = evidence_in(text[:_MOST]) if evidence is None else evidence
    return ComparedStatement(frozenset(roots), denials % 2 == 1, frozenset(numbers), named)


def relate(first: ComparedStatement, second: ComparedStatement) -> Relation:
    """Judge two statements; the order does not matter."""
    more = first.words ^ second.words
    fewest = _FEWEST_FOR_ONE_MORE if more else _FEWEST_WORDS
    is_comparable = len(more) <= 1 and min(len(first.words), len(second.words)) >= fewest
    if not is_comparable or not about_the_same(first.evidence, second.evidence):
        return Relation.UNRELATED
    other_number = first.numbers and second.numbers and first.numbers != second.numbers
    if first.is_denied != second.is_denied or other_number:
        return Relation.UNRELATED if more else Relation.CONFLICT
    return Relation.DUPLICATE


def about_the_same(first: Evidence, second: Evidence) -> bool:
    """Whether two statements name the same place or the same thing."""
    if first.symbols and second.symbols and not {*first.symbols} & {*second.symbols}:
        return False
    if first.citations and second.citations:
        return any(
            one.near(other, NEAR_LINES) for one in first.citations for other in second.citations
        )
    return bool({*first.symbols, *first.paths} & {*second.symbols, *second.paths})


class Proposal(msgspec.Struct, frozen=True):
    """Two pieces of work that a model takes for the same, or for contradictory."""

    first: Place
    second: Place
    relation: Relation


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
        if not _is_claim(draft):
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


def _is_claim(record: Record) -> bool:
    """Whether a record says how something is or should be, and may contradict another answer."""
    is_aside = record.kind in {TaskKind.RISK, TaskKind.EVIDENCE}
    return bool(record.actions) and not is_aside and not {*REMARKS.values()} & {*record.remarks}


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
