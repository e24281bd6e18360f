"""Markdown to code blocks and headings."""

import re
from functools import cache
from itertools import pairwise

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from oraclepack.pack.model import Fence
from oraclepack.pack.script import Span

_KEY = re.compile(r"^(?P<key>[A-Za-z_][\w -]*?)\s*:(?:\s+(?P<value>.*?))?\s*$")
_ITEM = re.compile(r"^\s*-\s+(?P<value>.*?)\s*$")
_COMMENT = re.compile(r"\s+#.*$")

_LONGEST_LINE = 2000
"""No key of ours is that long, and the patterns above take the square of a line's length."""


class FrontMatter(msgspec.Struct, frozen=True):
    """The keys in lower case with their values, and where the text below begins."""

    values: dict[str, tuple[str, ...]]
    lines: dict[str, int]
    """The line of each key, counted from 1."""
    body_line: int

    def first(self, *keys: str) -> str | None:
        """The first of the keys that has a value."""
        value_lists = (self.values.get(key, ()) for key in keys)
        return next((values[0] for values in value_lists if values and values[0]), None)


def read_front_matter(lines: list[str]) -> FrontMatter:
    """What is between the first two lines of three dashes; nothing if they are not there."""
    end = _end(lines)
    if end is None:
        return FrontMatter({}, {}, 1)
    values: dict[str, tuple[str, ...]] = {}
    places: dict[str, int] = {}
    key = ""
    for number, line in enumerate(lines[1:end], start=2):
        if len(line) > _LONGEST_LINE:
            continue
        pair, item = _KEY.match(line), _ITEM.match(line)
        if pair is not None:
            key = pair["key"].lower().replace("-", "_").replace(" ", "_")
            values.setdefault(key, _values(pair["value"] or ""))
            places.setdefault(key, number)
        elif item is not None and key:
            values[key] = (*values[key], *_values(item["value"]))
    return FrontMatter(values, places, end + 2)


def _end(lines: list[str]) -> int | None:
    if not lines or lines[0].rstrip() != "---":
        return None
    return next(
        (at for at, line in enumerate(lines[1:], 1) if line.rstrip() in {"---", "..."}), None
    )


def _values(text: str) -> tuple[str, ...]:
    if text.startswith("["):
        inside = _COMMENT.sub("", text).strip().removeprefix("[").removesuffix("]")
        return tuple(filter(None, (_scalar(part) for part in inside.split(","))))
    one = _scalar(text)
    return (one,) if one and one not in {"|", ">", "null", "~"} else ()


def _scalar(text: str) -> str:
    text = text.strip()
    if text[:1] in {"'", '"'}:
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text[1:]
    return "" if text.startswith("#") else _COMMENT.sub("", text).strip()


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
    """A CommonMark parser for the blocks of a text with LF line ends and without NUL.

    Without the inline rules it is twice as fast.
    """
    return MarkdownIt("commonmark").disable(["normalize", "inline", "text_join"])


def read_markdown(text: str) -> Markdown:
    """The code blocks and headings of a Markdown text with LF line ends, with their lines."""
    lines = text.split("\n")
    tokens = block_parser().parse(text.replace("\0", "\ufffd"))
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
