"""The four parts of an answer, and how to see whether a text has them."""

import unicodedata
from collections.abc import Iterable, Iterator
from enum import StrEnum

from oraclepack.core.regex import regex


class Section(StrEnum):
    """One part of an answer, named as in file names: `01-surface-direct-answer.md`."""

    DIRECT_ANSWER = "direct-answer"
    RISKS_UNKNOWNS = "risks-unknowns"
    NEXT_EXPERIMENT = "next-experiment"
    MISSING_EVIDENCE = "missing-evidence"

    @property
    def heading(self) -> str:
        """How we write it ourselves."""
        return _HEADINGS[self]

    @property
    def wordings(self) -> tuple[str, ...]:
        """What counts as this section, after `normalise`."""
        return _WORDINGS[self]


_HEADINGS = {
    Section.DIRECT_ANSWER: "Direct answer",
    Section.RISKS_UNKNOWNS: "Risks/unknowns",
    Section.NEXT_EXPERIMENT: "Next smallest concrete experiment",
    Section.MISSING_EVIDENCE: "Missing evidence",
}
_WORDINGS = {
    Section.DIRECT_ANSWER: ("direct answer",),
    Section.RISKS_UNKNOWNS: ("risks unknowns", "risks and unknowns"),
    Section.NEXT_EXPERIMENT: ("next smallest concrete experiment", "next experiment"),
    Section.MISSING_EVIDENCE: ("if evidence is insufficient", "missing evidence"),
}
ALL_SECTIONS = tuple(Section)

_FOLDED = regex(r"[\W_]+")
FENCE = regex(r" {0,3}(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
"""The first or last line of a code block."""
_ATX = regex(r" {0,3}#{1,6}(?:[ \t]+(?P<text>.*))?$")
_UNDERLINE = regex(r" {0,3}(?:=+|-{2,})[ \t]*$")
_BOLD = regex(r"\s*(?:[-*+]\s+)?(?:\d{1,3}[.)]\s*)?(?P<mark>\*\*|__)(?P<text>.+?)(?P=mark)")
_NUMBERED = regex(r"\s*\d{1,3}[.)]\s+(?P<text>.*)")


def normalise(text: str) -> str:
    """Lower case, with every run of punctuation and spaces folded into one space."""
    return _FOLDED.sub(" ", unicodedata.normalize("NFKC", text).lower()).strip()


def mentions(folded: str, wordings: Iterable[str]) -> bool:
    """A normalised text holds one of the wordings.

    A wording begins where a word begins ("indirect answer" is none) but may be continued
    ("direct answers" is one).
    """
    padded = f" {folded}"
    return any(f" {wording}" in padded for wording in wordings)


def sections_named(folded: str) -> frozenset[Section]:
    return frozenset(section for section in Section if mentions(folded, section.wordings))


def sections_present(text: str, *, require_headings: bool = False) -> frozenset[Section]:
    """The sections a text has: named anywhere, or in a heading of their own."""
    if not require_headings:
        return sections_named(normalise(text))
    return frozenset(section for line in headings(text) for section in sections_named(line))


def missing_sections(
    text: str, wanted: Iterable[Section], *, require_headings: bool = False
) -> tuple[Section, ...]:
    """What is wanted and not there, in the order of the sections."""
    lacking = set(wanted) - sections_present(text, require_headings=require_headings)
    return tuple(section for section in Section if section in lacking)


def headings(text: str) -> Iterator[str]:
    """The headings of an answer, normalised: ATX, underlined, a bold start, a numbered line.

    Lines inside code fences are none. A numbered line counts only when it begins with a section,
    since the items of any list look the same.
    """
    lines = ["" if block else line for _, line, block in numbered(text.splitlines())]
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        folded = normalise(line)
        if (marked := _ATX.match(line) or _BOLD.match(line)) is not None:
            yield normalise(marked["text"] or "")
        elif folded and _UNDERLINE.match(following):
            yield folded
        elif (item := _NUMBERED.match(line)) is not None:
            words = normalise(item["text"])
            if any(words.startswith(wording) for part in Section for wording in part.wordings):
                yield words


def numbered(lines: Iterable[str]) -> Iterator[tuple[int, str, int]]:
    """Each line with its number, and that of the line which opens its code block; 0 for none."""
    fence, opened = "", 0
    for number, line in enumerate(lines, start=1):
        mark = FENCE.match(line)
        if mark is not None and not opened:
            fence, opened = mark["mark"], number
            yield number, line, opened
            continue
        yield number, line, opened
        if mark is not None and mark["mark"].startswith(fence) and not mark["info"].strip():
            opened = 0
