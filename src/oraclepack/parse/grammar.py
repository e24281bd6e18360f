"""bash text to a syntax tree. The only home of tree-sitter."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


@cache
def _parser() -> "Parser":
    # Imported here: commands that read no pack must not pay for it.
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def syntax_tree(source: bytes) -> "Tree":
    """The tree of a stretch of bash; where it cannot be read, the tree holds ERROR nodes."""
    return _parser().parse(source)


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
