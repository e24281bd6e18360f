"""Whether two statements say the same or deny each other: few and sure rather than many.

Both must name the same place or thing and have the same words, whatever their order and endings; a
denial on one side, or another number, makes a conflict of it. One word more is allowed on one side.
"""

import re
from enum import StrEnum

import msgspec

from oraclepack.answers.sentences import word_set
from oraclepack.work.evidence import Evidence
from oraclepack.work.mentions import evidence_in, without_evidence

NEAR_LINES = 5
_MOST = 1_000
"""Characters that are compared."""
_FEWEST_WORDS, _FEWEST_FOR_ONE_MORE = 2, 3
ROOT = 5
"""Letters that two forms of a word have in common."""
_WORD = re.compile(r"[^\W\d_]+|\d+")
_DENIAL = re.compile(
    r"\b(?:not|no|never|without|cannot|neither|nicht|kein|pas)\b|n[’']t\b", re.IGNORECASE
)
DENYING = ("un", "dis", "non", "in")
_SMALL = word_set(
    "a an and any are as at be been being by can could do does each for from has have if in into "
    "is it its may might must need needs of or shall should so such that the their then there "
    "these this those to was were when which while will with would"
)
_OPPOSITES = frozenset(
    map(
        frozenset,
        (
            *(("add", "remove"), ("keep", "remove"), ("keep", "drop"), ("enable", "disable")),
            *(("enabled", "disabled"), ("allow", "deny"), ("allow", "reject"), ("on", "off")),
            *(("accept", "reject"), ("increase", "decrease"), ("before", "after")),
            ("inside", "outside"),
        ),
    )
)
OPPOSITE_WORDS = frozenset[str]().union(*_OPPOSITES)
_NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "ten": "10"}


class Relation(StrEnum):
    """The relation of two statements."""

    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNRELATED = "unrelated"


class ComparedStatement(msgspec.Struct, frozen=True):
    """A statement, prepared for comparison."""

    text: str
    words: tuple[str, ...]
    """Its words in lower case, each once, without small words, denials, numbers and code."""
    is_denied: bool
    numbers: frozenset[str]
    evidence: Evidence


def statement_of(text: str, evidence: Evidence | None = None) -> ComparedStatement:
    """Prepare a statement."""
    prose = without_evidence(text[:_MOST])
    found = [_NUMBERS.get(word, word) for word in _WORD.findall(_DENIAL.sub(" ", prose).lower())]
    words = dict.fromkeys(word for word in found if not word.isdigit() and word not in _SMALL)
    return ComparedStatement(
        text,
        tuple(words),
        len(_DENIAL.findall(prose)) % 2 == 1,
        frozenset(word for word in found if word.isdigit()),
        evidence_in(text[:_MOST]) if evidence is None else evidence,
    )


def relate(first: ComparedStatement, second: ComparedStatement) -> Relation:
    """Judge two statements; the order does not matter."""
    if not about_the_same(first.evidence, second.evidence):
        return Relation.UNRELATED
    left, right = unmatched(first, second)
    denies = first.is_denied != second.is_denied
    if len(left) == len(right) == 1 and _is_denial(left[0], right[0]):
        left, right, denies = [], [], not denies
    fewest = _FEWEST_WORDS if not (left or right) else _FEWEST_FOR_ONE_MORE
    if len(left) + len(right) > 1 or min(len(first.words), len(second.words)) < fewest:
        return Relation.UNRELATED
    if denies or (first.numbers and second.numbers and first.numbers != second.numbers):
        return Relation.CONFLICT if not (left or right) else Relation.UNRELATED
    return Relation.DUPLICATE


def unmatched(first: ComparedStatement, second: ComparedStatement) -> tuple[list[str], list[str]]:
    """The words of each side that the other has in no form."""
    left = [word for word in first.words if word not in second.words]
    right = [word for word in second.words if word not in first.words]
    for word in [*left]:
        twin = next((other for other in right if word[:ROOT] == other[:ROOT]), None)
        if twin is not None and len(word) >= ROOT:
            left.remove(word)
            right.remove(twin)
    return left, right


def _is_denial(word: str, other: str) -> bool:
    if {word, other} in _OPPOSITES:
        return True
    short, long = sorted((word, other), key=len)
    bare = next((long[len(one) :] for one in DENYING if long.startswith(one)), "")
    return bool(bare) and bare[:ROOT] == short[:ROOT]


def about_the_same(first: Evidence, second: Evidence) -> bool:
    """Whether two statements name the same place or the same thing."""
    if first.symbols and second.symbols and not {*first.symbols} & {*second.symbols}:
        return False
    if first.citations and second.citations:
        return any(
            one.near(other, NEAR_LINES) for one in first.citations for other in second.citations
        )
    return bool({*first.symbols, *first.paths} & {*second.symbols, *second.paths})
