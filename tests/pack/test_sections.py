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
        pytest.param("Direct answer: yes", {DIRECT}, id="a label"),
        pytest.param("direct-answer\nyes", {DIRECT}, id="with a hyphen"),
        pytest.param("The direct answers are", set(), id="a sentence"),
        pytest.param("an indirect answer", set(), id="not inside another word"),
        pytest.param("Risks and unknowns\n- one", {RISKS}, id="risks and unknowns"),
        pytest.param("Risks, unknowns: none", {RISKS}, id="risks, unknowns"),
        pytest.param("- Risks/unknowns: none", {RISKS}, id="a label in a list"),
        pytest.param("> **Risks/unknowns:** none", {RISKS}, id="a bold label in a quotation"),
        pytest.param("risks\none", set(), id="risks alone"),
        pytest.param("Next smallest concrete experiment\nrun it", {NEXT}, id="the long name"),
        pytest.param("Next experiment — run it", {NEXT}, id="the short name"),
        pytest.param("If evidence is insufficient, attach x", {MISSING}, id="the prompt's words"),
        pytest.param("Missing evidence\nnone", {MISSING}, id="the heading's words"),
        pytest.param("direct\nanswer\nyes", set(), id="over a line end"),
        pytest.param("## Risks and open questions\na", {RISKS}, id="another name in a heading"),
        pytest.param("## 2) Risks / open questions\na", {RISKS}, id="joined by a slash"),
        pytest.param("**Unknowns & risks**\na", {RISKS}, id="the other way round, in bold"),
        pytest.param("Open questions (3)\n\n- who?", {RISKS}, id="a line of its own, counted"),
        pytest.param("Open questions remain.", set(), id="another name in a sentence"),
        pytest.param("## Open questions of the last review\na", set(), id="a heading that goes on"),
        pytest.param("These are\nOpen questions\nto us", set(), id="a wrapped sentence"),
        pytest.param("open questions\na", set(), id="another name in lower case"),
        pytest.param("## Risks\na", {RISKS}, id="risks as a heading"),
        pytest.param("Risks\na", set(), id="one word without a mark"),
        pytest.param("3. Next step/experiment\na", {NEXT}, id="next step/experiment"),
        pytest.param("## Next steps:\na", {NEXT}, id="next steps as a heading"),
        pytest.param("The next step is to ask", set(), id="the next step in a sentence"),
        pytest.param("Next smallest step: run it", {NEXT}, id="another label"),
        pytest.param("Next steps: run it", set(), id="a vague label"),
        pytest.param("### Evidence gaps\na", {MISSING}, id="evidence gaps"),
        pytest.param("There are evidence gaps: two", set(), id="a label within a line"),
        pytest.param("Files to attach next: `a.py`", {MISSING}, id="files to attach next"),
        pytest.param("```\n## Open questions\na\n```", set(), id="another name in code"),
        pytest.param("## Direkte Antwort\na", set(), id="another language than the prompt's"),
        pytest.param("## My direct answer\nyes", {DIRECT}, id="within a heading"),
        pytest.param("## Risks/unknowns, missing evidence\na", {RISKS, MISSING}, id="two in one"),
        pytest.param("## Direct answer\n```\ncode\n```", {DIRECT}, id="code under a heading"),
        pytest.param("## Direct answer\n### Cache\nyes", {DIRECT}, id="a heading in between"),
        pytest.param("> ## Direct answer\n> yes", {DIRECT}, id="all of it quoted"),
        pytest.param("<h2>Direct answer</h2>\n<p>yes</p>", {DIRECT}, id="HTML"),
        pytest.param("```markdown\n# Direct answer\nyes\n```", {DIRECT}, id="all of it in a fence"),
        pytest.param("## Direct answer\nNone.", {DIRECT}, id="nothing to say, and it says so"),
        pytest.param("## Direct answer\n\n---\n", set(), id="a rule under a heading"),
        pytest.param("## Direct answer\n### Cache\n", set(), id="headings alone"),
        pytest.param(
            "## Direct answer\n## Risks/unknowns\na", {RISKS}, id="nothing under the first"
        ),
    ],
)
def test_a_section_begins_a_line_and_has_text(text: str, present: set[Section]) -> None:
    assert sections_present(text) == present


ONE_LINE = "Direct answer: yes. Risks/unknowns: few. Next experiment: run. Missing evidence: none."


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param(
            "## Direct answer\n- Yes.\n- What follows under Risks/unknowns, Next experiment and "
            "Missing evidence depends on the",
            (RISKS, NEXT, MISSING),
            id="cut at the length limit",
        ),
        pytest.param(
            "Error 502. The answer must have these sections: direct answer, risks/unknowns, next "
            "experiment, missing evidence. Try again later.",
            ALL_SECTIONS,
            id="an error page with a sentence",
        ),
        pytest.param(
            "Bad gateway\n\n1) Direct answer\n2) Risks/unknowns\n3) Next experiment\n"
            "4) Missing evidence\n",
            ALL_SECTIONS,
            id="an error page with a list",
        ),
        pytest.param(
            "# Direct answer, risks/unknowns, next experiment, missing evidence\nwere not written.",
            ALL_SECTIONS,
            id="an error page with a heading",
        ),
        pytest.param(ONE_LINE, (RISKS, NEXT, MISSING), id="all on one line"),
        pytest.param(ONE_LINE.replace(". ", ".\n"), (), id="each on its own line"),
    ],
)
def test_names_of_sections_alone_are_no_answer(text: str, missing: tuple[Section, ...]) -> None:
    assert missing_sections(text, ALL_SECTIONS) == missing


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
    text = (
        "## Direct answer\na\nRisks/unknowns: few.\n**Next experiment**\nb\n4) Missing evidence\nc"
    )

    assert missing_sections(text, ALL_SECTIONS) == ()
    assert missing_sections(text, ALL_SECTIONS, require_headings=True) == (RISKS,)


def test_missing_sections_keep_their_order() -> None:
    assert missing_sections("", [MISSING, DIRECT]) == (DIRECT, MISSING)


@pytest.mark.parametrize("section", Section)
def test_our_own_heading_is_recognised(section: Section) -> None:
    assert sections_present(f"## {section.heading}\na", require_headings=True) == {section}
    assert sections_present(f"{section.value}\na") == {section}


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
        assert sections_present(f"{heading}\na", require_headings=True) == {section}


def test_no_spelling_names_two_sections() -> None:
    spelled = [words for one in SPELLINGS.values() for group in _groups(one) for words in group]
    assert len(spelled) == len(set(spelled))


def _groups(one: Spelling) -> tuple[tuple[str, ...], ...]:
    return one.anywhere, one.label, one.alone, one.translated, one.translated_alone
