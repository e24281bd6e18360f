"""What a prompt asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.pack.answer_sections import ALL_SECTIONS, Section, missing_sections
from oraclepack.pack.contract import PHRASINGS, RequestedFormat, requested_format

DIRECT, RISKS, NEXT, MISSING = ALL_SECTIONS


@pytest.mark.parametrize(
    ("example", "section"),
    [
        ("Return only: Direct answer", DIRECT),
        ("Only return the direct answer", DIRECT),
        ("Output only: Risks/unknowns", RISKS),
        ("Only output the next experiment", NEXT),
        ("Write only the missing evidence", MISSING),
        ("Only write the direct answer", DIRECT),
        ("Answer only with the direct answer", DIRECT),
        ("Respond only with the direct answer", DIRECT),
        ("Output section: Direct answer", DIRECT),
    ],
)
def test_every_documented_phrasing_is_understood(example: str, section: Section) -> None:
    assert requested_format(example).only is section
    assert example in {phrasing.example for phrasing in PHRASINGS}


def test_every_phrasing_has_an_example_that_works() -> None:
    assert all(requested_format(phrasing.example).only for phrasing in PHRASINGS)


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("Return only: Direct answer (1–10 bullets, evidence-cited)", DIRECT),
        ("Return only: Risks/unknowns (bullets)", RISKS),
        ("Return only: Next smallest concrete experiment (exactly one action)", NEXT),
        ("Return only: If evidence is insufficient, name the exact missing files.", MISSING),
        ("RETURN ONLY - direct answer", DIRECT),
        ("**Return only:** **Direct answer**", DIRECT),
        ("Return only: 1) Direct answer", DIRECT),
        ("Please return only the direct answer.", DIRECT),
        ("Return only the direct answer; if evidence is insufficient, say so.", DIRECT),
        ("Return only: Direct answer, no risks/unknowns", DIRECT),
        ("Return only the direct answer without risks and unknowns", DIRECT),
        ("Return only:\n- Direct answer\n\nRisks/unknowns", DIRECT),
        ("Direct answer only", DIRECT),
        ("Answer format: direct answer only.", DIRECT),
        ("Risks/unknowns section only!", RISKS),
        ("Format (strict): Direct answer only", DIRECT),
        ("Output section: Missing evidence\nReturn only: If evidence is insufficient …", MISSING),
    ],
)
def test_one_section_is_asked_for(text: str, only: Section) -> None:
    assert requested_format(text).only is only


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Answer format:\n1) Direct answer\n2) Risks/unknowns",
        "Return only: JSON",
        "Return only: JSON with a direct answer",
        "Return only: Direct answer and Risks/unknowns",
        "Return only: Direct answer, Risks/unknowns",
        "Return only:\n1) Direct answer\n2) Risks/unknowns",
        "Return only:",
        "Do not return only the direct answer",
        "Don't return only the direct answer",
        "Never only return the direct answer",
        "Give a direct answer only if the evidence supports it",
        "Do not give a direct answer only",
        "Direct answer and risks/unknowns only",
        "The direct answer cites code only",
        "Read only the attached files",
        "Use only evidence from the files. Direct answer first.",
        "See the output section of the docs for a direct answer",
        "An indirect answer only",
        "Return only: Direct answer\nReturn only: Risks/unknowns",
    ],
)
def test_no_single_section_is_asked_for(text: str) -> None:
    assert requested_format(text).only is None


def test_lines_are_counted_from_the_first_one() -> None:
    text = "Question\n\nAnswer format:\n1) Direct answer\n\n  Return only: Direct answer  "

    assert requested_format(text) == RequestedFormat(2, DIRECT, 5, "Return only: Direct answer")


@pytest.mark.parametrize(
    ("text", "promised"),
    [
        ("Answer format:", True),
        ("**ANSWER-FORMAT**", True),
        ("Answer formats", True),
        ("the format of the answer", False),
        ("answer\nformat", False),
    ],
)
def test_an_answer_format_is_promised(text: str, promised: bool) -> None:
    assert (requested_format(text).format_line is not None) is promised


@given(st.text(alphabet="Return only: Direct answer.\n()Output section", max_size=120))
def test_every_text_can_be_read(text: str) -> None:
    asked = requested_format(text)

    assert asked.only in {None, DIRECT}
    assert asked.only_line <= text.count("\n")


class Unread(str):
    """A text that may be too large to be read."""

    __slots__ = ()

    def splitlines(self, *_: object, **__: object) -> list[str]:
        pytest.fail("it was read")


def test_a_text_of_which_no_section_is_demanded_is_not_read() -> None:
    assert missing_sections(Unread("a\n"), ()) == ()
