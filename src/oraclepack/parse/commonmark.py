"""The CommonMark parser, for blocks alone. Slow to load, so imported where it is needed."""

from functools import cache

from markdown_it import MarkdownIt


@cache
def block_parser() -> MarkdownIt:
    """Without the inline rules, which nobody here needs, a long text is read twice as fast."""
    return MarkdownIt("commonmark").disable(["inline", "text_join"])
