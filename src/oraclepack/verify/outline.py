"""An answer in parts: each heading with the lines below it."""

from collections.abc import Sequence

import msgspec

from oraclepack.core.regex import regex
from oraclepack.core.sections import Section, normalise, numbered

_ATX = regex(r"^ {0,3}#{1,6}(?:\s+(?P<text>.*))?$")
_UNDERLINE = regex(r"^ {0,3}(?:={3,}|-{3,})\s*$")
_NUMBER = regex(r"^\d{1,2} ")
_NAMES = frozenset(wording for section in Section for wording in section.wordings)


class Part(msgspec.Struct, frozen=True):
    """A heading and what stands below it; before the first heading both name and line are empty."""

    heading: str
    line: int
    body: tuple[tuple[int, str], ...]
    """The lines that are not blank, with their numbers."""


class _Open(msgspec.Struct):
    heading: str = ""
    line: int = 0
    body: list[tuple[int, str]] = msgspec.field(default_factory=list)

    def closed(self) -> Part:
        return Part(self.heading, self.line, tuple(self.body))


def parts_of(lines: Sequence[str]) -> tuple[Part, ...]:
    """The parts of an answer.

    Besides real headings a line opens a part when it is the name of a section and nothing else:
    bold, numbered or plain. Lines of code blocks are never headings.
    """
    parts = [_Open()]
    underlines = set[int]()
    for number, line, block in numbered(lines):
        following = lines[number] if number < len(lines) else ""
        heading = None if block else _heading(line, following)
        if heading is not None:
            parts.append(_Open(heading, number))
            if _UNDERLINE.match(following):
                underlines.add(number + 1)
        elif line.strip() and number not in underlines:
            parts[-1].body.append((number, line))
    return tuple(part.closed() for part in parts)


def _heading(line: str, following: str) -> str | None:
    atx = _ATX.match(line)
    if atx is not None:
        return normalise(atx["text"] or "")
    words = normalise(line)
    named = _NUMBER.sub("", words) in _NAMES
    return words if named or (words and _UNDERLINE.match(following)) else None
