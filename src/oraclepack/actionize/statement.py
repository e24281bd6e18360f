"""A statement reduced to what can be compared: its words with their sign, numbers, evidence."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from oraclepack.actionize import words as w
from oraclepack.actionize.evidence import find_evidence, without_evidence
from oraclepack.actionize.intent import is_action
from oraclepack.core.evidence import Evidence

MOST_WORDS = 60
"""What is said in more words than this is compared by its beginning."""
_SHORT = 3

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*|[,;:.!?()—–]")
_ENDS = ("ations", "ation", "ings", "ing", "ment", "edly", "ied", "ies", "ed", "ly", "es", "s", "e")
_SEGMENT = re.compile(r"(?<=[.;:!?])\s+")
_PHRASES = dict(w.PHRASES)
_PHRASE = re.compile(rf"\b(?:{'|'.join(map(re.escape, _PHRASES))})")
_MARKS = ",;:.!?()—–"


class Statement(msgspec.Struct, frozen=True):
    """What somebody said about some evidence."""

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


def statement_of(text: str, evidence: Evidence | None = None) -> Statement:
    """Read a statement; its evidence is what it names, unless more is known."""
    found = find_evidence(text) if evidence is None else evidence
    reading = _Reading()
    segments = [part for part in _SEGMENT.split(text) if part.strip()]
    requests = [part for part in segments if is_action(part)]
    for part in sorted(segments, key=lambda part: part not in requests):
        is_reason = bool(requests) and part not in requests
        for clause in _clauses(_tokens(part)):
            reading.take(clause, is_reason=is_reason)
    return Statement(
        text,
        found,
        bool(requests),
        reading.words,
        frozenset(reading.core if requests else reading.words),
        reading.opposites,
        frozenset(reading.numbers),
    )


def _tokens(text: str) -> list[str]:
    spoken = without_evidence(text).lower().replace("’", "'")
    plain = _PHRASE.sub(lambda phrase: _PHRASES[phrase[0]], " ".join(spoken.split()))
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
