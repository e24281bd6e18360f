"""Sentences and code inside the text of an answer, found without changing it."""

import re
from collections.abc import Iterator
from functools import lru_cache

from oraclepack.system.markdown_text import code_spans

_END = re.compile(
    r"(?<!\.)[.!?](?!\.)[\"”’*_)\]]{0,6}"
    r"(?=\s{1,9}[\"“‘(\[*_`]{0,6}(?:[A-Z0-9`]|[a-z]\w{0,60}(?:\(|\.\w))|\s*$)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|incl|esp|approx|no|fig|resp|al)|\b[A-Z])$", re.IGNORECASE
)
_SPACE = re.compile(r"\s*")
_LONGEST_ABBREVIATION = 12
_OPENING, _CLOSING = "([{", ")]}"
_CALL = re.compile(r"[\w$\]]\((?=\s|$|[,.;:)])|[:;]-?\)")
"""The open bracket of a function that is only named: `save( call sites`."""
_CODE_FILL = "\0"


def word_set(words: str) -> frozenset[str]:
    """The words of a string, as a set."""
    return frozenset(words.split())


@lru_cache(maxsize=4_000)
def masked(text: str) -> str:
    """The text, every character of its inline code replaced; places stay the same."""
    parts: list[str] = []
    at = 0
    for start, end, _ in code_spans(text):
        parts += (text[at:start], "`", _CODE_FILL * (end - start - 2), "`")
        at = end
    return "".join((*parts, text[at:]))


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end; never inside code or brackets."""
    mask = masked(text)
    depths = _depths(mask)
    last = len(mask.rstrip())
    start = 0
    for match in _END.finditer(mask, 0, last):
        end = match.end()
        before = mask[max(start, match.start() - _LONGEST_ABBREVIATION) : match.start()]
        if end < last and _ABBREVIATION.search(before):
            continue
        if end < last and depths[match.start()] > depths[start]:
            continue
        yield start, end
        start = _SPACE.match(mask, end).end()  # type: ignore[union-attr]  # matches anywhere
    if start < last:
        yield start, last


def sentences(text: str) -> list[str]:
    """The sentences of a text, each as it is there."""
    return [text[start:end] for start, end in sentence_spans(text)]


def open_brackets(text: str) -> str:
    """The brackets that a text opens and does not close, code and bare names of calls aside."""
    stack: list[str] = []
    mask = _CALL.sub(lambda match: " " * len(match[0]), masked(text))
    for sign in mask:
        if sign in _OPENING:
            stack.append(sign)
        elif sign in _CLOSING and stack and stack[-1] == _OPENING[_CLOSING.index(sign)]:
            stack.pop()
    return "".join(stack)


def _depths(mask: str) -> list[int]:
    """For each character how many round brackets are open; one that never closes is not counted."""
    closed: dict[int, int] = {}
    stack: list[int] = []
    for position, sign in enumerate(mask):
        if sign == "(":
            stack.append(position)
        elif sign == ")" and stack:
            closed[stack.pop()] = position
    depths = [0] * (len(mask) + 1)
    change = [0] * (len(mask) + 1)
    for start, end in closed.items():
        change[start] += 1
        change[end] -= 1
    depth = 0
    for position in range(len(mask) + 1):
        depth += change[position]
        depths[position] = depth
    return depths
