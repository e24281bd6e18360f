"""Answers as HTML: Markdown rendered without raw HTML, then cleaned; captures as plain paragraphs.

Nothing of an answer becomes a tag, an attribute or a style. Images become their text, links keep
only web and mail addresses, and every block carries the number of its first line, so that tasks
can point to lines. Cited places become links to the quoted lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from oraclepack.system.printable import visible
from oraclepack.work.evidence import Citation
from oraclepack.work.mentions import placed_citations

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
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
    """Where the quoted lines of an answer's citations stand on the page."""

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
        """The line of the block that a line stands in; 0 for the answer as a whole."""
        return max((one for one in self.lines if one <= line), default=0)


def render_answer(text: str, prefix: str, links: CitationLinks, *, plain: bool) -> RenderedAnswer:
    """An answer as HTML; ids of its blocks begin with `prefix`, without one they have none."""
    shown = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    if plain or len(shown) > MOST_MARKDOWN:
        return _plain(shown, prefix, links)
    env: dict[str, Any] = {"prefix": prefix, "links": links, "lines": []}
    html = _markdown().render(shown, env)
    return RenderedAnswer(cleaned(html), tuple(dict.fromkeys(env["lines"])))


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


def _plain(text: str, prefix: str, links: CitationLinks) -> RenderedAnswer:
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
            blocks.append(f"<p{mark}>{inner}</p>")
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

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    made.enable(["table", "strikethrough"])
    for name in _LINED:
        made.add_render_rule(name, _block)
    for name, rule in {
        "heading_close": _heading_close,
        "table_close": _table_close,
        "text": _text,
        "code_inline": _code_inline,
        "image": _image,
        "link_open": _link_open,
    }.items():
        made.add_render_rule(name, rule)
    return made


def _block(
    self: "RendererHTML",
    tokens: Sequence["Token"],
    index: int,
    options: Any,  # noqa: ANN401 - markdown-it's own
    env: Any,  # noqa: ANN401 - the dictionary of `render_answer`
) -> str:
    """A block with the id of its first line."""
    token = tokens[index]
    mark = ""
    if token.map is not None and not token.hidden:
        line = token.map[0] + 1
        if env["prefix"] and line not in env["lines"]:
            env["lines"].append(line)
            mark = f' id="{escape(env["prefix"])}L{line}"'
    match token.type:
        case "fence" | "code_block":
            code = linked_text(token.content.rstrip("\n"), env["links"])
            return f'<pre{mark} tabindex="0"><code>{code}</code></pre>\n'
        case "hr":
            return f"<hr{mark}>\n"
        case "heading_open":
            return f"<{_heading(token.tag)}{mark}>"
        case "table_open":
            label = 'tabindex="0" role="region" aria-label="table"'
            return f'<div class="wide" {label}><table{mark}>\n'
        case _:
            start = token.attrGet("start")
            tag = token.tag + (f' start="{int(start)}"' if start is not None else "")
            return "" if token.hidden else f"<{tag}{mark}>"


def _heading(tag: str) -> str:
    """Headings of answers stand below those of the page."""
    return f"h{min(6, int(tag[1]) + 3)}"


def _heading_close(  # noqa: PLR0913 - as markdown-it calls it
    self: "RendererHTML", tokens: Sequence["Token"], index: int, options: Any, env: Any
) -> str:
    return f"</{_heading(tokens[index].tag)}>\n"


def _table_close(  # noqa: PLR0913 - as markdown-it calls it
    self: "RendererHTML", tokens: Sequence["Token"], index: int, options: Any, env: Any
) -> str:
    return "</table></div>\n"


def _text(  # noqa: PLR0913 - as markdown-it calls it
    self: "RendererHTML", tokens: Sequence["Token"], index: int, options: Any, env: Any
) -> str:
    inside_link = any(
        one.type == "link_open" and one.level < tokens[index].level for one in tokens[:index]
    ) and any(one.type == "link_close" for one in tokens[index:])
    text = tokens[index].content
    return escape(text) if inside_link else linked_text(text, env["links"])


def _code_inline(  # noqa: PLR0913 - as markdown-it calls it
    self: "RendererHTML", tokens: Sequence["Token"], index: int, options: Any, env: Any
) -> str:
    return f"<code>{linked_text(tokens[index].content, env['links'])}</code>"


def _image(  # noqa: PLR0913 - as markdown-it calls it
    self: "RendererHTML", tokens: Sequence["Token"], index: int, options: Any, env: Any
) -> str:
    """An image is not loaded: its text and its address are shown."""
    token = tokens[index]
    return f"[image: {escape(token.content)}] <code>{escape(str(token.attrGet('src') or ''))}</code>"


def _link_open(  # noqa: PLR0913 - as markdown-it calls it
    self: "RendererHTML", tokens: Sequence["Token"], index: int, options: Any, env: Any
) -> str:
    """Only web and mail addresses can be followed: a relative one means nothing to a reader."""
    href = str(tokens[index].attrGet("href") or "")
    return f'<a class="out" href="{escape(href)}">' if _SAFE_LINK.match(href) else "<a>"
