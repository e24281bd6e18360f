"""Which sections a text has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.core.sections import (
    ALL_SECTIONS,
    Section,
    headings,
    missing_sections,
    normalise,
    sections_present,
)

DIRECT, RISKS, NEXT, MISSING = ALL_SECTIONS


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Direct answer", "direct answer"),
        ("  **Risks/unknowns:**\n", "risks unknowns"),
        ("Risks & Unknowns", "risks unknowns"),
        ("next_experiment", "next experiment"),
        ("direct\u00a0answer", "direct answer"),
        ("ＤＩＲＥＣＴ answer", "direct answer"),
        ("— …", ""),
        ("", ""),
    ],
)
def test_punctuation_and_case_do_not_count(text: str, folded: str) -> None:
    assert normalise(text) == folded


@pytest.mark.parametrize(
    ("text", "present"),
    [
        pytest.param("", set(), id="nothing"),
        pytest.param("Direct answer: yes", {DIRECT}, id="the words"),
        pytest.param("direct-answer", {DIRECT}, id="with a hyphen"),
        pytest.param("The direct answers are", {DIRECT}, id="the plural"),
        pytest.param("an indirect answer", set(), id="not inside another word"),
        pytest.param("Risks and unknowns", {RISKS}, id="risks and unknowns"),
        pytest.param("Risks, unknowns", {RISKS}, id="risks, unknowns"),
        pytest.param("risks", set(), id="risks alone"),
        pytest.param("Next smallest concrete experiment", {NEXT}, id="the long name"),
        pytest.param("Next experiment", {NEXT}, id="the short name"),
        pytest.param("If evidence is insufficient, attach x", {MISSING}, id="the prompt's words"),
        pytest.param("Missing evidence", {MISSING}, id="the heading's words"),
        pytest.param("direct\nanswer", {DIRECT}, id="over a line end"),
    ],
)
def test_a_section_is_present_when_it_is_named(text: str, present: set[Section]) -> None:
    assert sections_present(text) == present


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("# Direct answer", ["direct answer"], id="a heading"),
        pytest.param("### 1) Direct answer ###", ["1 direct answer"], id="numbered and closed"),
        pytest.param("#", [""], id="an empty heading"),
        pytest.param("#Direct answer", [], id="no space, no heading"),
        pytest.param("Direct answer\n====", ["direct answer"], id="underlined"),
        pytest.param("Direct answer\n---", ["direct answer"], id="underlined with dashes"),
        pytest.param("\n---", [], id="a rule"),
        pytest.param("**Direct answer**", ["direct answer"], id="bold"),
        pytest.param("**Direct answer:** yes", ["direct answer"], id="bold at the start"),
        pytest.param("- __Direct answer__", ["direct answer"], id="bold in a list"),
        pytest.param("1. **Direct answer**", ["direct answer"], id="bold and numbered"),
        pytest.param("1) Direct answer (short)", ["direct answer short"], id="a numbered line"),
        pytest.param("1) There is no direct answer", [], id="a numbered line about something else"),
        pytest.param("The direct answer is yes", [], id="a sentence"),
        pytest.param("```\n# Direct answer\n```", [], id="code"),
        pytest.param("~~~ md\n```\n# a\n~~~ x\n# b\n~~~\n# c", ["c"], id="a fence in a fence"),
        pytest.param("```\n# Direct answer", [], id="a fence that never ends"),
        pytest.param("``` a ` b\n# c", ["c"], id="a fence of backticks has none behind it"),
        pytest.param("~~~ a ` b\n# c", [], id="one of tildes may"),
    ],
)
def test_what_is_a_heading(text: str, found: list[str]) -> None:
    assert list(headings(text)) == found


def test_required_headings_are_not_replaced_by_sentences() -> None:
    text = "## Direct answer\nRisks/unknowns are few.\n**Next experiment**\n4) Missing evidence"

    assert missing_sections(text, ALL_SECTIONS) == ()
    assert missing_sections(text, ALL_SECTIONS, require_headings=True) == (RISKS,)


def test_missing_sections_keep_their_order() -> None:
    assert missing_sections("", [MISSING, DIRECT]) == (DIRECT, MISSING)


@pytest.mark.parametrize("section", Section)
def test_our_own_heading_is_recognised(section: Section) -> None:
    assert sections_present(f"## {section.heading}", require_headings=True) == {section}
    assert sections_present(section.value) == {section}


@given(st.text(alphabet="Direct answer#*_=-`~1).\n\r\u2028", max_size=80))
def test_headings_are_a_stricter_demand(text: str) -> None:
    assert sections_present(text, require_headings=True) <= sections_present(text)
