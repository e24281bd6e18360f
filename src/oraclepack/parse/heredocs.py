"""Help for the tree where it cannot read: several heredocs opened on one line."""

import re

from msgspec.structs import replace

from oraclepack.core.regex import regex
from oraclepack.parse.grammar import syntax_tree
from oraclepack.parse.locate import Locator

_OPENING = regex(rb"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][\w.-]*))")


def readable(place: Locator) -> Locator:
    """The same stretch in a form the tree can read: all but the first heredoc of a line blanked.

    Blanks keep every line and column where it was, so what is found still stands at its place.
    """
    doubled = [
        row
        for row, line in enumerate(place.lines)
        if line.count(b"<<") > 1 and len(_OPENING.findall(line)) > 1
    ]
    if not doubled or not syntax_tree(b"\n".join(place.lines)).root_node.has_error:
        return place
    lines = list(place.lines)
    for row in doubled:
        openings = list(_OPENING.finditer(lines[row]))
        end = row
        for number, opening in enumerate(openings):
            start, end = end + 1, _end_of(lines, end + 1, opening)
            if number:
                lines[start : end + 1] = [b""] * len(lines[start : end + 1])
        for opening in openings[1:]:
            blank = b" " * (opening.end() - opening.start())
            lines[row] = lines[row][: opening.start()] + blank + lines[row][opening.end() :]
    return replace(place, lines=tuple(lines))


def _end_of(lines: list[bytes], start: int, opening: re.Match[bytes]) -> int:
    delimiter = opening[2] or opening[3] or opening[4]
    for row in range(start, len(lines)):
        line = lines[row].lstrip(b"\t") if opening[1] else lines[row]
        if line == delimiter:
            return row
    return len(lines) - 1
