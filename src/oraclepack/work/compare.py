"""Whether two statements say the same or deny each other: few and sure rather than many.

Both must name the same place or thing and have the same words, whatever their order and endings; a
denial on one side, or another number, makes a conflict of it. One word more is allowed on one side.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from oraclepack.answers.sentences import word_set
from oraclepack.work.evidence import Evidence, evidence_in, without_evidence

NEAR_LINES = 5
_MOST = 1_000
"""Characters that are compared."""
_FEWEST_WORDS, _FEWEST_FOR_ONE_MORE = 2, 3
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
