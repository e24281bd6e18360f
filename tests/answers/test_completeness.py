"""Where an answer stops early, and where it only looks so."""

import random

import pytest

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.pack.answer_sections import ALL_SECTIONS
from tests.answers.test_answer_reader import CAPTURED, MARKDOWN

HEAD = (
    "Direct answer\n\nThe cache is never emptied by this code.\n\nRisks/unknowns\n\nNone that only"
    " this file shows.\n\nNext smallest concrete experiment\n\nFill it with entries and watch.\n\n"
    "If evidence is insufficient, attach next\n\n"
)


def is_cut(end: str) -> bool:
    return read_answer_text(HEAD + end, expected=ALL_SECTIONS).cut is not None


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("src/cache/**\n\nAny store that onl", id="half a word"),
        pytest.param("Files that matter on some p", id="one letter"),
        pytest.param("I", id="one letter alone"),
        pytest.param("src/cache.py\n\nAny ba", id="two letters of a word"),
        pytest.param("Attach `src/ca", id="open code"),
        pytest.param("The settings (see the", id="an open bracket"),
        pytest.param("src/cache.py,", id="a comma"),
        pytest.param("One of these:", id="a colon"),
        pytest.param("- **Cache", id="open bold"),
        pytest.param("src/cache.py\n\nNext s", id="the beginning of a heading"),
        pytest.param("- src/a.py\n-", id="an empty item"),
        pytest.param("src/a.py\n\nAny", id="a capital letter"),
        pytest.param("The files of the pool, typically", id="an adverb that leads on"),
        pytest.param("What the page calls “pool order", id="an open quotation"),
        pytest.param("The store would show whether entries are dropped when two", id="a clause"),
    ],
)
def test_it_is_cut_off(end: str) -> None:
    assert is_cut(end)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("src/cache.py", id="a path"),
        pytest.param("Any configured host: deploy/nginx/*.conf", id="an extension, half a word"),
        pytest.param("src/**/*policy*.*) and docs/**", id="a glob is no open bracket"),
        pytest.param("src/routes/**cache**", id="a glob is no bold"),
        pytest.param("Any file with callers of put( in src/cache.py", id="a call that is named"),
        pytest.param("Any loader (commonly src/config/**) if present", id="words after a path"),
        pytest.param("None.", id="nothing is missing"),
        pytest.param("N/A", id="not applicable"),
        pytest.param("`src/cache.py`\n\nPool_Design_Notes", id="a caption of the page"),
        pytest.param("Take plan A", id="a name of one letter"),
        pytest.param("The module under src/db", id="two letters that are a name"),
    ],
)
def test_it_is_whole(end: str) -> None:
    assert not is_cut(end)


def test_a_clean_stop_before_the_last_sections_is_noticed() -> None:
    text = "Direct answer\n\nIt is so.\n\nRisks/unknowns\n\nNone is known."
    cut = read_answer_text(text, expected=ALL_SECTIONS).cut

    assert cut is not None
    assert not cut.breaks_statement
    assert "Next smallest concrete experiment" in cut.reason
    assert read_answer_text(text).cut is None


def test_a_heading_with_nothing_below_it_is_noticed() -> None:
    assert read_answer_text("Direct answer\n\nIt is so.\n\nRisks/unknowns").cut is not None


@pytest.mark.parametrize("text", [MARKDOWN, CAPTURED], ids=["Markdown", "copied from a chat page"])
def test_a_cut_before_the_last_section_is_always_noticed(text: str) -> None:
    last = text.index("If evidence is insufficient")
    places = random.Random(18).sample(range(60, last), 60)

    for place in places:
        read = read_answer_text(text[:place], expected=ALL_SECTIONS)
        assert read.cut is not None, text[:place][-40:]
        whole = " ".join(text[:place].split())
        assert all(" ".join(unit.text.split()) in whole for unit in read.statements)
