"""The words of a command, with what the tree leaves out between them.

It drops a lone `-` and escaped blanks, and makes two words of one that is continued on the next
line or has a backslash behind its quotes.
"""

import re
from typing import TYPE_CHECKING

from oraclepack.pack.parse.grammar import text_of
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.parse.variables import Variables
from oraclepack.pack.parse.word_values import word_of
from oraclepack.pack.script import Redirect, Word

if TYPE_CHECKING:
    from tree_sitter import Node

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.pack.parse.word_values import joined

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


REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_GLUE = re.compile(rb"(?:\\[\n \t])*")
_BLANKS_BEHIND = re.compile(rb"(?:\\[ \t])+")
_BLANKS_BEFORE = re.compile(rb"(?<=\s)(?:\\[ \t])+$")


class WordReader(msgspec.Struct, frozen=True):
    """Reads the words of commands out of one stretch of bash."""

    source: bytes
    place: Locator
    variables: Variables
    backquoted: bool = False
    """Between backquotes bash reads backslashes twice."""

    def among(self, parts: "list[Node]", redirects: "list[Node]") -> Iterator[Word]:
        """The words that these nodes are, redirections between them left out."""
        pending: Word | None = None
        ordered = sorted([*parts, *redirects], key=lambda node: node.start_byte)
        for index, part in enumerate(ordered):
            if part.type in REDIRECTS:
                continue
            word = self._word(part)
            pending = word if pending is None else joined(pending, word)
            after = ordered[index + 1] if index + 1 < len(ordered) else None
            gap = self.source[part.end_byte : after.start_byte] if after is not None else b" "
            if _is_plain(gap):
                yield pending
                pending = None
                continue
            if after is not None and after.type not in REDIRECTS and _GLUE.fullmatch(gap):
                pending = pending if gap in {b"", b"\\\n"} else replace(pending, value=None)
                continue
            if blanks := _BLANKS_BEHIND.match(gap):
                pending, gap = replace(pending, value=None), gap[blanks.end() :]
            yield pending
            pending = None
            if not gap.isspace():
                yield from self._words_in_gap(_BLANKS_BEFORE.sub(b"", gap), part)
                pending = self._unknown(part) if _BLANKS_BEFORE.search(gap) else None
        if pending is not None:
            yield pending

    def _word(self, part: "Node") -> Word:
        word = word_of(part, self.variables, self.place)
        if self.backquoted and "\\" in word.source:
            return replace(word, value=None, template=word.source)
        return word

    def _words_in_gap(self, gap: bytes, before: "Node") -> Iterator[Word]:
        for word in gap.replace(b"\\\n", b" ").decode("utf-8", "replace").split():
            value = word if word == "-" else None
            yield Word(word, value, self.place.span(before.end_point, before.end_point), word)

    def _unknown(self, before: "Node") -> Word:
        """The blank that a word begins with."""
        return Word("\\ ", None, self.place.span(before.end_point, before.end_point), " ")


def _is_plain(gap: bytes) -> bool:
    """Nothing but white space and ends of continued lines, the former first."""
    return gap.isspace() or (gap[:1].isspace() and gap.replace(b"\\\n", b" ").isspace())
