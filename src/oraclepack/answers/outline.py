"""Splits an answer into parts: each heading with the lines below it."""

import re
from collections.abc import Sequence

import msgspec

from oraclepack.pack.answer_sections import (
    Section,
    is_bare_heading,
    normalise,
    numbered,
    section_of_heading,
    sections_named,
)

_ATX = re.compile(r"^ {0,3}#{1,6}(?:\s+(?P<text>.*))?$")
_UNDERLINE = re.compile(r"^ {0,3}(?:={3,}|-{3,})\s*$")


class OutlinePart(msgspec.Struct, frozen=True):
    """A heading and the lines below it; the part before the first has no heading and line 0."""

    heading: str
    line: int
    body: tuple[tuple[int, str], ...]
    """The lines that are not blank, with their numbers."""
    sections: frozenset[Section] = frozenset()
    """The sections that the heading names."""


class _OpenPart(msgspec.Struct):
    heading: str = ""
    line: int = 0
    body: list[tuple[int, str]] = msgspec.field(default_factory=list)

    def close(self) -> OutlinePart:
        folded, titled = normalise(self.heading), section_of_heading(self.heading)
        named = sections_named(folded) | ({titled} if titled is not None else set())
        return OutlinePart(folded, self.line, tuple(self.body), named)


def parts_of(lines: Sequence[str]) -> tuple[OutlinePart, ...]:
    """The parts of an answer.

    A Markdown heading starts a part, and so does a line that is only the name of a section: bold,
    numbered or plain. Lines in code blocks never do.
    """
    parts = [_OpenPart()]
    underlines = set[int]()
    for number, line, block in numbered(lines):
        following = lines[number] if number < len(lines) else ""
        heading = None if block else _heading(line, following)
        if heading is not None:
            parts.append(_OpenPart(heading, number))
            if _UNDERLINE.match(following):
                underlines.add(number + 1)
        elif line.strip() and number not in underlines:
            parts[-1].body.append((number, line))
    return tuple(part.close() for part in parts)


def _heading(line: str, following: str) -> str | None:
    atx = _ATX.match(line)
    if atx is not None:
        return atx["text"] or ""
    is_named = section_of_heading(line) is not None and _may_be_heading(line)
    underlined = normalise(line) and _UNDERLINE.match(following)
    return line if is_named or underlined else None


def _may_be_heading(line: str) -> bool:
    """Whether the name of a section counts as a heading: bold, numbered, or more than one word."""
    text = line.strip()
    return text.startswith(("**", "__")) or text[:1].isdigit() or is_bare_heading(line)
