"""Titles: the words of a statement, shortened to one line and never to their opposite."""

import re

from oraclepack.answers.sentences import sentence_spans

LONGEST = 80
_MOST = 1_000
"""Characters in which a title is looked for."""
_SHORTEST = 20
"""Characters; a shorter first sentence ("Yes.") takes the next one along."""
_LONGEST_TAIL = 42
"""Characters for a contrast that comes late; the beginning of its sentence has the rest."""
_FEWEST_AFTER = 3
"""Words of a title after a contrast, where its clause has as many."""
# Marks that are further apart belong to different words; without a limit the time would be square.
_BOLD = re.compile(r"(?<![\w/*])\*\*(?=[^\s*/])(.{1,400}?)(?<=[^\s*/])\*\*(?![\w/*])", re.DOTALL)
_ITALIC = re.compile(r"(?<![\w/*`.])\*(?=[A-Za-z“\"`])([^*\n]{0,400}?[\w`”\".!?)])\*(?![\w/*`.])")
_LEAD = re.compile(r"\*\*(?=[^\s*/])(?P<lead>.{1,400}?)(?<=[^\s*/])\*\*(?![\w/*])", re.DOTALL)
_START = re.compile(r"(?:#{1,6} +|\[[ xX]\] +|[-*+•] +|\(?\d{1,2}[.)] +|\|\s*)+")
_BELOW = re.compile(r"\n\s*(?:```|~~~|[-*+•] |\(?\d{1,2}[.)] )")
"""Where code or a list begins below the words that lead to it."""
_YES = re.compile(r"(?:yes|so)\s*(?:[—–:,]|\s-\s)\s*(?=\S)", re.IGNORECASE)
_PATTERN = re.compile(r"\"[^\"]*[\\|][^\"]*\"|'[^']*[\\|][^']*'|\S*(?:\\\S|\w\|\S)\S*")
"""What no title can hold: a regular expression, alternatives between bars."""
CONTRAST = re.compile(
    r"\b(?:but|however|although|except|unless|cannot|not|never|no(?!-))\b|n[’']t\b", re.IGNORECASE
)
"""Words after which a sentence takes back or denies what it says before or after."""
_JOINS = re.compile(r"\b(?:but|however|although|except|unless)\b", re.IGNORECASE)
_ASIDE = re.compile(r" \([^()]*\)(?=[\s,.;:—–]|$)")
_STRONG = re.compile(r"(?= — | – | - |—|; |: |(?<=\w)\))")
_COMMA = re.compile(r"(?=, | \()")
_PHRASE = re.compile(
    r"(?= (?:after|against|and|around|as|at|because|before|by|during|for|from|if|in|including|into"
    r"|on|or|over|so|than|that|through|to|until|via|when|where|whether|which|while|with)\b)"
)
_CLAUSE_START = re.compile(
    r"(?:[;:,] |[—–] ?|\(|\b(?:because|since|so|that|whereas|which|while)\b )"
    r"(?:(?:and|because|so|since|while|that)\b )*"
)
_FRONTED = re.compile(
    r"(?:^|[:;] )(?:after|as|at|before|by|for|if|in|once|since|when|while)\b", re.IGNORECASE
)
"""A clause that begins so says nothing by itself before its first comma."""
_DANGLING = re.compile(
    r"(?:[\s,;:(\[{—–&=/+“-]|\b(?:a|an|the|and|or|of|to|in|on|at|by|for|from|with|that|which|is"
    r"|are|was|were|be|as|if|its|via|when|where|while|because|so|than|rather|into|any|each|every|e\.g"
    r"|i\.e)\b\.?)+$",
    re.IGNORECASE,
)
_ELLIPSIS = " … "


def without_emphasis(text: str) -> str:
    """A text without the marks of bold and italic text; `__call__` and `src/**` stay."""
    return _ITALIC.sub(r"\1", _BOLD.sub(r"\1", text))


def title_of(text: str, longest: int = LONGEST) -> str:
    """The bold lead of a statement or its first clause, with the contrast that follows it."""
    text = text.lstrip()[:_MOST]
    start = _START.match(text)
    body = text[start.end() if start is not None else 0 :]
    above, *below = _BELOW.split(body, maxsplit=1)
    sentence = _first_sentence(
        _flat(" ".join((above, *below)) if len(above) < _SHORTEST else above)
    )
    lead = _LEAD.match(body)
    head = _flat(lead["lead"]).rstrip(" .:;,") if lead is not None else ""
    is_title = len(head) >= _SHORTEST // 2 and sentence.startswith(head)
    if is_title and not CONTRAST.search(sentence, len(head)):
        sentence = head
    title = _fitted(_YES.sub("", sentence, count=1) or sentence, longest)
    word = title.split(" ", 1)[0]
    return title[:1].upper() + title[1:] if word.isalpha() and word.islower() else title


