"""Where the steps of a bash block begin."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.errors import InputError
from oraclepack.pack.model import HEADER_FIELDS, Attribute, Directive, Header, StepId
from oraclepack.pack.parse.bash_script import hides
from oraclepack.pack.parse.grammar import check_nodes, syntax_tree
from oraclepack.pack.parse.heredocs import (
    all_end,
    heredoc_nodes,
    is_continued,
    knows_all_heredocs,
    readable,
    rows_inside,
)
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.script import Comment, Span

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


HEADER = re.compile(r"#\s*(?P<id>[0-9]{2})(?:\)|\s+[—–-](?=\s|$))\s*(?P<rest>.*)$")
"""`# 01) …`, also `# 01 — …` and `# 01 - …`."""

NUMBERED = re.compile(r"#\s*(?P<id>[0-9]+)(?:\)|\s+[—–-](?=\s|$))\s*(?P<rest>.*)$")
"""The same with any number of digits: what a header with a slip looks like."""

_NUMBERS = ("ROI", "impact", "confidence", "effort")
_FIELD = re.compile(
    rf"(?:(?<!\S)(?P<key>{'|'.join(HEADER_FIELDS)})"
    rf"|(?<=[(\[{{,;:|*—–])(?P<number>{'|'.join(_NUMBERS)}))\s*=\s*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?=[\s)\]}|*—–]|[,;:](?:\s|$)|$)")
"""A number that other words may follow: `ROI=0.5 low value`, `(ROI=4.5)`."""
_EMPTY_BRACKETS = re.compile(r"\(([\s,;|]*)\)|\[([\s,;|]*)\]|\{([\s,;|]*)\}|\*{4}")
_SEPARATORS = re.compile(r"(?<!\S)([—–|-])(?:\s+[—–|-])+(?!\S)")
_TITLE_ENDS = " \t,;|—–-"
_OLD_FIELD = re.compile(
    rf"#\s*(?P<key>{'|'.join(HEADER_FIELDS)})\s*:\s*(?P<value>\S.*?)\s*$", re.IGNORECASE
)
_DIRECTIVE = re.compile(
    r"#\s*oraclepack:\s*(?P<name>[A-Za-z][A-Za-z_-]*)\s*(?:=\s*|\s+|$)(?P<value>.*)$"
)
_SPELLING = {field.lower(): field for field in HEADER_FIELDS}


def has_attributes(text: str) -> bool:
    """A comment carries header attributes: `ROI=` is not written by accident."""
    return _FIELD.search(text) is not None


def read_header(comment: Comment) -> Header | None:
    """The header that a comment is, if it is one."""
    match = HEADER.match(comment.text)
    if match is None:
        return None
    attributes, title = _attributes(match["rest"], match.start("rest"), comment.span)
    number = _within(comment.span, match.start("id"), match.end("id"))
    return Header(StepId(match["id"]), title, attributes, comment.span, number)


def with_old_fields(header: Header, comments: Iterable[Comment]) -> Header:
    """The header completed by the older spelling in the body: `# ROI: 4.2`."""
    attributes: dict[str, Attribute] = {}
    for comment in comments:
        match = _OLD_FIELD.match(comment.text) if comment.top_level else None
        if match is not None:
            key = _SPELLING[match["key"].lower()]
            text = _counted(key, match["value"])
            value = _within(comment.span, match.start("value"), match.start("value") + len(text))
            attributes.setdefault(key, Attribute(text, value))
    if not attributes:
        return header
    merged = attributes | dict(header.attributes)
    return Header(header.id, header.title, merged, header.span, header.id_span)


def read_directives(comments: Iterable[Comment]) -> tuple[Directive, ...]:
    """The `# oraclepack: …` comments, in order."""
    matches = ((comment, _DIRECTIVE.match(comment.text)) for comment in comments)
    return tuple(
        Directive(match["name"], match["value"].strip(), comment.span)
        for comment, match in matches
        if match is not None
    )


def _attributes(rest: str, offset: int, span: Span) -> tuple[Mapping[str, Attribute], str]:
    """The attributes of a header text, and its title.

    A value ends where the next known key starts, a number where it ends: the words behind it belong
    to the title.
    """
    keys = list(_FIELD.finditer(rest))
    if not keys:
        return {}, rest.strip()
    attributes: dict[str, Attribute] = {}
    ends = [key.start() for key in keys[1:]] + [len(rest)]
    words = [rest[: keys[0].start()]]
    for key, end in zip(keys, ends, strict=True):
        name = _SPELLING[(key["key"] or key["number"]).lower()]
        text = _counted(name, rest[key.end() : end].rstrip())
        where = _within(span, offset + key.end(), offset + key.end() + len(text))
        attributes.setdefault(name, Attribute(text, where))
        words.append(rest[key.end() + len(text) : end])
    return attributes, _title("".join(words))


def _counted(name: str, text: str) -> str:
    """The value without the words behind its number, if it is one that counts."""
    number = _NUMBER.match(text) if name in _NUMBERS else None
    return text if number is None else number[0]


def _title(words: str) -> str:
    """The words that are left of a header, without the brackets and dashes around what was cut."""
    joined = " ".join(_EMPTY_BRACKETS.sub(" ", words).split())
    return _SEPARATORS.sub(r"\1", joined).strip(_TITLE_ENDS)


def _within(span: Span, start: int, end: int) -> Span:
    return Span(span.line, span.column + start, span.line, span.column + end)


Complete = Callable[[str], bool]
"""Asks bash itself whether a text is a whole number of complete commands."""

_DIGITS = tuple("0123456789")
_BETWEEN_WORDS = re.compile(rb"(?<!\\)(?:\\\\)*[ \t;&|()<>]\Z")
"""An end behind which `#` begins a comment: a blank or an operator, and no backslash before it."""


MOST_HEADERS = 5_000
"""Lines that may open a step; most of them could be in heredocs."""


class Boundaries(msgspec.Struct):
    """The comments that open steps, and those that only look as if they did."""

    headers: list[Comment] = msgspec.field(default_factory=list)
    rows: list[int] = msgspec.field(default_factory=list)
    """The row of each header in the block, counted from 0."""
    swallowed: list[Comment] = msgspec.field(default_factory=list)
    misnumbered: list[Comment] = msgspec.field(default_factory=list)
    trees: "dict[int, Tree]" = msgspec.field(default_factory=dict)
    """Of prelude and steps by their first row, if each of them can be read by itself."""

    def add(self, comment: Comment, row: int) -> None:
        match = HEADER.match(comment.text)
        if comment.top_level and match is not None:
            self.headers.append(comment)
            self.rows.append(row)
            return
        digits = NUMBERED.match(comment.text)
        is_next = digits is not None and digits["id"].lstrip("0") == str(len(self.headers) + 1)
        if comment.top_level:
            long_number = digits is not None and len(digits["id"]) > 2
            if has_attributes(comment.text) or (is_next and long_number):
                self.misnumbered.append(comment)
        elif has_attributes(comment.text) or (is_next and match and not comment.in_function):
            self.swallowed.append(comment)


def find_boundaries(place: Locator, complete: Complete | None) -> Boundaries:
    """The step headers of a block.

    A header is a comment between complete commands. The tree shows that; where the tree could not
    read the block, bash decides; where bash cannot read it either, the tree of its readable form
    does, and failing that the lines outside heredocs.
    """
    rows = [row for row, line in enumerate(place.lines) if b"#" in line and _may_open(line)]
    boundaries = Boundaries()
    if not rows:
        return boundaries
    if len(rows) > MOST_HEADERS:
        raise InputError(
            f"more than {MOST_HEADERS} lines that look like the header of a step",
            hint="a pack has at most 99 steps",
        )
    trees = _separate_trees(place, rows)
    if trees is not None:
        headers = (_comment(place, row, 0, None, set(rows)) for row in rows)
        return Boundaries([header for header in headers if header], rows, trees=trees)
    root, lines = syntax_tree(b"\n".join(place.lines)).root_node, place.lines
    top_level: set[int] | None = None
    if not _is_clear(root, lines):
        lines = readable(place).lines
        root = syntax_tree(b"\n".join(lines)).root_node
        top_level = _without_tree(place, rows, complete)
        if top_level is None and not _is_clear(root, lines):
            inside = rows_inside(root, lines)
            top_level = {row for row in rows if row not in inside}
    for row in rows:
        column = len(place.lines[row]) - len(place.lines[row].lstrip())
        node = root.named_descendant_for_point_range((row, column), (row, column + 1))
        comment = _comment(place, row, column, node, top_level)
        if comment is not None:
            # Indented it is behind a blank: a comment, whatever the line before ends with.
            in_a_word = column == 0 and _ends_a_word(root, lines, row)
            is_top = comment.top_level and not in_a_word
            boundaries.add(replace(comment, top_level=is_top), row)
    return boundaries


def _may_open(line: bytes) -> bool:
    text = line.lstrip()
    if not text.startswith(b"#"):
        return False
    comment = text.decode("utf-8", "replace")
    if not comment[1:].lstrip().startswith(_DIGITS):
        return False
    return HEADER.match(comment) is not None or NUMBERED.match(comment) is not None


def _separate_trees(place: Locator, rows: list[int]) -> "dict[int, Tree] | None":
    """The trees between the headers, if each can be read and nothing goes on behind its end.

    Then the headers are between complete commands, and the block need not be read as a whole.
    """
    texts = (place.lines[row].decode("utf-8", "replace") for row in rows)
    if not all(map(HEADER.match, texts)):
        return None
    trees: dict[int, Tree] = {}
    nodes = 0
    for start, end in pairwise([-1, *rows, len(place.lines) - 1]):
        tree = _whole(place, start + 1, end)
        if tree is None:
            return None
        trees[start + 1] = tree
        nodes += tree.root_node.descendant_count
        check_nodes(nodes)
    return trees


def _whole(place: Locator, start: int, end: int) -> "Tree | None":
    """The tree of some lines, if they can be read and nothing goes on behind their end."""
    lines = place.lines[start:end]
    source = b"\n".join(lines)
    tree = syntax_tree(source)
    root = tree.root_node
    if root.has_error or source.rstrip().endswith(b"\\") or hides(source, root):
        return None
    if b"<<" in source:
        heredocs = heredoc_nodes(root)
        if not (all_end(heredocs, lines) and knows_all_heredocs(heredocs, lines)):
            return None
    return tree


def _comment(
    place: Locator, row: int, column: int, node: "Node | None", top_level: set[int] | None
) -> Comment | None:
    text = place.lines[row].strip().decode("utf-8", "replace")
    span = place.span((row, column), (row, len(place.lines[row].rstrip())))
    if top_level is not None and row in top_level and column == 0:
        return Comment(text, span, top_level=True)
    if node is None or node.type != "comment" or tuple(node.start_point) != (row, column):
        return None
    if top_level is None:
        is_top = node.parent is not None and node.parent.type == "program"
    else:
        is_top = row in top_level
    return Comment(text, span, top_level=is_top, in_function=_in_function(node))


def _ends_a_word(root: "Node", lines: Sequence[bytes], row: int) -> bool:
    """Whether a line ends a word of the line before: then its `#` is part of that word to bash."""
    before = b""
    while row > 0 and is_continued(lines[row - 1]):
        row -= 1
        end = len(lines[row])
        node = root.named_descendant_for_point_range((row, end - 1), (row, end))
        if node is not None and node.type == "comment":
            break
        before = lines[row][:-1] + before
    return bool(before) and not _BETWEEN_WORDS.search(before)


def _in_function(node: "Node") -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type == "function_definition":
            return True
        parent = parent.parent
    return False


def _without_tree(place: Locator, rows: list[int], complete: Complete | None) -> set[int] | None:
    """The rows between complete commands according to bash; None where it cannot read the block."""
    if complete is None or not complete(_text(place, 0, len(place.lines))):
        return None
    lines: set[int] = set()
    start = 0
    for row in rows:
        # Bash is asked about what the tree cannot read: a process each time.
        if _whole(place, start, row) or complete(_text(place, start, row)):
            lines.add(row)
            start = row
    return lines


def _is_clear(root: "Node", lines: Sequence[bytes]) -> bool:
    """Whether the tree reads a block as bash does."""
    ends = not root.has_error and all_end(heredoc_nodes(root), lines)
    return ends and not hides(b"\n".join(lines), root)


def _text(place: Locator, start: int, end: int) -> str:
    return b"".join(line + b"\n" for line in place.lines[start:end]).decode("utf-8", "replace")
