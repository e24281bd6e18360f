"""Compares two statements: whether they say the same, contradict each other, or neither."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from oraclepack.work import comparison_words as w
from oraclepack.work.command_lines import commands_in
from oraclepack.work.evidence import Evidence
from oraclepack.work.mentions import evidence_in, without_evidence
from oraclepack.work.unit_claims import asks_for_work

MOST_WORDS = 60
"""What is said in more words than this is compared by its beginning."""
_SHORT = 3

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*|[,;:.!?()—–]")
_ENDS = ("ations", "ation", "ings", "ing", "ment", "edly", "ied", "ies", "ed", "ly", "es", "s", "e")
_SEGMENT = re.compile(r"(?<=[.;:!?])\s+")
_PHRASES = dict(w.PHRASES)
_PHRASE = re.compile(rf"\b(?:{'|'.join(map(re.escape, _PHRASES))})")
_MARKS = ",;:.!?()—–"


class ComparedStatement(msgspec.Struct, frozen=True):
    """A statement about some evidence."""

    text: str
    evidence: Evidence
    asks: bool
    """It asks for work, instead of telling how things are."""
    words: Mapping[str, bool | None]
    """Each content word, and whether it is affirmed; None in the reasons given for a request."""
    core: frozenset[str]
    """The words of the request itself, or all words where nothing is asked for."""
    opposites: Mapping[str, bool]
    """Each concept that has an opposite, and which of the two was said."""
    numbers: frozenset[str]


def statement_of(text: str, evidence: Evidence | None = None) -> ComparedStatement:
    """Read a statement; its evidence is what it names, unless more is known."""
    cited = evidence_in(text, commands_in(text)) if evidence is None else evidence
    reading = _Reading()
    segments = [part for part in _SEGMENT.split(text) if part.strip()]
    requests = [part for part in segments if asks_for_work(part)]
    for part in sorted(segments, key=lambda part: part not in requests):
        is_reason = bool(requests) and part not in requests
        for clause in _clauses(_tokens(part)):
            reading.take(clause, is_reason=is_reason)
    return ComparedStatement(
        text,
        cited,
        bool(requests),
        reading.words,
        frozenset(reading.core if requests else reading.words),
        reading.opposites,
        frozenset(reading.numbers),
    )


def _tokens(text: str) -> list[str]:
    prose = without_evidence(text).lower().replace("’", "'")
    plain = _PHRASE.sub(lambda phrase: _PHRASES[phrase[0]], " ".join(prose.split()))
    return _TOKEN.findall(plain)[: 4 * MOST_WORDS]


def _clauses(tokens: list[str]) -> Iterator[list[str]]:
    clause: list[str] = []
    for token in tokens:
        if token in _MARKS:
            yield clause
            clause = []
        elif token in w.CLAUSE_ENDS:
            yield clause
            clause = [token]
        else:
            clause.append(token)
    yield clause


class _Reading:
    """What has been understood of a statement so far."""

    def __init__(self) -> None:
        self.words: dict[str, bool | None] = {}
        self.core: set[str] = set()
        self.opposites: dict[str, bool] = {}
        self.numbers: set[str] = set()

    def take(self, clause: list[str], *, is_reason: bool) -> None:
        """Read one more clause. The first mention of a word counts."""
        denied = sum(token in w.NEGATES_CLAUSE for token in clause) % 2 == 1
        before = set(self.words)
        is_core = not is_reason and clause[:1] != [] and clause[0] not in w.REASONS
        for token in clause:
            if token in w.NEGATES_REST or token in w.REMOVES:
                denied = not denied
            elif token in w.NEGATES_CLAUSE:
                continue
            elif (number := _number(token)) is not None:
                self.numbers.add(number)
            else:
                self._word(token, None if is_reason else not denied)
        self.core |= set(self.words) - before if is_core else set()

    def _word(self, token: str, affirmed: bool | None) -> None:  # noqa: FBT001 - a sign, not a switch
        stemmed = stem(token)
        if stemmed in _OPPOSITES:
            stemmed, is_first = _OPPOSITES[stemmed]
            self.opposites.setdefault(stemmed, is_first)
        elif token in w.SMALL or token in w.LIGHT:
            return
        if len(self.words) < MOST_WORDS:
            self.words.setdefault(stemmed, affirmed)


def _number(token: str) -> str | None:
    if token.isdigit():
        return token.lstrip("0") or "0"
    return str(w.NUMBERS[token]) if token in w.NUMBERS else None


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its ending, and in the place of its synonyms."""
    plain = _SAME.get(word, word)
    return _SAME_STEMS.get(_cut(plain), _cut(plain))


