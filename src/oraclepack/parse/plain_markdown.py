"""Code blocks and headings of plain Markdown, without a Markdown parser.

Loading one costs more than validating a short pack. Most packs are prose, headings and lists
around a fence that begins at the margin; for those a few tests on each line give the same answer.
Every line that might mean more (a quotation, HTML, indented code, a fence in a list) makes this
reader step back: it answers only where it cannot be wrong.
"""

import msgspec

from oraclepack.core.pack import Fence
from oraclepack.core.source import Span

_BLANK = " \t"
_MOST_INDENT = 3
"""Text that is indented further may be code."""
_FENCES = ("```", "~~~")
_DEEPEST_HEADING = 6
_LONGEST_NUMBER = 9
_MOST_AFTER_MARKER = 4
"""More spaces than this after a list marker begin indented code."""
_ASCII_DIGITS = "0123456789"


class Heading(msgspec.Struct, frozen=True):
    """A heading of the Markdown text."""

    text: str
    line: int


class Markdown(msgspec.Struct, frozen=True):
    """What a pack needs to know of its Markdown."""

    fences: tuple[Fence, ...]
    headings: tuple[Heading, ...]


def read_plain(text: str) -> Markdown | None:
    """The code blocks and headings, or nothing where that takes a real parser."""
    if "\r" in text or "\0" in text:
        return None
    lines = text.split("\n")
    fences: list[Fence] = []
    headings: list[Heading] = []
    row = 0
    while row < len(lines):
        line = lines[row]
        if line.startswith(_FENCES):
            fence = _fence(lines, row)
            if fence is None:
                return None
            fences.append(fence)
            row = fence.span.end_line
            continue
        heading = _heading(lines, row)
        if heading is not None:
            headings.append(heading)
        elif not _is_plain(lines, row):
            return None
        row += 1
    return Markdown(tuple(fences), tuple(headings))


def _fence(lines: list[str], row: int) -> Fence | None:
    """The closed fence that begins on a row."""
    opening = lines[row]
    info = opening.lstrip(opening[0])
    marker = opening[: len(opening) - len(info)]
    if marker[0] == "`" and "`" in info:
        return None
    for end in range(row + 1, len(lines)):
        if marker in lines[end] and _closes(lines[end], marker):
            return Fence(
                info=info.strip(),
                marker=marker,
                closed=True,
                content="\n".join((*lines[row + 1 : end], "")),
                content_line=row + 2,
                span=Span(row + 1, 1, end + 1, len(lines[end]) + 1),
            )
    return None


def _closes(line: str, marker: str) -> bool:
    bare = line.lstrip(" ")
    return len(line) - len(bare) <= _MOST_INDENT and not bare.rstrip(_BLANK).strip(marker[0])


def _heading(lines: list[str], row: int) -> Heading | None:
    """The heading whose last line this is: `# so`, or one line at the margin with a rule below."""
    line = lines[row]
    if line.startswith("#"):
        text = line.lstrip("#")
        deep = len(line) - len(text)
        closed = line.rstrip(_BLANK).endswith("#") and text.strip(_BLANK)
        if deep > _DEEPEST_HEADING or text[:1] not in {"", " ", "\t"} or closed:
            return None
        return Heading(text.strip(), row + 1)
    if _is_rule(line) and row and (row == 1 or _is_blank(lines[row - 2])):
        above = lines[row - 1]
        if above[:1].isalnum() and _item(above) is None:
            return Heading(above.strip(), row)
    return None


def _is_blank(line: str) -> bool:
    return not line.strip(_BLANK)


def _is_rule(line: str) -> bool:
    bare = line.rstrip(_BLANK)
    return bare[:1] in {"=", "-"} and not bare.strip(bare[0])


def _is_plain(lines: list[str], row: int) -> bool:
    """Whether a line outside fences is blank, or mere text of the block it stands in."""
    line = lines[row]
    bare = line.strip(_BLANK)
    if not bare:
        return True
    indent = line[: line.index(bare[0])]
    if len(indent) > _MOST_INDENT or "\t" in indent or _begins_more(bare):
        return False
    if _is_rule(bare):
        return not row or _is_blank(lines[row - 1])
    item = _item(bare)
    return item is None or _is_plain_item(item)


def _begins_more(bare: str) -> bool:
    """HTML, a quotation, a heading or a fence."""
    return bare[0] in "<>#" or bare.startswith(_FENCES)


def _item(bare: str) -> str | None:
    """What follows a list marker."""
    if bare[0] in "-+*":
        rest = bare[1:]
    else:
        rest = bare.lstrip(_ASCII_DIGITS)
        if not 0 < len(bare) - len(rest) <= _LONGEST_NUMBER or rest[:1] not in {".", ")"}:
            return None
        rest = rest[1:]
    return rest if not rest or rest[0] in _BLANK else None


def _is_plain_item(item: str) -> bool:
    bare = item.lstrip(" ")
    if not bare:
        return True
    if len(item) - len(bare) > _MOST_AFTER_MARKER or bare[0] == "\t":
        return False
    return not _begins_more(bare) and not _is_rule(bare) and _item(bare) is None
