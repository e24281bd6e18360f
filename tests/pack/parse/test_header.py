import pytest

from oraclepack.pack.parse.step_boundaries import read_directives, read_header
from oraclepack.pack.script import Comment, Span
from tests.packs import BLOCK_LINE, a_pack


def a_comment(text: str) -> Comment:
    return Comment(text, Span(7, 1, 7, len(text) + 1), top_level=True)


@pytest.mark.parametrize(
    ("text", "step", "title", "attributes"),
    [
        ("# 01) Title", "01", "Title", {}),
        ("#01) Title", "01", "Title", {}),
        ("# 01)", "01", "", {}),
        ("# 01 — Title", "01", "Title", {}),
        ("# 01 – Title", "01", "Title", {}),
        ("# 01 - Title", "01", "Title", {}),
        ("# 07) ROI=4.2 impact=6", "07", "", {"ROI": "4.2", "impact": "6"}),
        ("# 07) Fast path ROI=4.2", "07", "Fast path", {"ROI": "4.2"}),
        (
            "# 07) category=background jobs reference=src/my file.py",
            "07",
            "",
            {"category": "background jobs", "reference": "src/my file.py"},
        ),
        ("# 07) roi=1 Category=UX flows", "07", "", {"ROI": "1", "category": "UX flows"}),
        ("# 07) ROI=1 ROI=2", "07", "", {"ROI": "1"}),
        ("# 07) category= ROI=2", "07", "", {"category": "", "ROI": "2"}),
        ("# 07) xROI=2", "07", "xROI=2", {}),
        ("# 02) ROI=0.5 low value", "02", "low value", {"ROI": "0.5"}),
        ("# 02) (ROI=4.5) Title", "02", "Title", {"ROI": "4.5"}),
        ("# 02) Title (ROI=4.5)", "02", "Title", {"ROI": "4.5"}),
        ("# 02) Title [ROI=4.5, effort=2] more", "02", "Title more", {"ROI": "4.5", "effort": "2"}),
        ("# 01 — ROI=4.5 — Title", "01", "Title", {"ROI": "4.5"}),
        ("# 01 - Title - ROI=4.5 - more", "01", "Title - more", {"ROI": "4.5"}),
        ("# 01) Title ROI=4.5 more words", "01", "Title more words", {"ROI": "4.5"}),
        ("# 01) Title, ROI=4", "01", "Title", {"ROI": "4"}),
        ("# 01) **ROI=4** Title", "01", "Title", {"ROI": "4"}),
        (
            "# 01) ROI=2 category=UX flows and more",
            "01",
            "",
            {"ROI": "2", "category": "UX flows and more"},
        ),
        ("# 01) ROI=4,5 impact=high", "01", "", {"ROI": "4,5", "impact": "high"}),
        ("# 01) ROI=... Title", "01", "", {"ROI": "... Title"}),
    ],
)
def test_a_header_is_read(text: str, step: str, title: str, attributes: dict[str, str]) -> None:
    header = read_header(a_comment(text))

    assert header is not None
    assert (header.id, header.title) == (step, title)
    assert {name: attribute.text for name, attribute in header.attributes.items()} == attributes


@pytest.mark.parametrize(
    "text",
    [
        "# 1) one digit",
        "# 100) three digits",
        "# 10-20 lines",
        "# 01. dot",
        "# 01",
        "# x 01)",
        "# ٠١) other digits",
    ],
)
def test_other_comments_are_no_headers(text: str) -> None:
    assert read_header(a_comment(text)) is None


def test_an_attribute_knows_its_place() -> None:
    header = read_header(a_comment("# 01) ROI=4.2 impact=6"))

    assert header is not None
    assert header.attributes["impact"].span == Span(7, 22, 7, 23)


def test_the_older_spelling_in_the_body_fills_what_the_header_lacks() -> None:
    step = a_pack("# 01) ROI=9\n# ROI: 4.2\n# Impact: 5\n# category: UX flows\ntrue\n").steps[0]

    found = {name: (value.text, value.span.line) for name, value in step.header.attributes.items()}
    assert found == {
        "ROI": ("9", BLOCK_LINE),
        "impact": ("5", BLOCK_LINE + 2),
        "category": ("UX flows", BLOCK_LINE + 3),
    }


def test_words_behind_a_number_in_the_body_do_not_count() -> None:
    step = a_pack("# 01) a\n# ROI: 3.25 (rather high)\n# Impact: High\ntrue\n").steps[0]

    assert (step.number("ROI"), step.attribute("impact")) == (3.25, "High")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "# oraclepack: allow OP402 the whole tree is the point",
            ("allow", "OP402 the whole tree is the point"),
        ),
        ("# oraclepack: outputs=a.md,b.json", ("outputs", "a.md,b.json")),
        ("#oraclepack: contract = direct-answer", ("contract", "direct-answer")),
        ("# oraclepack: sequential", ("sequential", "")),
    ],
)
def test_a_directive_is_read(text: str, expected: tuple[str, str]) -> None:
    assert [(d.name, d.value) for d in read_directives([a_comment(text)])] == [expected]