def _flat(text: str) -> str:
    """A text on one line, without backquotes and patterns."""
    plain = " ".join(without_emphasis(text).replace("`", "").split())
    return re.sub(r"(?:… ?){2,}", "… ", _PATTERN.sub("…", plain))


def _first_sentence(text: str) -> str:
    end = 0
    for _, end in sentence_spans(text):
        if end >= _SHORTEST:
            break
    return text[:end].strip()


def _fitted(sentence: str, longest: int) -> str:
    """A sentence shortened in steps: its asides, its later clauses, its last phrase."""
    if len(_trimmed(sentence)) > longest:
        sentence = _ASIDE.sub(lambda one: one[0] if CONTRAST.search(one[0]) else "", sentence)
    head = _cut(sentence, longest)
    is_denied = CONTRAST.search(head) is not None
    contrast = (_JOINS if is_denied else CONTRAST).search(sentence, len(head))
    if contrast is None:
        return head
    start = _tail_start(sentence, contrast)
    tail = _cut(sentence[start:], _LONGEST_TAIL, contrast.end() - start)
    before = _cut(sentence[:start], longest - len(tail) - len(_ELLIPSIS))
    if is_denied and not CONTRAST.search(before):
        return head
    return f"{before}{_ELLIPSIS}{tail}"


def _tail_start(sentence: str, contrast: re.Match[str]) -> int:
    """Where the clause of a contrast begins, or its verb where the clause is long."""
    if _JOINS.fullmatch(contrast[0]):
        return contrast.start()
    starts = [match.end() for match in _CLAUSE_START.finditer(sentence, 0, contrast.start())]
    if starts and contrast.end() - starts[-1] <= _LONGEST_TAIL - _SHORTEST // 5:
        return starts[-1]
    before = sentence[: contrast.start()].rstrip()
    is_verb = contrast[0].lower() == "cannot" or not before[-1:].isalpha()
    return contrast.start() if is_verb else before.rfind(" ") + 1


def _cut(text: str, longest: int, fewest: int = 0) -> str:
    """The text up to a clause, a phrase or a word, and `longest` characters at most.

    What a contrast says is never cut off behind it.
    """
    if len(_trimmed(text)) <= longest:
        return _trimmed(text)
    least = fewest or longest // 2
    for contrast in CONTRAST.finditer(text, 0, longest):
        after = _end_of_contrast(text, contrast.end())
        if after > longest and contrast.start() > max(fewest, _SHORTEST):
            longest = contrast.start()
            least = min(least, longest // 2)
            break
        least = max(least, min(after, longest))
    comma = re.compile(r"(?!)") if _FRONTED.search(text, 0, longest) else _COMMA
    for boundary in (_STRONG, comma, _PHRASE):
        ends = [one.start() for one in boundary.finditer(text, 0, longest + 2)]
        ends = [end for end in ends if least <= end <= longest]
        if ends:
            return _trimmed(text[: ends[-1]])
    end = text.rfind(" ", 0, longest + 1)
    return _trimmed(text[: end if end > 0 else longest])


def _end_of_contrast(text: str, at: int) -> int:
    """Where that ends what a contrast must keep: its clause, or the next words."""
    ends = [at + match.end() for match in re.finditer(r"\S+", text[at : at + LONGEST])]
    words = ends[min(_FEWEST_AFTER, len(ends)) - 1] if ends else len(text)
    clauses = [one.search(text, at + _SHORTEST // 3) for one in (_STRONG, _COMMA)]
    is_apart = text[at : at + 1] != " "
    return min([words, *(one.start() for one in clauses if one is not None and not is_apart)])


def _trimmed(text: str) -> str:
    bare = text.strip().rstrip(" .,;:…")
    if bare.endswith(")") and "(" not in bare:
        bare = bare[:-1]
    opened = bare.rfind("(")
    if opened > _SHORTEST and ")" not in bare[opened:] and not CONTRAST.search(bare, opened):
        bare = bare[:opened]
    shorter = _DANGLING.sub("", bare)
    return shorter if len(shorter) > _SHORTEST // 2 else bare
