"""The quick reader of plain Markdown against the CommonMark parser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oraclepack.parse.fences import read_commonmark
from oraclepack.parse.plain_markdown import read_plain

_WORDS = ("a", "é", "1", "0", ":", "[x]: y", "\u00a0", "\x0b", "\x0c", "\u2028", "\\", "-->", "_")
_MARKS = ("```", "````", "~~~", "`", "~", "#", "##", "#######", "=", "===", "-", "---", "*", "+")
_STARTS = ("1.", "2)", "1234567890.", ">", "<", "<!--", "<div>", "</div>", "bash", "***", "___")
_SPACES = (" ", "  ", "   ", "    ", "     ", "\t")
_PIECES = st.sampled_from((*_WORDS, *_MARKS, *_STARTS, *_SPACES))
_LINES = st.lists(_PIECES, max_size=5).map("".join)
_KNOWN = st.sampled_from(
    (
        "",
        "",
        "text",
        "```bash",
        "```",
        "~~~",
        "# t",
        "## t #",
        "- x",
        "  y",
        "---",
        "===",
        "1. z",
        "  ",
    )
)
_TEXTS = st.lists(_KNOWN | _LINES, max_size=14).map("\n".join)


@settings(max_examples=600, deadline=None)
@given(_TEXTS)
def test_where_it_answers_it_answers_as_the_commonmark_parser(text: str) -> None:
    found = read_plain(text)

    assert found is None or found == read_commonmark(text)


BLOCK = "```bash\n# 01) one\ntrue\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"# Pack\n\nSome *text*.\n\n{BLOCK}", id="prose and a fence"),
        pytest.param(f"- out_dir: x\n- b: `y`\n  more\n\n1. z\n\n{BLOCK}", id="lists"),
        pytest.param(f"- No other ``` fences.\n\n{BLOCK}", id="backticks within a line"),
        pytest.param(f"{BLOCK}\nCoverage check\n-----\n\n- a: ok\n", id="an underlined heading"),
        pytest.param(f"a\n\n---\n\n{BLOCK}", id="a rule between paragraphs"),
        pytest.param(f"a < b and <i>c</i>\n{BLOCK}", id="angle brackets within a line"),
        pytest.param("~~~~bash\n```\n    ~~~~\n~~~\n ~~~~~ \n", id="a fence that holds others"),
        pytest.param("", id="nothing at all"),
    ],
)
def test_plain_packs_need_no_parser(text: str) -> None:
    assert read_plain(text) == read_commonmark(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"<!--\n{BLOCK}-->\n", id="a comment around the fence"),
        pytest.param(f"- <div>\n{BLOCK}", id="HTML in a list"),
        pytest.param("> ```bash\n> true\n> ```\n", id="a quotation"),
        pytest.param("1. x\n\n   ```bash\n   true\n   ```\n", id="a fence in a list"),
        pytest.param("- ```bash\n  true\n  ```\n", id="a fence behind a list marker"),
        pytest.param("    true\n", id="indented code"),
        pytest.param("-     true\n", id="indented code in a list"),
        pytest.param("a\nb\n---\n", id="an underlined heading of two lines"),
        pytest.param("- a\n---\n", id="a rule below a list"),
        pytest.param("# a #\n", id="a heading with a tail"),
        pytest.param("- # a\n", id="a heading in a list"),
        pytest.param("```bash\ntrue\n", id="a fence that is never closed"),
        pytest.param("``` a`b\n```\n", id="backticks that open nothing"),
        pytest.param("```bash\ntr\0ue\n```\n", id="a null character"),
    ],
)
def test_everything_else_is_left_to_the_parser(text: str) -> None:
    assert read_plain(text) is None
