"""Across answers: what is proposed twice, and what denies each other.

Exact duplicates are found by a key. Near ones and denials are looked for only among statements
that share a piece of evidence, two answers at a time. Which statements of two answers are
compared depends on those two answers alone: an answer that changes moves only the groups that
it is or becomes a part of.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product

import msgspec

from oraclepack.pack.answer_sections import normalise
from oraclepack.work.backlog import WorkStatus
from oraclepack.work.compare import ComparedStatement, Relation, relate
from oraclepack.work.normalize import AnswerClaim, NormalizedAnswer, Proposal

MOST_PAIRS = 900
"""Pairs of statements about one piece of evidence that are compared between two answers."""
NEIGHBOURS = 8
"""Where there would be more, each is compared with so many that come next by their words."""
MOST_KEYS = 12
FEWEST_WORDS = 3
"""A statement about nothing in particular must say this much to be the same as another."""

_SYMBOL = "`"
"""Begins the key of a symbol, which no path and no command does."""

Said = Proposal | AnswerClaim
Place = tuple[str, int]
"""The step and the number of a proposal or claim."""


class Groups(msgspec.Struct, frozen=True):
    """What belongs together: each member once, in the order of steps and numbers."""

    merged: tuple[tuple[Proposal, ...], ...]
    """Proposals that say the same; most stand alone."""
    conflicts: tuple[tuple[Said, ...], ...]
    """Statements that deny each other, with their duplicates."""


def group(answers: Iterable[NormalizedAnswer]) -> Groups:
    """Find the duplicates and the denials among all answers."""
    said: list[Said] = []
    for answer in answers:
        said += [*answer.proposals, *answer.claims]
    said.sort(key=_place)
    same, against = _Union(), _Union()
    denying: set[Place] = set()
    for first, second in _exact(said):
        same.join(_place(first), _place(second))
        against.join(_place(first), _place(second))
    for first, second in _near(said):
        relation = relate(first.statement, second.statement)
        if relation is Relation.DUPLICATE:
            same.join(_place(first), _place(second))
            against.join(_place(first), _place(second))
        elif relation is Relation.CONFLICT and first.step_id != second.step_id:
            against.join(_place(first), _place(second))
            denying |= {_place(first), _place(second)}
    return _groups(said, same, against, denying)


def _groups(said: Sequence[Said], same: "_Union", against: "_Union", denying: set[Place]) -> Groups:
    torn = {against.root(place) for place in denying}
    conflicts: dict[Place, list[Said]] = {}
    merged: dict[Place, list[Proposal]] = {}
    for one in said:
        root = against.root(_place(one))
        if root in torn:
            conflicts.setdefault(root, []).append(one)
        elif isinstance(one, Proposal):
            merged.setdefault(same.root(_place(one)), []).append(one)
    return Groups(tuple(map(tuple, merged.values())), tuple(map(tuple, conflicts.values())))


def _place(one: Said) -> Place:
    return one.step_id, one.number


def _sort(one: Said) -> str | None:
    """What may be compared with what: requests, shrugs and claims among themselves."""
    if isinstance(one, AnswerClaim):
        return "claim"
    return None if one.stands_alone or one.status is WorkStatus.NOOP else one.status


def _exact(said: Iterable[Said]) -> Iterator[tuple[Said, Said]]:
    first_with: dict[Hashable, Said] = {}
    for one in said:
        sort = _sort(one)
        found = one.statement.evidence
        if sort is None or (not found and len(one.statement.words) < FEWEST_WORDS):
            continue
        places = tuple((c.path, c.first_line) for c in found.citations)
        key = (sort, normalise(one.statement.text), found.paths, found.symbols, places)
        earlier = first_with.setdefault(key, one)
        if earlier is not one:
            yield earlier, one


def _near(said: Iterable[Said]) -> Iterator[tuple[Said, Said]]:
    """The pairs worth comparing: those that share evidence, each once."""
    blocks: dict[tuple[str, str], _Block] = {}
    for one in said:
        sort = _sort(one)
        if sort is not None and one.statement.words:
            for key in _keys(one.statement):
                blocks.setdefault((sort, key), _Block()).file(one, key)
    seen: set[tuple[Place, Place]] = set()
    for block in blocks.values():
        for first, second in block.pairs():
            pair = (_place(first), _place(second))
            if pair not in seen:
                seen.add(pair)
                yield first, second


def _keys(statement: ComparedStatement) -> list[str]:
    """What a statement is filed under."""
    found = statement.evidence
    symbols = (f"{_SYMBOL}{name}" for name in found.symbols)
    return [*found.commands, *found.paths, *symbols][:MOST_KEYS]


class _Block:
    """The statements that share one piece of evidence, by their answers."""

    def __init__(self) -> None:
        self._open: dict[str, list[Said]] = {}
        self._placed: dict[str, list[Said]] = {}
        """Those that share a symbol, but each name a file: not to be compared for the symbol."""

    def file(self, one: Said, key: str) -> None:
        placed = key.startswith(_SYMBOL) and bool(one.statement.evidence.paths)
        (self._placed if placed else self._open).setdefault(one.step_id, []).append(one)

    def pairs(self) -> Iterator[tuple[Said, Said]]:
        """Two answers at a time, and each answer with itself."""
        for ours, theirs in combinations_with_replacement(self._open.values(), 2):
            yield from _between(ours, theirs)
        for ours, theirs in product(self._open.values(), self._placed.values()):
            yield from _between(ours, theirs)


def _between(ours: list[Said], theirs: list[Said]) -> Iterator[tuple[Said, Said]]:
    """The pairs of two answers that are compared; few enough, whatever the answers hold."""
    both = ours if ours is theirs else [*ours, *theirs]
    every = combinations(ours, 2) if ours is theirs else product(ours, theirs)
    few = len(ours) * len(theirs) <= MOST_PAIRS
    for one, other in every if few else _neighbours(both):
        first, second = sorted((one, other), key=_place)
        yield first, second


def _neighbours(block: list[Said]) -> Iterator[tuple[Said, Said]]:
    by_words = sorted(block, key=lambda one: (sorted(one.statement.words), _place(one)))
    for position, one in enumerate(by_words):
        for other in by_words[position + 1 : position + 1 + NEIGHBOURS]:
            yield one, other


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
