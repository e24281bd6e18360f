"""How an answer is read: sections, statements, lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.pack.answer_sections import ALL_SECTIONS, Section

DIRECT, RISKS, NEXT, MISSING = Section

MARKDOWN = """\
## 1) Direct answer (1–4 bullets, evidence-cited)

* **The lock is never released.** `Pool.take` returns early. (Evidence: `src/pool.py:12`.)
* Prefer one lock per pool:

  * a short one for reads,
  * a long one for writes.

## 2) Risks/unknowns (bullets)

* Unknown whether callers retry.

## 3) Next smallest concrete experiment (1 action)

* Run: `rg "Pool\\.take\\(" src`
  Then read each caller.

## 4) If evidence is insufficient, name the exact missing file/path pattern(s) to attach next

* `src/**/pool*.py`
"""
CAPTURED = """\
Direct answer (1–4 bullets, evidence-cited)

The lock is never released. Pool.take returns early. (Evidence: src/pool.py:12.)

Prefer one lock per pool:

a short one for reads,

a long one for writes.

Risks/unknowns (bullets)

Unknown whether callers retry.

Next smallest concrete experiment (1 action)

Run: rg "Pool\\.take\\(" src
Then read each caller.

If evidence is insufficient, name the exact missing file/path pattern(s) to attach next

