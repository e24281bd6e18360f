"""Whatever the text: what is rendered is the text, in no other elements than ours."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from oraclepack.system.markdown_text import (
    code_block,
    code_pieces,
    code_span,
    escape,
    escape_keeping_code,
    in_backquotes,
    quotable,
    without_live_text,
)
from oraclepack.system.printable import spelled

COMMONMARK = MarkdownIt("commonmark")
GFM = MarkdownIt("commonmark").enable(["table", "strikethrough"])

LIVE = re.compile(
    r"@\w|#\d|\bGH-\d|://|\bwww\.|\b(?:mailto|xmpp):\w|:[_+-]*[^\W_][\w+-]*:|\b[0-9a-f]{7,40}\b",
    re.IGNORECASE,
)
"""What GitHub makes a link, a mention or a picture of, wherever text is not code.

Every name of an emoji has a letter or a digit.
"""

PARTS = st.sampled_from(
    [
        *r"\`*_[]()<>&#!|~-+=:.;'\"{}^$@/%?",
        *(
            "``",
            "```",
            "~~~",
            "**",
            "__",
            "&gt;",
            "&#42;",
            "&amp;lt;",
            r"\_",
            r"\*",
            "\\`",
            "1.",
            "12)",
        ),
        *(
            "a",
            "B",
            "é",
            "日",
            "🐍",
            "7",
            "foo_bar",
            "snake__case",
            "x",
            " ",
            "  ",
            "    ",
            "\t",
            "\n",
        ),
        *(
            "![a](http://x/y.png)",
            "[a](b)",
            "[a]: /b",
            "[ ] ",
            "[x] ",
            "- ",
            "> ",
            "# ",
            "---",
            "===",
        ),
        *(
            "<img src=x>",
            "<!-- x -->",
            "<!--",
            "-->",
            "<b>",
            "</b>",
            "<http://x>",
            "<a@b.c>",
            "<br>",
        ),
        *(
            "@ada",
            "@org/team",
            "a@b.c",
            "fixes #13",
            "octo/repo#14",
            "GH-5",
            "closes: GH-5",
            ":tada:",
        ),
        *(
            "https://github.com/o/r/issues/3",
            "www.x.org",
            "mailto:a@b",
            "deadbeef1",
            "$x$",
            "| a |",
        ),
        *(
            "<!-- keep: x -->",
            "| - | - |",
            "\r",
            "\r\n",
            "\u00a0",
            "\u2028",
            "\u202e",
            "\x9b",
            "\x00",
        ),
    ]
)
TEXTS = st.lists(PARTS, max_size=14).map("".join) | st.text(max_size=40)


def rendered(markdown: str, parser: MarkdownIt, *, wrap: str = "{}") -> list[Token]:
    """The inline tokens of the only block that there should be."""
    tokens = parser.parse(wrap.format(markdown))
    inline = [token for token in tokens if token.type == "inline"]
    assert len(inline) <= 1, "more than one block"
    blocks = {token.type for token in tokens if token.type != "inline"}
    assert blocks <= {
        *("paragraph_open", "paragraph_close", "heading_open", "heading_close"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
    }
    return list(inline[0].children or []) if inline else []


def shown(tokens: list[Token]) -> str:
    assert {token.type for token in tokens} <= {"text", "code_inline"}
    return "".join(token.content for token in tokens)


PLACES = pytest.mark.parametrize(
    "place",
    [
        pytest.param("{}", id="a paragraph"),
        pytest.param("- {}", id="an item of a list"),
        pytest.param("- [ ] {}", id="a task"),
        pytest.param("### OP3-1 {}", id="a heading"),
        pytest.param("### {}", id="all of a heading"),
        pytest.param("Where: {}", id="behind a word"),
    ],
)


def own(place: str) -> str:
    return place.format("").removeprefix("### ").removeprefix("- ").removesuffix("{}")


@PLACES
@given(text=TEXTS)
def test_the_text_is_shown_to_the_letter(place: str, text: str) -> None:
    for parser in (COMMONMARK, GFM):
        tokens = rendered(escape(text), parser, wrap=place)
        assert shown(tokens).removeprefix(own(place)) == spelled(text) or not text.strip()


@PLACES
@given(text=TEXTS)
def test_code_between_backquotes_is_code_and_all_else_is_text(place: str, text: str) -> None:
    expected = "".join(part for _, part in code_pieces(spelled(text)))
    for parser in (COMMONMARK, GFM):
        tokens = rendered(escape_keeping_code(text), parser, wrap=place)
        assert shown(tokens).removeprefix(own(place)) == expected or not expected.strip()


@given(text=TEXTS)
def test_a_code_span_holds_its_text(text: str) -> None:
    tokens = rendered(code_span(text), GFM, wrap="x {}")

    assert shown(tokens).removeprefix("x ") == spelled(text) or not text.strip()


@given(text=TEXTS)
def test_a_table_cell_holds_its_text(text: str) -> None:
    for markdown, expected in (
        (escape(text, cell=True), spelled(text)),
        (code_span(text, cell=True), spelled(text)),
    ):
        tokens = GFM.parse(f"| a | b | c |\n|---|---|---|\n| x | {markdown} | y |\n")
        cells = [shown(token.children or []) for token in tokens if token.type == "inline"]
        assert len(cells) == 6
        assert cells[3] == "x"
        assert cells[5] == "y"
        assert cells[4] == expected or not expected.strip()


@given(text=TEXTS)
def test_a_block_holds_its_lines(text: str) -> None:
    tokens = GFM.parse(f"a\n\n{code_block(text, 'text')}\nb\n")
    (block,) = [token for token in tokens if token.type == "fence"]

    assert [token.content for token in tokens if token.type == "inline"] == ["a", "b"]
    assert block.content.removesuffix("\n") == spelled(text).removesuffix("\n")


@given(text=TEXTS)
@example(text=":_:")
def test_nothing_is_live_outside_code(text: str) -> None:
    for markdown in (escape(text), escape_keeping_code(text), code_span(text)):
        for token in rendered(markdown, GFM, wrap="x {}"):
            assert token.type == "code_inline" or not LIVE.search(token.content)
    for is_code, part in code_pieces(without_live_text(text)):
        assert is_code or not LIVE.search(part)


@given(text=TEXTS)
def test_no_comment_begins_in_what_is_written(text: str) -> None:
    for markdown in (escape(text), escape_keeping_code(text), code_span(text)):
        assert "<!--" not in markdown
        assert "\n" not in markdown


@given(text=TEXTS.filter(lambda text: "\n" not in text and "\r" not in text))
def test_a_record_can_hold_any_code(text: str) -> None:
    assert code_pieces(in_backquotes(text)) == ([(True, text)] if text else [])


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        pytest.param("foo_bar and x > 5", "foo_bar and x > 5", id="honest text stays as it is"),
        pytest.param(r"C:\new\dir", r"C:\new\dir", id="a path of Windows"),
        pytest.param("x & y &gt; z", "x & y &amp;gt; z", id="an entity is shown as written"),
        pytest.param("a * b _c_", r"a \* b \_c\_", id="emphasis"),
        pytest.param("![x](http://e/p.png)", r"!\[x\](`http://e/p.png`)", id="an image"),
        pytest.param("<img src=x>", "&lt;img src=x>", id="HTML"),
        pytest.param("1. one", r"1\. one", id="a number at the start"),
        pytest.param("# head #", r"\# head \#", id="the signs of a heading"),
        pytest.param("Ask @ada.", "Ask `@ada`.", id="a mention"),
        pytest.param("so :-1: it", "so :-`1`: it", id="an emoji"),
        pytest.param(":_: or :-:", r":\_: or :-:", id="no emoji has a name of signs only"),
        pytest.param("fixes #13, octo/repo#14", "fixes `#13`, `octo/repo#14`", id="references"),
        pytest.param("`a`@ada", "`a@ada`", id="code beside a mention is one span"),
        pytest.param("``a`b``", "``a`b``", id="code with a backquote"),
        pytest.param("a ` b", r"a \` b", id="a backquote alone"),
    ],
)
def test_what_is_written(text: str, markdown: str) -> None:
    assert escape_keeping_code(text) == markdown


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param("# Head\n\n- [ ] a *b* `c`\n", "# Head\n\n- [ ] a *b* `c`\n", id="plain"),
        pytest.param("an ![x](y)", "```markdown\nan ![x](y)\n```", id="an image"),
        pytest.param("a <b> c", "```markdown\na <b> c\n```", id="HTML"),
        pytest.param("ask @ada", "```markdown\nask @ada\n```", id="a mention"),
        pytest.param("[a]: /b", "```markdown\n[a]: /b\n```", id="a target of links"),
        pytest.param("````\nx", "`````markdown\n````\nx\n`````", id="a block without an end"),
    ],
)
def test_what_is_quoted(text: str, quoted: str) -> None:
    assert quotable(text) == quoted


def test_many_backquotes_take_no_longer_than_others() -> None:
    runs = "".join("`" * (n % 500 + 1) + "a" for n in range(4000))

    assert "".join(part for _, part in code_pieces(runs)).count("a") == 4000
