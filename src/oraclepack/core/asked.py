"""What a prompt asks for: an answer in sections, or a single one of them."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from oraclepack.core.sections import Section, mentions, normalise, sections_named
from oraclepack.system.text_limits import regex

ANSWER_FORMAT = "answer format"
"""The words that promise an answer in sections."""


class Asked(msgspec.Struct, frozen=True):
    """What a text asks for. Lines are offsets from its first line, which is 0."""

    format_line: int | None = None
    """Where the words "Answer format" stand first, if they do."""
    only: Section | None = None
    """The single section that is asked for."""
    only_line: int = 0
    phrase: str = ""
    """The line that asks for it."""


class Phrasing(msgspec.Struct, frozen=True):
    """One way to ask for a single section: an example, and the pattern that finds it."""

    example: str
    words: str
    """What every match holds, in lower case."""
    pattern: re.Pattern[str]


_SECTION = "output section"


def _phrasing(example: str, words: str, pattern: str = r"\b{}\b(?P<rest>.*)") -> Phrasing:
    return Phrasing(example, words, regex(pattern.format(words), re.IGNORECASE))


PHRASINGS = (
    _phrasing("Return only: Direct answer", "return only"),
    _phrasing("Only return the direct answer", "only return"),
    _phrasing("Output only: Risks/unknowns", "output only"),
    _phrasing("Only output the next experiment", "only output"),
    _phrasing("Write only the missing evidence", "write only"),
    _phrasing("Only write the direct answer", "only write"),
    _phrasing("Answer only with the direct answer", "answer only with"),
    _phrasing("Respond only with the direct answer", "respond only with"),
    _phrasing("Output section: Direct answer", _SECTION, r"^\W*{}\s*:(?P<rest>.*)"),
)
"""Words followed by the one section they ask for. "Direct answer only" is found besides."""

_LONGEST_LIST = 12
_SENTENCE_END = regex(r"[.;!?](?=\s|$)")
_ASIDE = regex(r"\([^()]*\)")
_REFUSED = regex(r"\b(?:no|not|without)\b")
_LEAD = regex(r"^(?:\d{1,2} )?(?:the |your |a |section )*")
_NEGATIONS = frozenset(("no", "not", "never", "t"))
_NEGATED = regex(r"(?:\bnot|\bnever|n[’']t)\W*$", re.IGNORECASE)


@lru_cache(maxsize=256)
def asked_for(text: str) -> Asked:
    """What a prompt or a step's text asks for.

    Conservative: two "only" phrases that ask for different sections cancel each other out, and
    a phrase that names a second section is none.
    """
    lines, lowered = text.split("\n"), text.lower().split("\n")
    both = enumerate(zip(lines, lowered, strict=True))
    promised = next((n for n, (line, low) in both if _promises(line, low)), None)
    telling = [at for at, low in enumerate(lowered) if "only" in low or _SECTION in low]
    found = [(at, section) for at in telling for section in _only(lines, at)]
    if len({section for _, section in found}) == 1:
        at, section = found[0]
        return Asked(promised, section, at, lines[at].strip())
    return Asked(promised)


def _promises(line: str, lowered: str) -> bool:
    # Folding every line of every prompt would be a tenth of the time a long pack takes.
    if "format" not in lowered and line.isascii():
        return False
    return mentions(normalise(line), (ANSWER_FORMAT,))


def _only(lines: Sequence[str], at: int) -> Iterator[Section]:
    """The single section that one line asks for, once for each phrase that does."""
    line = lines[at]
    lowered = line.lower()
    # Beyond ASCII a pattern takes more letters for the same than lower case does.
    possible = [each for each in PHRASINGS if each.words in lowered or not line.isascii()]
    for phrasing in possible:
        match = phrasing.pattern.search(line)
        if match is None or _NEGATED.search(line[: match.start()]):
            continue
        rest = match["rest"]
        wanted = rest if normalise(rest) else "\n".join(_paragraph(lines, at + 1))
        section = _the_one(wanted)
        if section is not None:
            yield section
    for sentence in _SENTENCE_END.split(_ASIDE.sub(" ", line)):
        folded = normalise(sentence)
        if folded.endswith(" only"):
            yield from _closing(folded.removesuffix(" only").removesuffix(" section"))


def _paragraph(lines: Sequence[str], start: int) -> Iterator[str]:
    """The lines up to the next empty one: "Return only:" may be followed by a list."""
    for line in lines[start : start + _LONGEST_LIST]:
        if not line.strip():
            return
        yield line


def _the_one(wanted: str) -> Section | None:
    """The section a phrase asks for, if it begins with one and names no other."""
    first = _SENTENCE_END.split(_ASIDE.sub(" ", wanted))[0]
    folded = _REFUSED.split(normalise(first))[0].strip()
    opening = _LEAD.sub("", folded, count=1)
    named = sections_named(folded)
    begun = [s for s in named if any(opening.startswith(wording) for wording in s.wordings)]
    return begun[0] if len(named) == 1 and begun else None


def _closing(head: str) -> Iterator[Section]:
    """The section a sentence "… only" ends with, if it names no other."""
    named = sections_named(head)
    if len(named) == 1 and _NEGATIONS.isdisjoint(head.split()):
        yield from (s for s in named if any(head.endswith(wording) for wording in s.wordings))