src/**/pool*.py
"""


@pytest.mark.parametrize("text", [MARKDOWN, CAPTURED], ids=["Markdown", "copied from a chat page"])
def test_both_shapes_give_the_same_sections(text: str) -> None:
    read = read_answer_text(text, expected=ALL_SECTIONS)

    assert list(dict.fromkeys(one.section for one in read.statements)) == list(Section)
    assert read.cut is None
    assert read.sections == frozenset(Section)


@pytest.mark.parametrize("text", [MARKDOWN, CAPTURED], ids=["Markdown", "copied from a chat page"])
def test_every_statement_stands_in_the_source_at_its_lines(text: str) -> None:
    lines = text.split("\n")
    for one in read_answer_text(text).statements:
        source = "\n".join(lines[one.first_line - 1 : one.last_line])
        assert " ".join(one.text.split()) in " ".join(source.split())


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        pytest.param("Risks/unknowns", RISKS, id="bare"),
        pytest.param("2. Risks/unknowns (bullets)", RISKS, id="numbered, with an aside"),
        pytest.param("**Risks / unknowns**", RISKS, id="bold"),
        pytest.param("### **2) Risks and unknowns:**", RISKS, id="all marks at once"),
        pytest.param("Next smallest concrete experiment (exactly one action)", NEXT, id="suffix"),
        pytest.param("If evidence is insufficient, attach next", MISSING, id="half a sentence"),
        pytest.param(
            "If evidence is insufficient, name the exact missing file/path pattern(s) to attach.",
            MISSING,
            id="a sentence",
        ),
        pytest.param("Exact missing file/path patterns to attach next", MISSING, id="other words"),
    ],
)
def test_a_heading_opens_a_section_and_is_no_item(heading: str, section: Section) -> None:
    read = read_answer_text(f"Direct answer\n\nIt is so.\n\n{heading}\n\nOnly this.\n")

    assert [(one.section, one.text) for one in read.statements] == [
        (DIRECT, "It is so."),
        (section, "Only this."),
    ]


LONG = (
    "A long line that nobody wrapped by hand goes on and on, and then it goes on a little further."
)
POINT = f"This point is a thought of its own, since it goes on and on. {LONG}"


@pytest.mark.parametrize(
    ("body", "statements"),
    [
        pytest.param(
            "- A claim.\n  Evidence: `a.py`\n- Another.",
            ["A claim.\nEvidence: `a.py`", "Another."],
            id="evidence on the next line belongs to its claim",
        ),
        pytest.param(
            "A claim.\n\n(See a.py.)\n\nAnother.",
            ["A claim.\n\n(See a.py.)", "Another."],
            id="so does evidence in a paragraph of its own",
        ),
        pytest.param(
            "- One\n  - a\n  - b\n\n  more of it\n- Two",
            ["One\n- a\n- b\n\nmore of it", "Two"],
            id="a bullet with its children",
        ),
        pytest.param(
            "It must:\n\n- run\n- end\n\nAfter that it is done.",
            ["It must:\n\n- run\n- end", "After that it is done."],
            id="a lead-in owns the list that follows it, and nothing after that",
        ),
        pytest.param(
            f"Do this:\n\n- {POINT}\n- Short.",
            [POINT, "Short."],
            id="points that are statements of their own stay apart",
        ),
        pytest.param("It is:\n\nfirst\n\nsecond", ["It is:", "first", "second"], id="paragraphs"),
        pytest.param(f"{LONG * 2}\nAnother.", [LONG * 2, "Another."], id="one line, one paragraph"),
        pytest.param(
            "A line that was wrapped\nby hand is one paragraph.",
            ["A line that was wrapped\nby hand is one paragraph."],
            id="a paragraph wrapped by hand",
        ),
        pytest.param(
            "It uses a; then b... and c.d() too. Then it stops.",
            ["It uses a; then b... and c.d() too. Then it stops."],
            id="never split inside a paragraph",
        ),
        pytest.param(
            "### Cache\nIt grows.\n### Jobs\nThey hang.",
            ["It grows.", "They hang."],
            id="a heading ends a statement",
        ),
        pytest.param(
            "### Cache\n### Jobs\nThey hang.", ["### Cache", "They hang."], id="a bare heading"
        ),
        pytest.param(
            "It is so.\n\n| Place | Fix |\n|---|---|\n| `a.py` | Add a lock |\n"
            "| `b.py` | Close it |\n\nThe end.",
            ["It is so.", "| `a.py` | Add a lock |", "| `b.py` | Close it |", "The end."],
            id="each row of a table",
        ),
        pytest.param(
            "Run this:\n\n```sh\nmake test\n```\n\nThen stop.",
            ["Run this:\n\n```sh\nmake test\n```", "Then stop."],
            id="code belongs to what is above it",
        ),
    ],
)
def test_a_statement_is_one_thought(body: str, statements: list[str]) -> None:
    read = read_answer_text(f"Direct answer\n\n{body}\n")

    assert [one.text for one in read.statements] == statements


@pytest.mark.parametrize(
    ("body", "lead"),
    [
        ("### Cache\n\nIt grows.", "### Cache"),
        ("**Cache**\n\nIt grows.", "**Cache**"),
        ("| Place | Fix |\n|---|---|\n| `a.py` | Add a lock |", "| Place | Fix |"),
        (f"Do this:\n\n- {POINT}", "Do this:"),
        ("It grows.", ""),
    ],
)
def test_what_stands_above_a_statement_is_kept_with_it(body: str, lead: str) -> None:
    (statement,) = read_answer_text(f"Direct answer\n\n{body}\n").statements

    assert statement.lead == lead


@given(st.lists(st.sampled_from([*MARKDOWN.split("\n"), "", "  - x y", "| a | b |", "|---|---|"])))
def test_no_word_of_an_answer_is_lost(lines: list[str]) -> None:
    text = "\n".join(["Direct answer", *lines])
    read = read_answer_text(text)

    kept = " ".join(f"{one.lead} {one.text}" for one in read.statements)
    words = {word for line in lines for word in line.split() if opens_nothing(line)}
    assert {word for word in words if word.isalpha()} <= set(kept.split())


def opens_nothing(line: str) -> bool:
    """Whether a line is no heading of a section."""
    return not read_answer_text(f"{line}\n\na").sections


def test_without_headings_all_is_a_direct_answer() -> None:
    read = read_answer_text("One.\n\nTwo.")

    assert {one.section for one in read.statements} == {DIRECT}
    assert read.is_free_form


def test_the_name_of_a_file_gives_the_section() -> None:
    read = read_answer_text("- `src/a.py`", section=MISSING)

    assert [one.section for one in read.statements] == [MISSING]
    assert not read.is_free_form


def test_the_broken_end_is_kept_and_marked() -> None:
    read = read_answer_text("Direct answer\n\nA whole one.\n\nThe next one ends in the")

    assert [one.text for one in read.statements] == ["A whole one.", "The next one ends in the"]
    assert read.cut is not None
    assert read.cut.breaks_statement
