"""How an answer is read: sections, units, lines, and the end that is not used."""

import pytest

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
def test_both_shapes_give_the_same_units(text: str) -> None:
    read = read_answer_text(text, expected=ALL_SECTIONS)

    assert [unit.section for unit in read.units] == [DIRECT, DIRECT, RISKS, NEXT, MISSING]
    assert read.cut is None
    assert read.sections == frozenset(Section)


@pytest.mark.parametrize("text", [MARKDOWN, CAPTURED], ids=["Markdown", "copied from a chat page"])
def test_the_text_of_a_unit_stands_in_the_source(text: str) -> None:
    folded = " ".join(text.split())
    for unit in read_answer_text(text).units:
        for piece in unit.texts:
            assert " ".join(piece.split()) in folded


def test_a_unit_knows_its_lines() -> None:
    lines = MARKDOWN.split("\n")
    for unit in read_answer_text(MARKDOWN).units:
        for piece, (first, last) in zip(unit.texts, unit.spans, strict=True):
            source = "\n".join(lines[first - 1 : last])
            assert " ".join(piece.split()) in " ".join(source.split())


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

    assert [(unit.section, unit.text) for unit in read.units] == [
        (DIRECT, "It is so."),
        (section, "Only this."),
    ]


@pytest.mark.parametrize(
    ("body", "units"),
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
            "A claim that ends.\nPool_Design_Notes\n\nAnother.",
            ["A claim that ends.", "Another."],
            id="a caption of the page is no text",
        ),
        pytest.param(
            "The list is:\n\nfirst\n\nsecond",
            ["The list is:\n\nfirst\n\nsecond"],
            id="a lead-in owns what follows",
        ),
        pytest.param(
            f"{'A long line that nobody wrapped by hand goes on and on. ' * 3}\nAnother one.",
            [
                ("A long line that nobody wrapped by hand goes on and on. " * 3).strip(),
                "Another one.",
            ],
            id="bullets that were lost without a blank line",
        ),
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
            "It is so.\n\n| Place | Fix |\n|---|---|\n| `a.py` | Add a lock |\n"
            "| `b.py` | Close it |\n\nThe end.",
            [
                "It is so.",
                "| `a.py` | Add a lock |",
                "| `b.py` | Close it |",
                "The end.",
            ],
            id="each row of a table, without its head",
        ),
        pytest.param(
            "Change these:\n\n| Place | Fix |\n|---|---|\n| `a.py` | Add a lock |",
            ["Change these:\n\n| Place | Fix |\n|---|---|\n| `a.py` | Add a lock |"],
            id="a table below a lead-in belongs to it",
        ),
    ],
)
def test_a_unit_is_one_thought(body: str, units: list[str]) -> None:
    assert [unit.text for unit in read_answer_text(f"Direct answer\n\n{body}\n").units] == units


def test_without_headings_all_is_a_direct_answer() -> None:
    assert {unit.section for unit in read_answer_text("One.\n\nTwo.").units} == {DIRECT}


def test_the_name_of_a_file_gives_the_section() -> None:
    read = read_answer_text("- `src/a.py`", section=MISSING)

    assert [unit.section for unit in read.units] == [MISSING]


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        pytest.param("It holds. It ends in the", [], id="too little is left"),
        pytest.param(
            "This sentence is long enough to stand alone here. The next one ends in the",
            ["This sentence is long enough to stand alone here."],
            id="its whole sentences stay",
        ),
        pytest.param(
            "Write a script that tries three ways to save the file:",
            ["Write a script that tries three ways to save the file:"],
            id="a lead-in is whole, its points are missing",
        ),
    ],
)
def test_only_the_broken_end_is_dropped(end: str, kept: list[str]) -> None:
    read = read_answer_text(f"Direct answer\n\nA whole one comes first.\n\n{end}")

    assert read.is_partial
    assert read.units[0].text == "A whole one comes first."
    assert [unit.text for unit in read.units[1:]] == kept
    assert read.broken is not None
    assert read.broken.text == end


def test_a_lone_word_between_paragraphs_is_a_caption() -> None:
    text = "Direct answer\n\nIt is bounded.\n\nPoolNotes\n\nUnknown names are open.\n\nYes\n"

    units = [unit.text for unit in read_answer_text(text).units]

    assert units == ["It is bounded.", "Unknown names are open.", "Yes"]
