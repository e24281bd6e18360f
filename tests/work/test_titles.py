"""Titles: the statement's own words, never its opposite."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.work.titles import LONGEST, title_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("Add a lock.", "Add a lock", id="a sentence"),
        pytest.param("**Cache grows.** It is filled.", "Cache grows", id="a short lead"),
        pytest.param(
            "**The cache is unbounded**: every import adds an entry.",
            "The cache is unbounded",
            id="a bold lead",
        ),
        pytest.param(
            "Yes. The lock is held.", "Yes. The lock is held", id="a reply takes more along"
        ),
        pytest.param(
            "Prevents basic .. traversal in the names of uploaded files, but does not fully "
            "prevent escapes by symbolic links that point elsewhere.",
            "Prevents basic .. traversal … but does not fully prevent escapes",
            id="the other half is kept",
        ),
        pytest.param(
            "The **importer** does not check the size of what it reads from the net.",
            "The importer does not check the size of what it reads from the net",
            id="a denial stays",
        ),
        pytest.param(
            "See `__call__` in *-llms.txt.", "See __call__ in *-llms.txt", id="names stay"
        ),
        pytest.param(
            'Run: `rg "a\\|b|c\\(" src` and read each caller.',
            "Run: rg … src and read each caller",
            id="no regular expression",
        ),
        pytest.param(
            "Yes: paths with spaces should be accepted by the parser of the configuration; the "
            "current pattern explicitly **cannot**.",
            "Paths with spaces should be accepted … the current pattern explicitly cannot",
            id="a clause that denies is whole",
        ),
        pytest.param(
            "Set a limit on the size of an upload (it is read into memory as a whole), so that one "
            "request cannot exhaust the memory of the server.",
            "Set a limit on the size of an upload … one request cannot exhaust the memory",
            id="an aside goes first",
        ),
        pytest.param(
            "When the list is filtered, clamp the selection to the last row that is still shown "
            "on the screen.",
            "When the list is filtered, clamp the selection to the last row",
            id="a fronted clause is no title",
        ),
        pytest.param(
            "Unknown types are not accepted: any input with another type fails the validation of "
            "the schema unless it was mapped before.",
            "Unknown types are not accepted … unless it was mapped before",
            id="what is denied stays whole",
        ),
        pytest.param("- [ ] 3) add a test", "Add a test", id="marks of a list"),
    ],
)
def test_what_a_title_says(text: str, title: str) -> None:
    assert title_of(text) == title


WORDS = [
    "the",
    "cache",
    "is",
    "not",
    "but",
    "grows",
    "never",
    "(a",
    "b)",
    "`x_y`",
    "no.",
    "However,",
]


@given(
    st.lists(
        st.sampled_from(WORDS),
        max_size=60,
    )
)
def test_a_title_never_drops_a_denial_of_its_sentence(words: list[str]) -> None:
    sentence = " ".join(words)
    title = title_of(sentence)

    assert len(title) <= LONGEST
    first = re.split(r"(?<=\.) ", sentence)[0]
    if re.search(r"\b(?:not|but|never|no|However)\b", first) and len(first) > 20:
        assert re.search(r"(?i)\b(?:not|but|never|no|however)\b", title)
