"""Heredocs that the tree misreads: several on one line, and ends that bash does not see."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.pack.parse.bash_script import without_prefixes
from oraclepack.pack.parse.effects import without_prose
from oraclepack.pack.parse.grammar import everywhere, syntax_tree, text_of
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.parse.word_values import is_quoted

if TYPE_CHECKING:
    from tree_sitter import Node


_OPENING = re.compile(rb"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][\w.-]*))")

_MOST_READ = 500_000
"""Bytes that are read again and again, until each heredoc has the right end."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_UNQUOTED = str.maketrans("", "", "'\"\\")


def readable(place: Locator) -> Locator:
    """The same stretch in a form the tree can read.

    All but the first heredoc of a line are blanked, as is what the tree cannot see before a
    construct (`time {`), backquoted prose gets a filler, and a heredoc gets another word where the
    tree ends it at the wrong line.
    Every line and column stays where it was, so what is found is still at its place.
    """
    return _renamed(without_prefixes(_single(without_prose(place))))


def _single(place: Locator) -> Locator:
    doubled = [
        row
        for row, line in enumerate(place.lines)
        if line.count(b"<<") > 1 and len(_OPENING.findall(line)) > 1
    ]
    if not doubled or not syntax_tree(b"\n".join(place.lines)).root_node.has_error:
        return place
    lines, ends = list(place.lines), _Ends(place.lines)
    for row in doubled:
        openings = list(_OPENING.finditer(lines[row]))
        end = row
        for number, opening in enumerate(openings):
            word, start = opening[2] or opening[3] or opening[4], end + 1
            quoted = is_quoted(opening[0].decode("utf-8", "replace"))
            found = ends.row_of(word, start, indented=bool(opening[1]), quoted=quoted)
            end = min(found, ends.last)
            if number:
                lines[start : end + 1] = [b""] * len(lines[start : end + 1])
        for opening in openings[1:]:
            blank = b" " * (opening.end() - opening.start())
            lines[row] = lines[row][: opening.start()] + blank + lines[row][opening.end() :]
    return replace(place, lines=tuple(lines))


