"""Heredocs that the tree misreads: several on one line, and ends that bash does not see."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oraclepack.core.regex import regex
from oraclepack.parse.grammar import syntax_tree, text_of
from oraclepack.parse.locate import Locator

if TYPE_CHECKING:
    from tree_sitter import Node

_OPENING = regex(rb"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][\w.-]*))")

_UNQUOTED = str.maketrans("", "", "'\"\\")


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
    word = opening[2] or opening[3] or opening[4]
    return min(_row_of(word, lines, start, indented=bool(opening[1])), len(lines) - 1)


def all_end(root: "Node", lines: Sequence[bytes]) -> bool:
    """Whether each heredoc of a tree ends where bash ends it: at a line that is its word.

    The tree also takes an indented word for the end, one with a blank behind it, or none at all,
    and tells no error.
    """
    return all(end == told for _, end, told in _bodies(root, lines))


def all_seen(root: "Node", lines: Sequence[bytes]) -> bool:
    """Whether the tree knows of each heredoc that a line seems to open."""
    known = {row for node in _redirects(root) for row in _rows_of(node)}
    return all(
        row in known or b"<<" not in line or not _OPENING.search(line)
        for row, line in enumerate(lines)
    )


def rows_inside(root: "Node", lines: Sequence[bytes]) -> set[int]:
    """The rows that bash takes for text, as far as the tree knows where it begins."""
    return {row for start, end, _ in _bodies(root, lines) for row in range(start, end)}


def _bodies(root: "Node", lines: Sequence[bytes]) -> Iterator[tuple[int, int, int | None]]:
    """Of each heredoc its first row, that of its end, and that of its end as the tree tells it."""
    for node in _redirects(root):
        parts = {part.type: part for part in node.children}
        opening, end = parts.get("heredoc_start"), parts.get("heredoc_end")
        if opening is None:
            continue
        word = text_of(opening).translate(_UNQUOTED).encode()
        body = parts.get("heredoc_body", end)
        first = opening.end_point[0] + 1 if body is None else body.start_point[0]
        told = None if end is None else end.start_point[0]
        yield first, _row_of(word, lines, first, indented="<<-" in parts), told


def _row_of(word: bytes, lines: Sequence[bytes], first: int, *, indented: bool) -> int:
    for row in range(first, len(lines)):
        if (lines[row].lstrip(b"\t") if indented else lines[row]) == word:
            return row
    return len(lines)


def _redirects(node: "Node") -> Iterator["Node"]:
    for child in node.named_children:
        if child.type == "heredoc_redirect":
            yield child
        if child.named_child_count and child.type != "heredoc_body":
            yield from _redirects(child)


def _rows_of(node: "Node") -> range:
    return range(node.start_point[0], node.end_point[0] + 1)
