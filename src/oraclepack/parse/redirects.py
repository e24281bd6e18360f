"""A redirection to or from a file, as the tree tells it."""

from typing import TYPE_CHECKING

from oraclepack.core.script import Redirect, Word
from oraclepack.parse.grammar import text_of
from oraclepack.parse.locate import Locator
from oraclepack.parse.values import word_of
from oraclepack.parse.variables import Variables

if TYPE_CHECKING:
    from tree_sitter import Node


def file_redirect(
    node: "Node", variables: Variables, place: Locator, extra: list[Word]
) -> list[Redirect]:
    """The redirection; words that belong to the command behind it are added to `extra`."""
    descriptor = next((c for c in node.children if c.type == "file_descriptor"), None)
    operator = next((text_of(c) for c in node.children if not c.is_named), ">")
    # The tree hands words that follow a redirection to the redirection: `> out.md -p x`.
    targets = node.children_by_field_name("destination")
    extra.extend(word_of(target, variables, place) for target in targets[1:])
    number = text_of(descriptor) if descriptor is not None else ""
    span = place.span(node.start_point, node.end_point)
    return [
        Redirect(
            operator,
            int(number) if number.isdecimal() else None,
            word_of(target, variables, place),
            span,
        )
        for target in targets[:1]
    ]