def _renamed(place: Locator) -> Locator:
    """The stretch with another word for each heredoc that the tree ends at the wrong line."""
    lines = list(place.lines)
    openings = sum(b"<<" in line for line in lines)
    for _ in range(min(openings, 2 + _MOST_READ // (1 + sum(map(len, lines))))):
        # What the tree makes of the lines behind a wrong end is wrong too: the first one only.
        # Without an end of the last line the tree overlooks a heredoc that it finds no end of.
        root = syntax_tree(b"\n".join((*lines, b""))).root_node
        bodies = _bodies(heredoc_nodes(root), lines)
        wrong = next((body for body in bodies if body.end != body.tree_end), None)
        if wrong is None or not _rename(lines, wrong):
            break
    return replace(place, lines=tuple(lines))


def _rename(lines: list[bytes], body: "_Body") -> bool:
    row, column = body.opening.start_point
    if body.opening.end_point[0] > row:
        return _shorten(lines, body)
    before, opening = lines[row][:column], lines[row][column:]
    end = lines[body.end] if body.end < len(lines) else b""
    word = _unused(body.word, lines)
    if word is None or body.word not in opening or end.lstrip(b"\t") != body.word:
        return False
    lines[row] = before + opening.replace(body.word, word, 1)
    lines[body.end] = end.replace(body.word, word)
    return True


def _shorten(lines: list[bytes], body: "_Body") -> bool:
    """One letter for a bare word that is on two lines, if there is room for it on the first."""
    (row, column), (last, after) = body.opening.start_point, body.opening.end_point
    word = _unused(b"E", lines)
    room = len(lines[row]) - column - len(b"E\\")
    is_bare = not is_quoted(_joined(text_of(body.opening)))
    if word is None or last > row + 1 or room < 1 or not is_bare or body.end >= len(lines):
        return False
    lines[row] = lines[row][:column] + word + b" " * room + b"\\"
    lines[last] = b" " * after + lines[last][after:]
    lines[body.end] = word
    return True


def _joined(word: str) -> str:
    """A word as bash takes it that goes on behind a backslash at the end of a line."""
    return word.replace("\\\n", "")


def _unused(word: bytes, lines: list[bytes]) -> bytes | None:
    """Another word of the same length, that no line begins with."""
    used = {line.lstrip()[: len(word)] for line in lines}
    letters = (bytes([letter]) * len(word) for letter in _LETTERS)
    return next((letter for letter in letters if letter not in used), None)


def heredoc_nodes(root: "Node") -> "list[Node]":
    """The redirections of a tree that open heredocs."""
    return list(everywhere(root, "heredoc_redirect", closed="heredoc_body"))


def all_end(nodes: "Iterable[Node]", lines: Sequence[bytes]) -> bool:
    """Whether each heredoc of a tree ends where bash ends it: at a line that is its word.

    The tree also takes an indented word for the end, one with a blank behind it, or none at all,
    and reports no error.
    """
    return all(body.end == body.tree_end for body in _bodies(nodes, lines))


def knows_all_heredocs(nodes: "Iterable[Node]", lines: Sequence[bytes]) -> bool:
    """Whether the tree knows of each heredoc that a line seems to open."""
    openings = [row for row, line in enumerate(lines) if b"<<" in line and _OPENING.search(line)]
    known = {row for node in nodes for row in range(node.start_point[0], node.end_point[0] + 1)}
    return known.issuperset(openings)


def rows_inside(root: "Node", lines: Sequence[bytes]) -> set[int]:
    """The rows that bash takes for text, as far as the tree knows where it begins."""
    bodies = _bodies(heredoc_nodes(root), lines)
    return {row for body in bodies for row in range(body.first, body.end)}


class _Body(msgspec.Struct, frozen=True):
    """The rows of a heredoc."""

    opening: "Node"
    word: bytes
    first: int
    end: int
    """The row that ends it for bash."""
    tree_end: int | None
    """The row that ends it according to the tree."""


def _bodies(nodes: "Iterable[Node]", lines: Sequence[bytes]) -> Iterator[_Body]:
    ends = _Ends(lines)
    for node in nodes:
        parts = {part.type: part for part in node.children}
        opening, end = parts.get("heredoc_start"), parts.get("heredoc_end")
        if opening is None:
            continue
        written = _joined(text_of(opening))
        word = written.translate(_UNQUOTED).encode()
        body = parts.get("heredoc_body", end)
        first = opening.end_point[0] + 1 if body is None else body.start_point[0]
        tree_end = None if end is None else end.start_point[0]
        quoted = is_quoted(written)
        row = ends.row_of(word, first, indented="<<-" in parts, quoted=quoted)
        yield _Body(opening, word, first, row, tree_end)


class _Ends:
    """Where each line of a stretch stands, so that the end of a heredoc need not be searched."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self.last = len(lines) - 1
        self._rows: dict[tuple[bool, bool], dict[bytes, list[int]]] = {}

    def row_of(self, word: bytes, first: int, *, indented: bool, quoted: bool) -> int:
        """The row from `first` on that is the word; the number of lines when there is none.

        Where the word is not quoted, bash joins lines before it looks for the end.
        """
        if not quoted:
            before = b""
            while first < len(self._lines) and is_continued(self._lines[first]):
                before += self._lines[first][:-1]
                first += 1
            if before and first < len(self._lines):
                line = before + self._lines[first]
                if (line.lstrip(b"\t") if indented else line) == word:
                    return first
                first += 1
        rows = self._index(indented=indented, quoted=quoted).get(word, [])
        at = bisect_left(rows, first)
        return rows[at] if at < len(rows) else len(self._lines)

    def _index(self, *, indented: bool, quoted: bool) -> dict[bytes, list[int]]:
        kind = indented, quoted
        if kind not in self._rows:
            rows: dict[bytes, list[int]] = {}
            before: list[bytes] = []
            for row, line in enumerate(self._lines):
                if not quoted and line.endswith(b"\\") and is_continued(line):
                    before.append(line[:-1])
                    continue
                whole = b"".join((*before, line)) if before else line
                rows.setdefault(whole.lstrip(b"\t") if indented else whole, []).append(row)
                before = []
            self._rows[kind] = rows
        return self._rows[kind]


def is_continued(line: bytes) -> bool:
    """Whether a backslash joins the next line to this one, where backslashes do."""
    return (len(line) - len(line.rstrip(b"\\"))) % 2 == 1
