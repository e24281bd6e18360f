"""Answers as HTML: Markdown rendered without raw HTML, then cleaned; captures as plain paragraphs.

Nothing of an answer becomes a tag, an attribute or a style. Images become their text, links keep
only web and mail addresses, and every block carries the number of its first line, so that tasks
can point to lines. Cited places become links to the quoted lines.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from html import escape
from typing import TYPE_CHECKING

import msgspec

from oraclepack.system.printable import visible
from oraclepack.work.evidence import Citation
from oraclepack.work.mentions import placed_citations

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_MARKDOWN = 300_000
"""Characters of Markdown that are rendered; a longer answer is shown as plain text."""
_BLOCK = re.compile(r"\n\s*\n")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_LINED = {
    "paragraph_open",
    "heading_open",
    "list_item_open",
    "blockquote_open",
    "table_open",
    "fence",
    "code_block",
    "hr",
}
_LONGEST_HEADING = 140
_TAGS = {
    *("p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong"),
    *("s", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "a", "span", "div"),
}
_ATTRIBUTES = {
    "a": {"href", "class", "title"},
    "ol": {"start"},
    "span": {"class", "id"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "pre": {"id", "tabindex"},
    **{
        tag: {"id"}
        for tag in ("p", "h3", "h4", "h5", "h6", "li", "blockquote", "table", "hr", "code")
    },
}


class CitationLinks(msgspec.Struct, frozen=True):
    """Where the quoted lines of an answer's citations are on the page."""

    targets: Mapping[tuple[str, int, int], tuple[str, str]] = msgspec.field(default_factory=dict)
    """Path, first and last line of a citation → the id of its quote, and its state."""

    def find(self, citation: Citation) -> tuple[str, str] | None:
        exact = (citation.path, citation.first_line, citation.last_line)
        if exact in self.targets:
            return self.targets[exact]
        # The quote is named as its file was attached, which may be a longer path.
        lines = exact[1:]
        return next(
            (
                target
                for (path, *rest), target in self.targets.items()
                if tuple(rest) == lines and path.endswith(f"/{citation.path}")
            ),
            None,
        )


class RenderedAnswer(msgspec.Struct, frozen=True):
    """An answer as HTML, and the lines at which its blocks begin."""

    html: str
    lines: tuple[int, ...]

    def block_at(self, line: int) -> int:
        """The line of the block that a line is in; 0 for the answer as a whole."""
        return max((one for one in self.lines if one <= line), default=0)


def render_answer(
    text: str,
    prefix: str,
    links: CitationLinks,
    *,
    plain: bool,
    headings: Container[int] = (),
) -> RenderedAnswer:
    """An answer as HTML; ids of its blocks begin with `prefix`, without one they have none.

    `headings` are lines that open a section: in plain text nothing else marks them.
    """
    printable = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    if plain or len(printable) > MOST_MARKDOWN:
        return _plain(printable, prefix, links, headings)
    writer = _Writer(prefix, links)
    html = writer.document(_markdown().parse(printable))
    return RenderedAnswer(cleaned(html), tuple(writer.lines))


def cleaned(html: str) -> str:
    """HTML with the few tags and attributes that we make, and nothing else."""
    import nh3

    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )


def linked_text(text: str, links: CitationLinks) -> str:
    """A text, escaped, its citations as links."""
    pieces: list[str] = []
    at = 0
    for start, end, citation in placed_citations(text):
        target = links.find(citation)
        if target is None or start < at:
            continue
        name, state = target
        pieces.append(escape(text[at:start]))
        pieces.append(
            f'<a class="cite cite-{escape(state)}" href="#{escape(name)}">'
            f"{escape(text[start:end])}</a>"
        )
        at = end
    return "".join((*pieces, escape(text[at:])))


