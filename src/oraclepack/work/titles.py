"""Titles: the words of a statement, shortened to one line and never to their opposite."""

import re

from oraclepack.answers.sentences import sentence_spans

LONGEST = 80
_SHORTEST = 20
"""Characters; a shorter first sentence ("Yes.") takes the next one along."""
_BOLD = re.compile(r"(?<![\w/*])\*\*(?=[^\s*/])(.+?)(?<=[^\s*/])\*\*(?![\w/*])", re.DOTALL)
_LEAD = re.compile(r"\*\*(?=[^\s*/])(?P<lead>.+?)(?<=[^\s*/])\*\*(?![\w/*])", re.DOTALL)
_START = re.compile(r"(?:#{1,6} +|\[[ xX]\] +|[-*+•] +|\(?\d{1,2}[.)] +|\|\s*)+")
_PATTERN = re.compile(r"\"[^\"]*[\\|][^\"]*\"|'[^']*[\\|][^']*'|\S*(?:\\\S|\w\|\S)\S*")
"""What no title can hold: a regular expression, alternatives between bars."""
CONTRAST = re.compile(
    r"\b(?:but|however|although|except|unless|cannot|not|never|no)\b|n[’']t\b", re.IGNORECASE
)
"""Words after which a sentence takes back or denies what it says before or after."""
_JOINS = re.compile(r"but|however|although|except|unless", re.IGNORECASE)
_CLAUSE = re.compile(r"(?: [—–-] |[—–]|; |: |, | \()")
_DANGLING = re.compile(
    r"(?:[\s,;:(\[{—–&=/+-]|\b(?:a|an|the|and|or|of|to|in|on|at|by|for|from|with|that|which|is|are"
    r"|was|were|be|as|if|its|via|when|where|while|because|so|than|into|e\.g|i\.e)\b\.?)+$",
    re.IGNORECASE,
)
_FEWEST_AFTER = 4
"""Words of a title after a contrast, where there are as many."""
_LATE = 42
"""Characters for a contrast that comes late; the beginning of its sentence has the rest."""
_ELLIPSIS = " … "


def without_emphasis(text: str) -> str:
    """A text without the marks of bold text; `__call__` and `src/**` stay as they are."""
    return _BOLD.sub(r"\1", text)


def title_of(text: str, longest: int = LONGEST) -> str:
    """The bold lead of a statement or its first clause, with the contrast that follows it."""
    start = _START.match(text.lstrip())
    body = text.lstrip()[start.end() if start is not None else 0 :]
    lead = _LEAD.match(body)
    sentence = _first_sentence(_flat(body))
    head = _flat(lead["lead"]).rstrip(" .:;,") if lead is not None else ""
    if not sentence.startswith(head) or len(head) < _SHORTEST // 2:
        head = ""
    return _capitalised(_fitted(sentence, head, longest))


def _flat(text: str) -> str:
    plain = " ".join(without_emphasis(text).replace("`", "").split())
    return re.sub(r"(?:… ?){2,}", "… ", _PATTERN.sub("…", plain))


def _first_sentence(text: str) -> str:
    end = 0
    for _, end in sentence_spans(text):
        if end >= _SHORTEST:
            break
    return text[:end].strip()


def _fitted(sentence: str, head: str, longest: int) -> str:
    contrast = CONTRAST.search(sentence)
    is_told_by_head = head and (contrast is None or contrast.end() <= len(head))
    whole = head if is_told_by_head else _trimmed(sentence)
    if len(whole) <= longest:
        return whole
    if contrast is None:
        return _cut(whole, longest)
    after = _end_of_words(sentence, contrast.end(), _FEWEST_AFTER)
    if after <= longest:
        return _cut(sentence, longest, at_least=after)
    rest = _cut(sentence[_contrast_start(sentence, contrast) :], _LATE, at_least=_LATE // 2)
    room = longest - len(rest) - len(_ELLIPSIS)
    before = head if head and len(head) <= room else sentence[: contrast.start()]
    return f"{_cut(before, room, at_least=room)}{_ELLIPSIS}{rest}"


def _contrast_start(sentence: str, contrast: re.Match[str]) -> int:
    """Where the part begins that a contrast makes: at "but", at the verb before "not"."""
    start = sentence.rfind(" ", 0, contrast.start()) + 1
    if start < contrast.start() or _JOINS.fullmatch(contrast[0]):
        return start  # "doesn't" begins before its contrast
    before = sentence[: contrast.start()].rstrip()
    return before.rfind(" ") + 1 if before[-1:].isalpha() else start


def _end_of_words(text: str, at: int, count: int) -> int:
    """Where the next words end."""
    for match in re.finditer(r"\S+", text[at:]):
        count -= 1
        if not count:
            return at + match.end()
    return len(text)


def _cut(text: str, longest: int, at_least: int = 0) -> str:
    """The text up to a clause or a word, `longest` characters at most."""
    if len(text) <= longest:
        return _trimmed(text)
    ends = [match.start() for match in _CLAUSE.finditer(text, 0, longest + 1)]
    end = next((end for end in reversed(ends) if end >= max(at_least, longest // 2)), 0)
    if not end:
        end = text.rfind(" ", 0, longest + 1)
        opened = text.rfind(" (", 0, end)
        if opened >= max(at_least, _SHORTEST) and ")" not in text[opened:end]:
            end = opened
    return _trimmed(text[: end if end > 0 else longest])


def _trimmed(text: str) -> str:
    bare = text.strip().rstrip(" .,;:…")
    opened = bare.rfind("(")
    if opened > _SHORTEST and ")" not in bare[opened:] and not CONTRAST.search(bare, opened):
        bare = bare[:opened]
    shorter = _DANGLING.sub("", bare)
    return shorter if len(shorter) > _SHORTEST // 2 else bare


def _capitalised(title: str) -> str:
    word = title.split(" ", 1)[0]
    return title[:1].upper() + title[1:] if word.isalpha() and word.islower() else title
