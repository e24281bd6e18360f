"""bash text to a syntax tree. The only home of tree-sitter."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from oraclepack.errors import InputError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


MOST_OPENERS = 3_000
"""Signs that open something, in one stretch of bash: `|`, `<`, `(`, `[`, `${`, `;;`.

Where a stretch cannot be read, the time that the tree takes grows with the square of these. The
longest step of the field has 130, the largest pack 2,500 in all its steps together.
"""
MOST_SIGNS = 10_000
"""Signs and words that can begin an error, in one stretch; the largest pack has 6,000 in all."""
MOST_ERRORS = 1_000
"""Errors and their parts in a stretch with many signs; the worst pack of the field has 350.

The tree of a stretch that is no bash at all takes time with the square of its signs, so it is read
in growing parts until there are too many errors.
"""
_SIGNS_PER_PART = 1_000
MOST_NODES = 60_000
"""Nodes of the trees of one pack; the largest of the field has 5,000."""
_OPENER = re.compile(rb"[|<(\[]|\$\{|;;")
_SIGN = re.compile(rb"[|<(\[)>&;?@!{}\0`\]]|\$(?![A-Za-z_\"'(])|\b(?:for|case|function)\b")


@cache
def _parser() -> "Parser":
    # Imported here: commands that read no pack must not pay for it.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def syntax_tree(source: bytes) -> "Tree":
    """The tree of a stretch of bash; where it cannot be read, the tree holds ERROR nodes.

    What is too intricate to be read in reasonable time is an error.
    """
    if len(source) > MOST_OPENERS and sum(1 for _ in _OPENER.finditer(source)) > MOST_OPENERS:
        raise _too_intricate(f"more than {MOST_OPENERS} opening signs (| < ( [ ${{)")
    if len(source) > _SIGNS_PER_PART:
        _check_errors(source)
    tree = _parse(source)
    check_nodes(tree.root_node.descendant_count)
    return tree


def _check_errors(source: bytes) -> None:
    ends = [sign.start() for sign in islice(_SIGN.finditer(source), MOST_SIGNS + 1)]
    if len(ends) > MOST_SIGNS:
        raise _too_intricate(f"more than {MOST_SIGNS} signs (| < > ( ) & ; ? and others)")
    for end in ends[_SIGNS_PER_PART::_SIGNS_PER_PART]:
        if _errors(_parser().parse(source[:end]).root_node) > MOST_ERRORS:
            raise _too_intricate(f"more than {MOST_ERRORS} syntax errors")


def _errors(root: "Node") -> int:
    """How many errors are below a node, and how many parts they have."""
    count = 0
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if one.is_error or one.is_missing:
            count += 1 + one.child_count
        if one.has_error:
            waiting.extend(one.children)
    return count


def _too_intricate(what: str) -> InputError:
    return InputError(
        f"{what} in one stretch of bash",
        hint="a step is a few commands; attach long texts instead of quoting them",
    )


@lru_cache(maxsize=4)
def _parse(source: bytes) -> "Tree":
    # Several questions are asked of the same stretch, one after another.
    return _parser().parse(source)


def check_nodes(count: int) -> None:
    """Refuse bash with too many parts: each costs time and memory."""
    if count > MOST_NODES:
        raise InputError(
            f"more than {MOST_NODES} words and signs of bash",
            hint="is it a pack at all? split it, or attach long texts instead of quoting them",
        )


def text_of(node: "Node") -> str:
    text = node.text
    return text.decode("utf-8", "replace") if text else ""


def descend(node: "Node", kinds: frozenset[str]) -> Iterator["Node"]:
    """The nodes of certain kinds below a node, in text order, not looking inside them."""
    for child in node.named_children:
        if child.type in kinds:
            yield child
        elif child.named_child_count:
            yield from descend(child, kinds)


def everywhere(node: "Node", kind: str, closed: str = "") -> Iterator["Node"]:
    """The nodes of one kind below a node, in text order, however deep; not inside `closed` ones."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == kind:
            yield one
        if one.named_child_count and one.type != closed:
            waiting.extend(reversed(one.named_children))
