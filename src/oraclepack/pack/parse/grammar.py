"""Parses bash into a syntax tree. The only module that imports tree-sitter."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from oraclepack.errors import InputError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


MOST_OPENERS = 3_000
"""Operators in one parsed text that open something: `|`, `<`, `(`, `[`, `${`, `;;`.

If the text has syntax errors, the time for its tree grows with the square of their number. In
packs of real projects the longest step has 130, and all steps of the largest pack have 2,500.
"""
MOST_OPERATORS = 10_000
"""Operators and keywords in one parsed text that can begin an error; the largest pack has 6,000."""
MOST_ERRORS = 1_000
"""Errors and their children in a text with many operators; the worst real pack has 350.

The time for a text that is not bash grows with the square of its operators. So growing parts of
the text are parsed first, until there are too many errors.
"""
_OPERATORS_PER_PART = 1_000
MOST_NODES = 60_000
"""Nodes of the trees of one pack; the largest real pack has 5,000."""
_OPENER = re.compile(rb"[|<(\[]|\$\{|;;")
_OPERATOR = re.compile(rb"[|<(\[)>&;?@!{}\0`\]]|\$(?![A-Za-z_\"'(])|\b(?:for|case|function)\b")
_OPERATOR_SIGNS = b"|<([)>&;?@!{}\0`]$"
_OPERATOR_WORDS = (b"for", b"case", b"function")
"""Every operator holds one of these signs or words, every opener one of the signs."""


@cache
def _parser() -> "Parser":
    # Imported here, so that commands that read no pack start faster.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def syntax_tree(source: bytes) -> "Tree":
    """The tree of some bash, with ERROR nodes for syntax errors.

    Raises InputError for text that would take too long to parse.
    """
    # Counting signs is far cheaper than the patterns, and nearly every text has few.
    signs = len(source) - len(source.translate(None, _OPERATOR_SIGNS))
    if signs > MOST_OPENERS and sum(1 for _ in _OPENER.finditer(source)) > MOST_OPENERS:
        raise _too_complex(f"more than {MOST_OPENERS} opening operators (| < ( [ ${{)")
    if signs + sum(map(source.count, _OPERATOR_WORDS)) > _OPERATORS_PER_PART:
        _check_errors(source)
    tree = _parse(source)
    check_nodes(tree.root_node.descendant_count)
    return tree


def _check_errors(source: bytes) -> None:
    ends = [one.start() for one in islice(_OPERATOR.finditer(source), MOST_OPERATORS + 1)]
    if len(ends) > MOST_OPERATORS:
        raise _too_complex(f"more than {MOST_OPERATORS} operators (| < > ( ) & ; ? and others)")
    for end in ends[_OPERATORS_PER_PART::_OPERATORS_PER_PART]:
        if _errors(_parser().parse(source[:end]).root_node) > MOST_ERRORS:
            raise _too_complex(f"more than {MOST_ERRORS} syntax errors")


def _errors(root: "Node") -> int:
    """The number of errors below a node and of their children."""
    count = 0
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if one.is_error or one.is_missing:
            count += 1 + one.child_count
        if one.has_error:
            waiting.extend(one.children)
    return count


def _too_complex(what: str) -> InputError:
    return InputError(
        f"{what} in one part of the bash block",
        hint="a step is a few commands; attach long texts instead of quoting them",
    )


@lru_cache(maxsize=4)
def _parse(source: bytes) -> "Tree":
    # Cached, since several checks parse the same text one after another.
    return _parser().parse(source)


def check_nodes(count: int) -> None:
    """Refuse bash with too many syntax nodes: each costs time and memory."""
    if count > MOST_NODES:
        raise InputError(
            f"more than {MOST_NODES} words and operators of bash",
            hint="if it is a pack, split it, or attach long texts instead of quoting them",
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
        its_kind = one.type
        if its_kind == kind:
            yield one
        if one.named_child_count and its_kind != closed:
            waiting.extend(reversed(one.named_children))
