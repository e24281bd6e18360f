"""Markdown to code blocks and headings."""

from functools import cache
from itertools import pairwise

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from oraclepack.core.pack import Fence
from oraclepack.core.source import Span


class Heading(msgspec.Struct, frozen=True):
    """A heading of the Markdown text."""

    text: str
    line: int


class Markdown(msgspec.Struct, frozen=True):
    """The parts of a Markdown text that a pack is read from."""

    fences: tuple[Fence, ...]
    headings: tuple[Heading, ...]


@cache
def block_parser() -> MarkdownIt:
    """A CommonMark parser for blocks only: without the inline rules it is twice as fast."""
    return MarkdownIt("commonmark").disable(["inline", "text_join"])


def read_markdown(text: str) -> Markdown:
    """The code blocks and headings of a Markdown text, with their lines."""
    lines = text.split("\n")
    tokens = block_parser().parse(text)
    fences = [_fence(token, lines) for token in tokens if token.type in {"fence", "code_block"}]
    headings = [
        Heading(following.content.strip(), token.map[0] + 1)
        for token, following in pairwise(tokens)
        if token.type == "heading_open" and token.map is not None
    ]
    return Markdown(tuple(fences), tuple(headings))


def _fence(token: Token, lines: list[str]) -> Fence:
    assert token.map is not None
    first, end = token.map
    is_fence = token.type == "fence"
    # Only a file that ends inside a block, without a line end, has a last line without one.
    ends = "\n" if token.content and not token.content.endswith("\n") else ""
    content = token.content + ends
    content_lines = content.count("\n")
    # A closed fence spends two lines on its markers, an unclosed one only the first.
    closed = not is_fence or end - first == content_lines + 2
    last = min(end, len(lines))
    span = Span(first + 1, 1, last, len(lines[last - 1]) + 1)
    return Fence(
        info=token.info.strip(),
        marker=token.markup if is_fence else "",
        closed=closed,
        content=content,
        content_line=first + 2 if is_fence else first + 1,
        span=span,
    )