def _cut(word: str) -> str:
    word = word.removesuffix("'s")
    for end in _ENDS:
        if word.endswith(end) and len(word) - len(end) >= _SHORT:
            cut = word[: -len(end)]
            cut += "i" if end in {"ied", "ies"} else ""
            doubled = len(cut) > _SHORT and cut[-1] == cut[-2] and end in {"ing", "ed", "ings"}
            cut = cut[:-1] if doubled else cut
            word = cut
            break
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > _SHORT else word.rstrip("e")


_SAME = {other: first for first, others in w.SAME for other in others.split()}
_SAME_STEMS = {_cut(other): _cut(first) for first, others in w.SAME for other in others.split()}
_OPPOSITES = {
    stem(word): (stem(first), affirmed)
    for first, second in w.OPPOSITES
    for word, affirmed in ((second, False), (first, True))
}


ALIKE = 0.6
"""The share of content words that two statements about the same thing have in common."""
ALIKE_BUT_FOR_NUMBERS = 0.7
_FEWEST_ELSEWHERE = 2
"""Content words and names of requests about different code that can be the same."""
_EXACT = re.compile(r"\d+|\w[+#]+")
ALIKE_LETTERS = 0.86
"""How alike two words must be spelled to be one."""
NEAR_LINES = 5
_PREFIX = 4


class Relation(StrEnum):
    """The relation of two statements."""

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


def relate(first: ComparedStatement, second: ComparedStatement) -> Relation:
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


def asks_the_same_elsewhere(first: ComparedStatement, second: ComparedStatement) -> bool:
    """Whether two titles of work on different code ask for the same.

    Every content word of one has its match in the other, in the same order; so have numbers and
    names of code. Paths do not count: they differ between repositories.
    """
    names = _names(first)
    if names != _names(second) or _numbers(first) != _numbers(second):
        return False
    if len(first.words) + len(names) < _FEWEST_ELSEWHERE:
        return False
    overlap = _overlap(first, second)
    all_agree = overlap.agreeing == len(first.words) == len(second.words)
    return all_agree and not overlap.opposed and _in_one_order(first, second)


def _names(statement: ComparedStatement) -> list[str]:
    """Names of code, in the order of the text."""
    evidence, text = statement.evidence, statement.text
    return sorted({*evidence.symbols, *evidence.commands}, key=lambda name: (text.find(name), name))


def _numbers(statement: ComparedStatement) -> list[str]:
    """Numbers, and words such as `C++`, in the order of the text."""
    return [*_EXACT.findall(without_evidence(statement.text)), *sorted(statement.numbers)]


def _in_one_order(first: ComparedStatement, second: ComparedStatement) -> bool:
    places = {word: at for at, word in enumerate(second.words)}
    order = [places[word] for word in first.words if word in places]
    return order == sorted(order)


def _differ(first: Sequence[str], second: Sequence[str]) -> bool:
    return bool(first and second and not set(first) & set(second))


def about_the_same(first: Evidence, second: Evidence) -> bool:
    """Whether two pieces of evidence mean the same place or thing."""
    if _differ(first.symbols, second.symbols):
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
    first_citations = [citation for citation in first.citations if citation.path == path]
    second_citations = [citation for citation in second.citations if citation.path == path]
    if not first_citations or not second_citations:
        return True
    return any(
        mine.near(other, NEAR_LINES) for mine in first_citations for other in second_citations
    )


def _overlap(first: ComparedStatement, second: ComparedStatement) -> _Overlap:
    first_words, second_words = first.words, second.words
    shared = first_words.keys() & second_words.keys()
    matched = [(word, word) for word in shared]
    opposed = sum(_opposed(first.opposites.get(w), second.opposites.get(w)) for w in shared)
    free = second_words.keys() - shared
    for word in sorted(first_words.keys() - shared) if free else ():
        twin, is_denial = _twin(word, free)
        if twin is not None:
            matched.append((word, twin))
            free.remove(twin)
            opposed += is_denial
    agreeing = sum(_agree(first_words[word], second_words[twin]) for word, twin in matched)
    return _Overlap(_share(first, second, matched), agreeing, len(matched) - agreeing, opposed)


def _share(
    first: ComparedStatement, second: ComparedStatement, matched: list[tuple[str, str]]
) -> float:
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
    from rapidfuzz.distance import Indel

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