def _plain(
    text: str, prefix: str, links: CitationLinks, headings: Container[int]
) -> RenderedAnswer:
    """Paragraphs as they stand; only lines that are headings of sections stand out."""
    blocks = []
    lines: list[int] = []
    number = 1
    for paragraph in _paragraphs(text):
        count = paragraph.count("\n")
        body = paragraph.strip("\n")
        first = number + (len(paragraph) - len(paragraph.lstrip("\n")))
        if body.strip():
            lines.append(first)
            inner = linked_text(body, links).replace("\n", "<br>")
            mark = f' id="{escape(prefix)}L{first}"' if prefix else ""
            is_heading = first in headings and "\n" not in body and len(body) <= _LONGEST_HEADING
            tag = "h4" if is_heading else "p"
            blocks.append(f"<{tag}{mark}>{inner}</{tag}>")
        number += count
    return RenderedAnswer(cleaned("\n".join(blocks)), tuple(lines))


def _paragraphs(text: str) -> Iterator[str]:
    """The text in pieces that end with an empty line; together they are the text."""
    at = 0
    for gap in _BLOCK.finditer(text):
        yield text[at : gap.end()]
        at = gap.end()
    yield text[at:]


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    return parser.enable(["table", "strikethrough"])


class _Writer:
    """Writes the tokens of a Markdown document as HTML."""

    def __init__(self, prefix: str, links: CitationLinks) -> None:
        self._prefix = prefix
        self._links = links
        self._links_open = 0
        self._levels: list[int] = []
        self.lines: dict[int, None] = {}

    def document(self, tokens: Iterable["Token"]) -> str:
        return "".join(map(self._block, tokens))

    def _block(self, token: "Token") -> str:
        match token.type:
            case "inline":
                return "".join(map(self._inline, token.children or ()))
            case "fence" | "code_block":
                code = linked_text(token.content.rstrip("\n"), self._links)
                return f'<pre{self._mark(token)} tabindex="0"><code>{code}</code></pre>\n'
            case "hr":
                return f"<hr{self._mark(token)}>\n"
            case "table_open":
                label = 'tabindex="0" role="group" aria-label="table"'
                return f'<div class="wide" {label}><table{self._mark(token)}>\n'
            case "table_close":
                return "</table></div>\n"
            case _:
                return self._element(token)

    def _element(self, token: "Token") -> str:
        """The beginning or the end of any other block."""
        is_heading = token.type.startswith("heading")
        tag = self._heading(int(token.tag[1]), token.nesting) if is_heading else token.tag
        if token.hidden or tag not in _TAGS:
            return ""
        if token.nesting < 0:
            return f"</{tag}>\n"
        start = token.attrGet("start") if tag == "ol" else None
        number = f' start="{int(start)}"' if start is not None else ""
        return f"<{tag}{number}{self._mark(token)}>"

    def _heading(self, level: int, nesting: int) -> str:
        """Headings of an answer are below those of the page, and leave out no level."""
        if nesting > 0:
            while self._levels and self._levels[-1] >= level:
                self._levels.pop()
            self._levels.append(level)
        return f"h{min(6, 3 + len(self._levels))}"

    def _mark(self, token: "Token") -> str:
        """The id of a block: its first line, for the outermost block that begins there."""
        line = token.map[0] + 1 if token.map is not None else 0
        if not self._prefix or not line or line in self.lines or token.type not in _LINED:
            return ""
        self.lines[line] = None
        return f' id="{escape(self._prefix)}L{line}"'

    def _inline(self, token: "Token") -> str:
        text = token.content
        match token.type:
            case "text":
                return self._text(text)
            case "code_inline":
                return f"<code>{self._text(text)}</code>"
            case "softbreak" | "hardbreak":
                return "\n" if token.type == "softbreak" else "<br>\n"
            case "image":  # it is not loaded: its text and its address are shown
                address = escape(str(token.attrGet("src") or ""))
                return f"[image: {escape(text)}] <code>{address}</code>"
            case "link_open":
                self._links_open += 1
                return self._link(str(token.attrGet("href") or ""))
            case _:
                self._links_open -= token.type == "link_close"
                end = "/" if token.nesting < 0 else ""
                return f"<{end}{token.tag}>" if token.tag in _TAGS else escape(text)

    def _text(self, text: str) -> str:
        return escape(text) if self._links_open else linked_text(text, self._links)

    def _link(self, href: str) -> str:
        """Only web and mail addresses can be followed: a relative one means nothing to a reader."""
        return f'<a class="out" href="{escape(href)}">' if _SAFE_LINK.match(href) else "<a>"
