"""Answers as HTML: Markdown rendered without raw HTML, then cleaned; captures as plain paragraphs.

Nothing of an answer becomes a tag, an attribute or a style. Images become their text, links keep
only web and mail addresses, and every block carries the number of its first line, so that tasks
can point to lines. Cited places become links to the quoted lines.
"""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from oraclepack.system.printable import visible
from oraclepack.view.report.data import SourceQuote
from oraclepack.work.evidence import Citation, placed_citations

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_MARKDOWN = 300_000
"""Characters of Markdown that are rendered; a longer answer is shown as plain text."""
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


class CitationLinks:
    """Where the quoted lines of an answer's citations are on the page."""

    def __init__(self, quotes: Iterable[tuple[str, SourceQuote]]) -> None:
        """`quotes` are those of the answer, each with its id on the page."""
        self._targets = {
            (one.path, one.first_line, one.last_line): (name, one.state) for name, one in quotes
        }

    def find(self, citation: Citation) -> tuple[str, str] | None:
        """The id of the quote of a citation, and its state."""
        *lines, exact = citation.first_line, citation.last_line, citation.path
        if (exact, *lines) in self._targets:
            return self._targets[exact, citation.first_line, citation.last_line]
        # The quote is named as its file was attached, which may be a longer path.
        return next(
            (
                target
                for (path, *rest), target in self._targets.items()
                if rest == lines and path.endswith(f"/{exact}")
            ),
            None,
        )

    def linked(self, text: str) -> str:
        """A text, escaped, its citations as links."""
        pieces: list[str] = []
        at = 0
        for start, end, citation in placed_citations(text):
            target = self.find(citation)
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
    tokens = _markdown().parse(printable)
    lines = _prepare(tokens, prefix)
    html = _markdown().renderer.render(tokens, _markdown().options, {"links": links})
    return RenderedAnswer(cleaned(html), lines)


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


def _plain(
    text: str, prefix: str, links: CitationLinks, headings: Container[int]
) -> RenderedAnswer:
    """Paragraphs as they stand; only lines that are headings of sections stand out."""
    blocks: dict[int, str] = {}
    number = 1
    for is_empty, group in groupby(text.split("\n"), key=lambda line: not line.strip()):
        lines = list(group)
        if not is_empty:
            body = "\n".join(lines)
            is_heading = number in headings and len(lines) == 1 and len(body) <= _LONGEST_HEADING
            tag = "h4" if is_heading else "p"
            mark = f' id="{escape(prefix)}L{number}"' if prefix else ""
            blocks[number] = f"<{tag}{mark}>{links.linked(body).replace(chr(10), '<br>')}</{tag}>"
        number += len(lines)
    return RenderedAnswer(cleaned("\n".join(blocks.values())), tuple(blocks))


def _prepare(tokens: Iterable["Token"], prefix: str) -> tuple[int, ...]:
    """Give blocks their ids, and take the addresses of links that cannot be followed.

    The id of a block is its first line, for the outermost block that begins there. Headings of an
    answer are below those of the page, and leave out no level. Returns the lines with an id.
    """
    lines: dict[int, None] = {}
    levels: list[int] = []
    for token in tokens:
        if token.type.startswith("heading"):
            level = int(token.tag[1])
            while token.nesting > 0 and levels and levels[-1] >= level:
                levels.pop()
            levels += [level] if token.nesting > 0 else []
            token.tag = f"h{min(6, 3 + len(levels))}"
        line = token.map[0] + 1 if token.map and token.type in _LINED and not token.hidden else 0
        if prefix and line and line not in lines:
            lines[line] = None
            token.attrSet("id", f"{prefix}L{line}")
        depth = 0
        for child in token.children or ():
            depth += child.nesting if child.type in {"link_open", "link_close"} else 0
            child.meta["is_linked"] = depth > 0
            if child.type == "link_open":
                href = str(child.attrGet("href") or "")
                # A relative address means nothing to a reader.
                is_safe = _SAFE_LINK.match(href) is not None
                child.attrs = {"class": "out", "href": href} if is_safe else {}
    return tuple(lines)


Tokens: TypeAlias = Sequence["Token"]


def _text(_: object, tokens: Tokens, at: int, __: object, env: dict[str, CitationLinks]) -> str:
    token = tokens[at]
    is_linked = token.meta.get("is_linked")
    text = escape(token.content) if is_linked else env["links"].linked(token.content)
    return f"<code>{text}</code>" if token.type == "code_inline" else text


def _code(_: object, tokens: Tokens, at: int, __: object, env: dict[str, CitationLinks]) -> str:
    mark = escape(str(tokens[at].attrGet("id") or ""))
    text = env["links"].linked(tokens[at].content.rstrip("\n"))
    return f'<pre id="{mark}" tabindex="0"><code>{text}</code></pre>\n'.replace(' id=""', "")


def _image(_: object, tokens: Tokens, at: int, *__: object) -> str:
    """It is not loaded: its text and its address are shown."""
    address = escape(str(tokens[at].attrGet("src") or ""))
    return f"[image: {escape(tokens[at].content)}] <code>{address}</code>"


def _table(_: object, tokens: Tokens, at: int, *__: object) -> str:
    mark = escape(str(tokens[at].attrGet("id") or ""))
    label = 'tabindex="0" role="group" aria-label="table"'
    return f'<div class="wide" {label}><table id="{mark}">\n'.replace(' id=""', "")


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    rules: dict[str, Callable[..., str]] = {
        **dict.fromkeys(("text", "code_inline"), _text),
        **dict.fromkeys(("fence", "code_block"), _code),
        "image": _image,
        "table_open": _table,
        "table_close": lambda *_: "</table></div>\n",
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser
