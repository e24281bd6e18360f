"""Two statements side by side: whether they say the same, deny each other, or neither."""

from enum import StrEnum
from functools import lru_cache

import msgspec

from oraclepack.actionize import words as w
from oraclepack.actionize.statement import Statement
from oraclepack.core.evidence import Evidence

ALIKE = 0.6
"""The share of content words that two statements about the same thing have in common."""
ALIKE_BUT_FOR_NUMBERS = 0.7
ALIKE_LETTERS = 0.86
"""How alike two words must be spelled to be one."""
NEAR_LINES = 5
_PREFIX = 4


class Relation(StrEnum):
    """How two statements stand to each other."""

    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNRELATED = "unrelated"


class _Overlap(msgspec.Struct, frozen=True):
    """What two statements share."""

    share: float
    """Of all their content words."""
    agreeing: int
    denying: int
    """Shared words that one affirms and the other denies."""
    opposed: int
    """Pairs such as `bounded` and `unbounded`, `before` and `after`."""

    @property
    def denies(self) -> bool:
        mostly = self.denying > 0 and self.denying >= self.agreeing
        return mostly != (self.opposed % 2 == 1)


def relate(first: Statement, second: Statement) -> Relation:
    """Judge two statements; the order does not matter."""
    if not about_the_same(first.evidence, second.evidence):
        return Relation.UNRELATED
    overlap = _overlap(first, second)
    if overlap.share < ALIKE:
        return Relation.UNRELATED
    if overlap.denies:
        # "X is missing" is the reason for "add X", not its denial.
        return Relation.CONFLICT if first.asks == second.asks else Relation.UNRELATED
    if first.numbers and second.numbers and not first.numbers & second.numbers:
        close = overlap.share >= ALIKE_BUT_FOR_NUMBERS
        return Relation.CONFLICT if close else Relation.UNRELATED
    return Relation.DUPLICATE


def about_the_same(first: Evidence, second: Evidence) -> bool:
    """Whether two pieces of evidence mean the same place or thing."""
    if first.symbols and second.symbols and not set(first.symbols) & set(second.symbols):
        return False
    if first.commands and second.commands:
        return bool(set(first.commands) & set(second.commands))
    shared = set(first.paths) & set(second.paths)
    if shared:
        return any(_same_place(path, first, second) for path in shared)
    if first.paths and second.paths:
        return False
    return bool(set(first.symbols) & set(second.symbols))


def _same_place(path: str, first: Evidence, second: Evidence) -> bool:
    ours = [citation for citation in first.citations if citation.path == path]
    theirs = [citation for citation in second.citations if citation.path == path]
    if not ours or not theirs:
        return True
    return any(mine.near(other, NEAR_LINES) for mine in ours for other in theirs)


def _overlap(first: Statement, second: Statement) -> _Overlap:
    ours, theirs = first.words, second.words
    shared = ours.keys() & theirs.keys()
    matched = [(word, word) for word in shared]
    opposed = sum(_opposed(first.opposites.get(w), second.opposites.get(w)) for w in shared)
    free = theirs.keys() - shared
    for word in sorted(ours.keys() - shared) if free else ():
        twin, is_denial = _twin(word, free)
        if twin is not None:
            matched.append((word, twin))
            free.remove(twin)
            opposed += is_denial
    agreeing = sum(_agree(ours[word], theirs[twin]) for word, twin in matched)
    return _Overlap(_share(first, second, matched), agreeing, len(matched) - agreeing, opposed)


def _share(first: Statement, second: Statement, matched: list[tuple[str, str]]) -> float:
    """The larger share: of all words, or of those that ask, whatever reasons are given."""
    total = len(first.words) + len(second.words)
    core = len(first.core) + len(second.core)
    asking = sum(mine in first.core and other in second.core for mine, other in matched)
    if first.asks and second.asks and first.core and second.core and not asking:
        return 0.0  # the same reason for two different things
    return max(2 * len(matched) / total if total else 0.0, 2 * asking / core if core else 0.0)


def _opposed(first: bool | None, second: bool | None) -> bool:  # noqa: FBT001 - signs, no switches
    return first is not None and second is not None and first != second


def _agree(first: bool | None, second: bool | None) -> bool:  # noqa: FBT001 - signs, no switches
    return first is None or second is None or first == second


def _twin(word: str, others: set[str]) -> tuple[str | None, bool]:
    """The word that is the same but for spelling, or its denial."""
    denied = _denials(word) & others
    if denied:
        return min(denied), True
    near = [other for other in others if other[:_PREFIX] == word[:_PREFIX]]
    score, best = max(((_alike(word, other), other) for other in near), default=(0.0, ""))
    return (best, False) if score >= ALIKE_LETTERS else (None, False)


def _alike(word: str, other: str) -> float:
    # Loaded only when there is something to compare.
    from rapidfuzz.distance import Indel  # noqa: PLC0415

    return Indel.normalized_similarity(word, other)


@lru_cache(maxsize=20_000)
def _denials(word: str) -> frozenset[str]:
    """The words that deny a word or are denied by it: `unbounded` and `bounded`."""
    if word in w.NOT_DENIED:
        return frozenset()
    longer = {f"{prefix}{word}" for prefix in w.DENYING_PREFIXES if len(word) >= _PREFIX}
    cut = {word.removeprefix(prefix) for prefix in w.DENYING_PREFIXES if word.startswith(prefix)}
    shorter = {other for other in cut if len(other) >= _PREFIX}
    return frozenset((longer | shorter) - w.NOT_DENIED)
