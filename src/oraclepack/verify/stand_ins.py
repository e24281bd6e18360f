"""Signs that something stands in for an answer: a placeholder, a refusal, the page's own words."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from oraclepack.pack.answer_sections import normalise
from oraclepack.system.text_limits import regex
from oraclepack.verify.outline import Part
from oraclepack.verify.suspicion import Suspicion

PLACEHOLDERS = frozenset(
    {
        "answer now",
        "analyzing",
        "generating",
        "loading",
        "lorem ipsum",
        "placeholder",
        "pro thinking",
        "reasoning",
        "tbd",
        "thinking",
        "todo",
    }
)
"""What chat pages and drafts show while there is no answer yet."""

_ALONE = PLACEHOLDERS | {"n a", "none"}
"""Below a heading these may be an answer; as the whole of one they are not."""

PAGE_WORDS = (
    "something went wrong",
    "error in message stream",
    "an error occurred",
    "network error",
    "there was an error generating a response",
    "this conversation could not be loaded",
    "too many requests",
)
"""How a chat page begins when it has no answer to show, folded."""

_REFUSAL = regex(
    r"(?:i m|i am|sorry|unfortunately)?\b.{0,20}\bi?\s?(?:can t|cannot|can not|won t|am unable to"
    r"|m unable to)\s(?:\w+ )?(?:help|assist|give|provide|answer|access|open|read|comply)\b"
)
_TEMPLATE = regex(
    r"^\W*[\[<{][^\]>}]*\b(?:here|your|insert|todo|tbd|fill)\b[^\]>}]*[\]>}]\W*$", re.IGNORECASE
)
_SHORT = 600
"""No longer is a refusal or the text of an error page."""


def stand_ins(parts: Sequence[Part]) -> Iterator[Suspicion]:
    """Parts without an answer, and answers that are none."""
    whole = len(parts) == 1
    for part in parts:
        if part.body and _is_placeholder([line for _, line in part.body], alone=whole):
            number, line = part.body[0]
            yield Suspicion("placeholder", f"nothing but {line.strip()!r} stands here", number)
    yield from _empty(parts)
    yield from _refusal(parts)


def _empty(parts: Sequence[Part]) -> Iterator[Suspicion]:
    last = parts[-1]
    told = {section for part in parts if part.body for section in part.sections}
    for part, following in pairwise(parts):
        named = part.sections
        # A section may begin with a heading of its own, and be listed before it is told.
        ends = not part.body and following.sections - named
        if ends and named and not named & told:
            yield Suspicion("empty_section", "a section without any text", part.line)
    if last.line and not last.body:
        yield Suspicion("cut_off", "it ends with a heading and nothing below it", last.line)


def _is_placeholder(lines: Sequence[str], *, alone: bool) -> bool:
    if not any(map(normalise, lines)):
        return True
    if len(lines) > 1:
        return False
    known = _ALONE if alone else PLACEHOLDERS
    return normalise(lines[0]) in known or _TEMPLATE.match(lines[0]) is not None


def _refusal(parts: Sequence[Part]) -> Iterator[Suspicion]:
    """An answer that begins by saying that it is none."""
    first = parts[0].body
    if len(parts) > 1 or not first or sum(len(line) for _, line in first) > _SHORT:
        return
    opening = normalise(first[0][1])
    if opening.startswith(PAGE_WORDS):
        yield Suspicion("placeholder", "the words of an error page, not of an answer", first[0][0])
    elif _REFUSAL.match(opening):
        yield Suspicion("refusal", "it begins by refusing to answer", first[0][0])
