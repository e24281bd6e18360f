"""Questions that ask nearly the same: compared by the words that carry meaning."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import msgspec

from oraclepack.lint.quoted_evidence import without_evidence
from oraclepack.pack.model import HEADER_FIELDS, META_BLOCK, META_OPENS, Step
from oraclepack.pack.script import Span
from oraclepack.pack.tool_call import Prompt, ToolCall

SIMILAR = 0.9
"""The share of words, in their order, that two questions have in common when they are alike."""
MOST_QUESTIONS = 200
"""A pack with more is refused anyway; comparing each with each would take too long."""
_MOST_WORDS = 2_000
_EXACT = 1e-9

_FIELD = re.compile(rf"\s*(?:{'|'.join((*HEADER_FIELDS, 'QuestionId'))})\s*[:=]", re.IGNORECASE)
_TOKEN = re.compile(r"[\w./:#-]*\w(?:\(\))?")
_NAME = re.compile(r"[/_.:(]|(?<=[a-z])[A-Z]|[a-zA-Z]\d")
"""What makes a token a name from the code: a path, a symbol, a call, a version."""
_ZEROS = str.maketrans("123456789", "000000000")
_SMALL_WORDS = frozenset(
    {
        *("a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can"),
        *("could", "do", "does", "for", "from", "had", "has", "have", "how", "if", "in"),
        *("into", "is", "it", "its", "may", "might", "of", "on", "or", "should", "so", "such"),
        *("than", "that", "the", "their", "them", "then", "there", "these", "they", "this"),
        *("those", "to", "was", "we", "were", "what", "when", "where", "which", "who", "will"),
        *("with", "would"),
    }
)


_Calls = Sequence[Sequence[ToolCall]]
"""The calls of a step, by question."""
_Row = tuple[str, str]
"""A line of a prompt, and the form in which prompts may share it."""


class QuestionWords(msgspec.Struct, frozen=True):
    """What one question of a step says, reduced to what can be compared."""

    step: Step
    span: Span
    words: tuple[str, ...]
    """What is its own: without the lines that most prompts share."""
    distinct: frozenset[str]
    names: frozenset[str]
    text: str
    """All of it, for where none of the words is its own."""


class Pair(msgspec.Struct, frozen=True):
    """A question and the earlier one that it repeats."""

    first: QuestionWords
    again: QuestionWords


def duplicates(steps: Sequence[Step], calls: Sequence[_Calls]) -> Iterator[Pair]:
    """Each question that repeats one of another step, with the first that it repeats."""
    asked_questions = [*_questions(steps, calls)]
    if not 1 < len(asked_questions) <= MOST_QUESTIONS:
        return
    texts = [_rows(without_evidence(prompt.text)) for _, prompt in asked_questions]
    shared = _shared(texts)
    questions = [
        _question(step, prompt, rows, shared)
        for (step, prompt), rows in zip(asked_questions, texts, strict=True)
    ]
    for index, question in enumerate(questions):
        for earlier in questions[:index]:
            if earlier.step.id != question.step.id and _alike(earlier, question):
                yield Pair(earlier, question)
                break


def _questions(steps: Sequence[Step], calls: Sequence[_Calls]) -> Iterator[tuple[Step, Prompt]]:
    """The prompt of each question whose whole text is known."""
    for step, groups in zip(steps, calls, strict=True):
        for group in groups:
            prompt = group[0].prompt
            if prompt is not None and prompt.complete:
                yield step, prompt


def _rows(text: str) -> list[_Row]:
    own = META_BLOCK.sub("", text) if META_OPENS in text else text
    # The whole text at once, and without a pattern: a prompt has many lines.
    masked = own.lower().translate(_ZEROS)
    while "00" in masked:
        masked = masked.replace("00", "0")
    return [
        (line, " ".join(folded.split()))
        for line, folded in zip(own.splitlines(), masked.splitlines(), strict=True)
        if not _is_field(line)
    ]


def _is_field(line: str) -> bool:
    return ("=" in line or ":" in line) and _FIELD.match(line) is not None


def _shared(texts: Sequence[Sequence[_Row]]) -> frozenset[str]:
    """The lines that more than half of the prompts have, whatever the numbers in them."""
    counts = Counter(masked for rows in texts for masked in {masked for _, masked in rows})
    return frozenset(line for line, times in counts.items() if times * 2 > len(texts))


def _question(
    step: Step, prompt: Prompt, rows: Sequence[_Row], shared: frozenset[str]
) -> QuestionWords:
    own = _tokens(line for line, masked in rows if masked not in shared)
    names = frozenset(token for token in set(own) if _NAME.search(token))
    words = _words(own)
    text = "\n".join(line for line, _ in rows)
    return QuestionWords(step, prompt.span, words, frozenset(words), names, text)


def _tokens(lines: Iterable[str]) -> list[str]:
    return _TOKEN.findall("\n".join(lines))


def _words(tokens: Sequence[str]) -> tuple[str, ...]:
    # Thousands of tokens: all are lowered at once, and only what ends in a digit may be a number.
    lowered = "\n".join(tokens).lower().split("\n") if tokens else []
    significant = (
        t for t in lowered if t not in _SMALL_WORDS and not (t[-1].isdigit() and _number(t))
    )
    return tuple(islice(significant, _MOST_WORDS))


@lru_cache(maxsize=MOST_QUESTIONS)
def _whole(text: str) -> tuple[str, ...]:
    return _words(_TOKEN.findall(text))


def _number(token: str) -> bool:
    return token.strip("#.:-").isdigit()


def _alike(first: QuestionWords, second: QuestionWords) -> bool:
    if not first.words and not second.words:
        # Nothing of their own: the same words about other files are the same question.
        return _whole(first.text) == _whole(second.text) != ()
    if first.names != second.names:
        return False
    # Words that only one of them has bound the result from above: most pairs end here.
    most = len(first.words) + len(second.words)
    if len(first.distinct ^ second.distinct) > (1 - SIMILAR) * most + _EXACT:
        return False
    return _similarity(first.words, second.words) >= SIMILAR


def _similarity(first: tuple[str, ...], second: tuple[str, ...]) -> float:
    # Loaded only when two questions come close to each other.
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(first, second, score_cutoff=SIMILAR)
