"""An answer's Markdown as a flat run of blocks. The only home of markdown-it in this package."""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.system.markdown_text import in_backquotes

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


LONGEST_INLINE = 12_000
"""Characters of one paragraph that are read: inline Markdown can be made to cost its square."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
    "\ud800-\udfff]"
)
_COMMENT_END = "-->"
_COMMENT = re.compile(rf"<!--.*?{_COMMENT_END}", re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,200}>")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_CHECKBOX = re.compile(r"\[(?P<mark>[ xX])\]\s+")
_SPACE = re.compile(r"\s+")


class BlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    ITEM = "item"
    PARAGRAPH = "paragraph"
    ROW = "row"
    CODE = "code"


class Block(msgspec.Struct, frozen=True):
    """One piece of an answer, in the order of the text."""

    kind: BlockKind
    text: str
    """In plain words; code keeps its backticks, a code block and a paragraph their lines."""
    depth: int = 0
    """The level of a heading; how deep a list item or a paragraph inside one stands."""
    links: tuple[str, ...] = ()
    """Where its links point."""
    cells: tuple[tuple[str, str], ...] = ()
    """Of a table row: the head of each column and the cell."""
    language: str = ""
    number: int | None = None
    """Of an item in a numbered list."""
    done: bool | None = None
    """Of a task-list item: whether it is ticked."""


@cache
def _parser() -> "MarkdownIt":
    # Imported here: only the actionizer pays for it.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    # Inline text is parsed by ourselves, bounded; see LONGEST_INLINE.
    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])


def clean(text: str) -> str:
    """A text without what only steers a screen, with LF line ends."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", plain)


def read_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of an answer."""
    return tuple(_Walk().blocks(_parser().parse(clean(text))))


class _Walk:
    """One pass over the tokens of a text."""

    def __init__(self) -> None:
        self._lists: list[str] = []
        self._heading = 0
        self._fresh = False
        """A list item has begun and has had no text yet."""
        self._number: int | None = None
        self._heads: list[str] = []
        self._row: list[str] | None = None
        self._in_head = False
        self._links: list[str] = []

    def blocks(self, tokens: "list[Token]") -> Iterator[Block]:
        for token in tokens:
            match token.type:
                case "inline":
                    yield from self._inline(token)
                case "fence" | "code_block":
                    yield self._code(token)
                case "html_block":
                    words = _squeezed(_without_tags(token.content))
                    if words:
                        yield Block(BlockKind.PARAGRAPH, words, len(self._lists))
                case "tr_close":
                    yield from self._end_row()
                case _:
                    self._structure(token)

    def _inline(self, token: "Token") -> Iterator[Block]:
        flat = _flat(token)
        if self._row is not None:
            self._row.append(flat.text)
            self._links += flat.links
        elif self._heading:
            yield replace(flat, kind=BlockKind.HEADING, depth=self._heading)
        else:
            yield self._text(flat)

    def _structure(self, token: "Token") -> None:
        match token.type:
            case "heading_open" | "heading_close":
                self._heading = int(token.tag[1:]) if token.nesting == 1 else 0
            case "bullet_list_open" | "ordered_list_open":
                self._lists.append(token.type)
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._fresh = True
                self._number = int(token.info) if token.info.isdigit() else None
            case "list_item_close":
                self._fresh = False
            case "thead_open" | "thead_close":
                self._in_head = token.nesting == 1
            case "tr_open":
                self._row, self._links = [], []

    def _text(self, flat: Block) -> Block:
        block = replace(flat, depth=len(self._lists))
        if not self._fresh:
            return block
        self._fresh = False
        mark = _CHECKBOX.match(block.text)
        done = None if mark is None else mark["mark"] in "xX"
        text = block.text if mark is None else block.text[mark.end() :]
        return replace(block, kind=BlockKind.ITEM, text=text, number=self._number, done=done)

    def _code(self, token: "Token") -> Block:
        self._fresh = False
        info = token.info.split()
        language = info[0].lower() if info else ""
        return Block(BlockKind.CODE, token.content, len(self._lists), language=language)

    def _end_row(self) -> Iterator[Block]:
        cells, self._row = self._row or [], None
        if self._in_head:
            self._heads = cells
            return
        heads = [*self._heads, *[""] * len(cells)][: len(cells)]
        pairs = tuple(zip(heads, cells, strict=True))
        text = "; ".join(cell for cell in cells if cell)
        if text:
            yield Block(
                BlockKind.ROW, text, len(self._lists), links=tuple(self._links), cells=pairs
            )


def _flat(token: "Token") -> Block:
    """Inline Markdown as plain words: emphasis and links lose their marks, code keeps its own."""
    parser = _parser()
    children: list[Token] = []
    parser.inline.parse(token.content[:LONGEST_INLINE], parser, {}, children)
    words: list[str] = []
    links: list[str] = []
    for child in children:
        match child.type:
            # `text_special` is an escaped character or an entity, as the character it stands for.
            case "text" | "text_special":
                words.append(child.content)
            case "code_inline":
                words.append(in_backquotes(" ".join(child.content.split())))
            case "html_inline":
                words.append(_tag(child.content))
            case "softbreak" | "hardbreak":
                words.append("\n")
            case "link_open":
                links.append(str(child.attrGet("href") or ""))
            case "image":
                words.append(child.content)
    lines = (_squeezed(line) for line in "".join(words).split("\n"))
    text = "\n".join(line for line in lines if line)
    return Block(BlockKind.PARAGRAPH, text, links=tuple(links))


def _tag(html: str) -> str:
    """A tag within a line is text: `List<String>` looks like one. A comment says nothing."""
    if html.startswith("<!--"):
        return ""
    return "\n" if _BREAK.fullmatch(html) else html


def _without_tags(html: str) -> str:
    """The words of some HTML. A comment that never ends hides nothing."""
    # Looked for only where one ends: thousands that do not would cost their square.
    end = html.rfind(_COMMENT_END) + len(_COMMENT_END) if _COMMENT_END in html else 0
    return _TAG.sub(" ", _COMMENT.sub(" ", html[:end]) + html[end:])


def _squeezed(text: str) -> str:
    return _SPACE.sub(" ", text).strip()
