"""Which sections a text has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.pack.answer_sections import (
    ALL_SECTIONS,
    SPELLINGS,
    Section,
    Spelling,
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
        pytest.param("## Risks and open questions", {RISKS}, id="another name in a heading"),
        pytest.param("## 2) Risks / open questions", {RISKS}, id="joined by a slash"),
        pytest.param("**Unknowns & risks**", {RISKS}, id="the other way round, in bold"),
        pytest.param("Open questions (3)\n\n- who?", {RISKS}, id="a line of its own, counted"),
        pytest.param("Open questions remain.", set(), id="another name in a sentence"),
        pytest.param("## Open questions of the last review", set(), id="a heading that goes on"),
        pytest.param("These are\nOpen questions\nto us", set(), id="a wrapped sentence"),
        pytest.param("open questions", set(), id="another name in lower case"),
        pytest.param("## Risks", {RISKS}, id="risks as a heading"),
        pytest.param("Risks", set(), id="one word without a mark"),
        pytest.param("3. Next step/experiment", {NEXT}, id="next step/experiment"),
        pytest.param("## Next steps:", {NEXT}, id="next steps as a heading"),
        pytest.param("The next step is to ask", set(), id="the next step in a sentence"),
        pytest.param("Next smallest step: run it", {NEXT}, id="a label"),
        pytest.param("Next steps: run it", set(), id="a vague label"),
        pytest.param("### Evidence gaps", {MISSING}, id="evidence gaps"),
        pytest.param("There are evidence gaps: two", set(), id="a label within a line"),
        pytest.param("Files to attach next: `a.py`", {MISSING}, id="files to attach next"),
        pytest.param("```\n## Open questions\n```", set(), id="another name in code"),
        pytest.param("## Direkte Antwort", set(), id="another language than the prompt's"),
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
        pytest.param(
            "Direct answer (1–4 bullets)", ["direct answer 1 4 bullets"], id="a bare line"
        ),
        pytest.param("Direct answer: yes", [], id="a bare line that goes on"),
        pytest.param("so\nDirect answer\nand", [], id="a bare line inside a paragraph"),
        pytest.param("Direct answer\n- yes", ["direct answer"], id="a bare line above a list"),
        pytest.param("Direct answer\nyes", [], id="a bare line that a paragraph follows"),
        pytest.param("2. Risks", ["risks"], id="a numbered word"),
        pytest.param(
            "If evidence is insufficient, attach x.",
            ["if evidence is insufficient attach x"],
            id="the prompt's own words",
        ),
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


@pytest.mark.parametrize(
    ("words", "section"),
    [
        (words, section)
        for section, one in SPELLINGS.items()
        for words in (*one.anywhere, *one.label, *one.alone)
    ],
)
def test_every_spelling_of_the_table_counts_as_a_heading(words: str, section: Section) -> None:
    for heading in (f"## {words}", f"1) **{words.title()}** (short)", f"{words}\n---"):
        assert sections_present(heading, require_headings=True) == {section}


def test_no_spelling_names_two_sections() -> None:
    spelled = [words for one in SPELLINGS.values() for group in _groups(one) for words in group]
    assert len(spelled) == len(set(spelled))


def _groups(one: Spelling) -> tuple[tuple[str, ...], ...]:
    return one.anywhere, one.label, one.alone, one.translated, one.translated_alone
