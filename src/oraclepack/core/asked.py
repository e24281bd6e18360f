"""What a prompt asks for: an answer in sections, or a single one of them."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from oraclepack.core.regex import regex
from oraclepack.core.sections import Section, mentions, normalise, sections_named

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
    pattern: re.Pattern[str]


def _phrasing(example: str, pattern: str) -> Phrasing:
    return Phrasing(example, regex(pattern, re.IGNORECASE))


PHRASINGS = (
    _phrasing("Return only: Direct answer", r"\breturn only\b(?P<rest>.*)"),
    _phrasing("Only return the direct answer", r"\bonly return\b(?P<rest>.*)"),
    _phrasing("Output only: Risks/unknowns", r"\boutput only\b(?P<rest>.*)"),
    _phrasing("Only output the next experiment", r"\bonly output\b(?P<rest>.*)"),
    _phrasing("Write only the missing evidence", r"\bwrite only\b(?P<rest>.*)"),
    _phrasing("Only write the direct answer", r"\bonly write\b(?P<rest>.*)"),
    _phrasing("Answer only with the direct answer", r"\banswer only with\b(?P<rest>.*)"),
    _phrasing("Respond only with the direct answer", r"\brespond only with\b(?P<rest>.*)"),
    _phrasing("Output section: Direct answer", r"^\W*output section\s*:(?P<rest>.*)"),
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
    lines = text.split("\n")
    promised = next((n for n, line in enumerate(lines) if _promises(line)), None)
    found = [(at, section) for at in range(len(lines)) for section in _only(lines, at)]
    if len({section for _, section in found}) == 1:
        at, section = found[0]
        return Asked(promised, section, at, lines[at].strip())
    return Asked(promised)


def _promises(line: str) -> bool:
    # Folding every line of every prompt would be a tenth of the time a long pack takes.
    if line.isascii() and "format" not in line.lower():
        return False
    return mentions(normalise(line), (ANSWER_FORMAT,))


def _only(lines: Sequence[str], at: int) -> Iterator[Section]:
    """The single section that one line asks for, once for each phrase that does."""
    line = lines[at]
    lowered = line.lower()
    if "only" not in lowered and "output section" not in lowered:
        return
    for phrasing in PHRASINGS:
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
