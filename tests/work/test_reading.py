import pytest

from oraclepack.pack.answer_sections import Section
from oraclepack.work.answer_blocks import LONGEST_INLINE, clean, read_blocks
from oraclepack.work.answer_items import read_sections
from oraclepack.work.intent import (
    cannot_tell,
    follows_another,
    is_action,
    says_no_action,
    says_nothing,
)
from oraclepack.work.points import cut, sentences, title_of

REQUESTS = [
    "Add a lock.", "Please add a lock", "Then run `make`", "In `a.py:3`, rename x", "Fix: it",
    "The cache should be cleared", "Cache the result", "Log the id", "Test `x` again",
    "When it fails, retry once", "Do not log tokens", "Füge eine Sperre hinzu",
    "Eine Sperre um `x` hinzufügen", "Il faut ajouter un index", "Añade una prueba",
    "Cache: add a lock", "To confirm, run `pytest -k x`", "Set an expiry on keys",
    "Check whether the job dies", "添加一个测试", "1. Add x", "Step 2: Remove y", "Avoid state",
    "Never log tokens", "Use UTC", "Guard `x` with a lock", "Limit retries to five",
    "`src/a.py:3`: add a lock", "src/a.py:3 — rename x", "`Store.save` – Wrap it in a lock",
]  # fmt: skip
CLAIMS = [
    "The cache is not thread safe.", "Log files are rotated", "Cache entries never expire",
    "Test coverage is low", "Guests can reach it", "`x` returns y", "Why is it so?",
    "No action required.", "There is no lock", "Return values are ignored", "Is it cached?",
    "No lock is held here", "",
    "`src/a.py:3`: the lock is held", "src/a.py — log files are rotated",
]  # fmt: skip


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_is_known(text: str) -> None:
    assert is_action(text)


@pytest.mark.parametrize("text", CLAIMS)
def test_a_claim_is_no_request(text: str) -> None:
    assert not is_action(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We cannot tell from the attached files.", True),
        ("Insufficient evidence.", True),
        ("This is not visible in the attached files", True),
        ("Das lässt sich nicht sagen.", True),
        ("Impossible de dire qui appelle.", True),
        ("无法判断", True),
        ("Guests cannot verify their mail.", False),
        ("You can tell by the log.", False),
    ],
)
def test_a_shrug(text: str, *, expected: bool) -> None:
    assert cannot_tell(text) is expected


@pytest.mark.parametrize("text", ["No action required.", "Nothing to do", "Kein Handlungsbedarf"])
def test_no_work_is_said(text: str) -> None:
    assert says_no_action(text)


@pytest.mark.parametrize("text", ["None.", "n/a", "(none)", "Nothing", "-", "keine", "无", ""])
def test_a_filler(text: str) -> None:
    assert says_nothing(text)


def test_a_follower() -> None:
    assert follows_another("Afterwards, drop it")
    assert not follows_another("Drop it afterwards")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("One. Two.", ["One.", "Two."], id="two sentences"),
        pytest.param("See e.g. `A. B`. Done.", ["See e.g. `A. B`.", "Done."], id="abbreviation"),
        pytest.param("It fails; add a lock.", ["It fails;", "add a lock."], id="request after ;"),
        pytest.param("Add a lock; it fails.", ["Add a lock; it fails."], id="reason after ;"),
        pytest.param("Use 1.5 now", ["Use 1.5 now"], id="a number"),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def test_titles_are_short_and_never_end_inside_code() -> None:
    assert title_of("Fix: add `a b`.") == "Add `a b`"
    assert title_of("Then add a lock.") == "Add a lock"
    assert cut("aa `bbb ccc` dd", 9) == "aa…"
    assert cut("x" * 50, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    "heading",
    [
        "## Risks/unknowns", "**Risks/unknowns**", "2) Risks/unknowns", "- **Risks/unknowns:**",
        "Risks / Unknowns\n---", "### 2. Risks and unknowns (bullets)", "## Risiken", "## Risques",
        "## Riesgos", "Risks/unknowns:", "#### risks — unknowns", "> ## Risks/unknowns",
    ],
)  # fmt: skip
def test_a_section_by_its_heading(heading: str) -> None:
    found = read_sections(read_blocks(f"First words.\n\n{heading}\n\n- one thing\n"))

    assert [item.text for item in found[Section.RISKS_UNKNOWNS]] == ["one thing"]


@pytest.mark.parametrize(
    "text",
    ["Risks and unknowns remain high.", "Risks: it depends.", "```\n## Risks/unknowns\n```"],
)
def test_words_that_open_no_section(text: str) -> None:
    found = read_sections(read_blocks(text))

    assert not found[Section.RISKS_UNKNOWNS]


def test_numbered_headings_without_names_are_the_sections_in_order() -> None:
    found = read_sections(read_blocks("# 1. Α\na\n# 2. Β\nb\n# 3. Γ\nc\n# 4. Δ\nd\n"))

    assert [found[section][0].text for section in Section] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000, "*a " * 30_000, "`" * 50_000, "- " * 20_000, ">" * 20_000, "<" * 50_000,
        "|a|\n|-|\n" + "|x|\n" * 3_000, "![[" * 20_000, "- a\n  " * 3_000, "x" * 200_000,
        "\0\ud800",
    ],
    ids=lambda text: repr(text[:6]),
)  # fmt: skip
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(read_blocks(text), tuple)


def test_what_steers_a_screen_is_taken_out() -> None:
    assert clean("a\x1b[31m\u202eb\r\nc\rd\ufeff") == "a[31mb\nc\nd"
    assert len(read_blocks("y" * (LONGEST_INLINE + 5))[0].text) == LONGEST_INLINE


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<div>Add <!-- not this --> a lock</div>", "Add a lock"),
        ("<div>\n<!-- never ends: add a lock\n</div>", "<!-- never ends: add a lock"),
        ("<div>\n" + "<!--\n" * 40_000 + "</div>", " ".join(["<!--"] * 40_000)),
    ],
    ids=["a comment", "one that never ends", "thousands that never end"],
)
def test_html_is_read_for_its_words(html: str, words: str) -> None:
    assert [block.text for block in read_blocks(html)] == [words]
