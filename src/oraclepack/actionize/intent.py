"""What a sentence is after: it asks for work, says that none is needed, or cannot tell."""

import re
from functools import lru_cache

from oraclepack.actionize.verbs import (
    AMBIGUOUS,
    CANNOT_TELL,
    ENDS_AS_REQUEST,
    IMPERATIVES,
    LABELS,
    MODALS,
    NO_ACTION,
    NOTHING,
    OBJECTS,
    OPENERS,
    SEQUENCE,
    STATES,
)

_CODE = re.compile(r"`[^`]*`")
_LABEL = re.compile(
    r"(?:[-–—•*]\s*)?(?P<label>[^\W\d_][\w /’'-]{0,30}?)\s*(?:\(\S{0,20}\))?\s*[:：—–]\s"
)
_NUMBERED = re.compile(r"(?:step\s+)?\(?\d{1,3}[.):]\s+|p\d\s*[:—–-]\s*", re.IGNORECASE)
_PLACED = re.compile(
    r"(?:in|at|on|for|inside|within|dans|en|nel|nella|em)\s+(?:the\s+)?(?:file\s+)?`[^`]*`"
    r"[^,:;`]{0,40}[,:]\s*",
    re.IGNORECASE,
)
_LEADING_PLACE = re.compile(
    r"(?:`[^`]*`|[\w./-]{1,120}\.\w{1,10}(?::\d+(?:[-–]\d+)?)?)\s*[:：—–]\s+"
)
_SUBORDINATE = re.compile(
    r"(?:if|when|to|after|before|while|once|until|as|for|by|during|because|since|wenn|um|nach|vor|"
    r"si|quand|pour|avant|après|cuando|para|antes|después|se|quando|prima|dopo)\b[^,;]{2,120},\s*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|`|\d+")
_NEGATED = re.compile(r"(?:do not|don['’]t|never|stop|avoid|ne|não|non)\s", re.IGNORECASE)
_TELLS = re.compile(r"\b(?:never|always|can|cannot|will|may|might|only)\b")
_EDGE = " \t*_-–—•>.:"


@lru_cache(maxsize=20_000)
def is_action(sentence: str) -> bool:
    """It asks somebody to do something: an imperative, or a "should"."""
    text = sentence.strip(_EDGE)
    if not text or text.endswith("?") or says_no_action(text):
        return False
    if _labelled(text) or MODALS.search(_CODE.sub("`", text)):
        return True
    bare = _without_openers(text)
    return any(_is_imperative(form) for form in (bare, _SUBORDINATE.sub("", bare, count=1)))


def says_no_action(sentence: str) -> bool:
    """It says that there is nothing to do."""
    return NO_ACTION.search(sentence) is not None


def cannot_tell(sentence: str) -> bool:
    """It says that the evidence does not answer the question."""
    return CANNOT_TELL.search(sentence) is not None


def says_nothing(text: str) -> bool:
    """It only fills a section: "None", "n/a"."""
    bare = text.strip(_EDGE + "()")
    return not bare or NOTHING.fullmatch(bare) is not None


def follows_another(sentence: str) -> bool:
    """It begins as the next of several steps: "Then …", "Afterwards …"."""
    return SEQUENCE.match(sentence.strip(_EDGE)) is not None


def _labelled(text: str) -> bool:
    label = _LABEL.match(text)
    return label is not None and label["label"].lower().strip() in LABELS


def _without_openers(text: str) -> str:
    """A sentence without numbering, label, "please" and the place it speaks of."""
    before = ""
    while before != text:
        before = text
        text = _NUMBERED.sub("", text, count=1) if _NUMBERED.match(text) else text
        opener = OPENERS.match(text)
        text = text[opener.end() :] if opener is not None else text
        placed = _PLACED.match(text) or _LEADING_PLACE.match(text)
        text = text[placed.end() :] if placed is not None else text
        label = _LABEL.match(text)
        # `Cache: add a lock` names its subject first.
        text = text[label.end() :] if label is not None else text
    return text


def _is_imperative(text: str) -> bool:
    if _NEGATED.match(text) and not STATES.search(_CODE.sub("`", text)):
        return True
    tokens = [token.lower() for token in _WORD.findall(_CODE.sub("`", text))[:14]]
    if not tokens:
        return False
    first, second = tokens[0], tokens[1] if len(tokens) > 1 else ""
    if first in AMBIGUOUS:
        rest = " ".join(tokens[1:])
        return second in OBJECTS or not (STATES.search(rest) or _TELLS.search(rest))
    return first in IMPERATIVES or ENDS_AS_REQUEST.search(text.rstrip(" .!。")) is not None
