import pytest

from oraclepack.authoring.header_fields import fill
from oraclepack.authoring.upgrade import upgrade
from oraclepack.pack.model import Step
from tests.packs import a_pack, strict_step


def a_step(header: str, prompt: str = "cache", call: str = "") -> Step:
    return a_pack(f'# 01) {header}\noracle {call} -p "{prompt}" --write-output a.md\n').steps[0]


@pytest.mark.parametrize(
    ("header", "before", "expected"),
    [
        pytest.param("x", None, "ROI=1.00 impact=1 confidence=1.00 effort=1", id="nothing given"),
        pytest.param("x", 3.5, "ROI=3.50 impact=3.5 confidence=1.00 effort=1", id="as above it"),
        pytest.param("ROI=4.2", 9, "ROI=4.2 impact=4.2 confidence=1.00 effort=1", id="only ROI"),
        pytest.param(
            "ROI=2 effort=3", None, "ROI=2 impact=6 confidence=1.00 effort=3", id="ROI and effort"
        ),
        pytest.param(
            "impact=6 confidence=0.8 effort=2",
            None,
            "ROI=2.40 impact=6 confidence=0.8 effort=2",
            id="everything but ROI",
        ),
        pytest.param(
            "ROI=9 impact=6 confidence=0.8 effort=2",
            None,
            "ROI=2.40 impact=6 confidence=0.8 effort=2",
            id="a ROI that does not follow",
        ),
        pytest.param(
            "ROI=... impact=high",
            2.0,
            "ROI=2.00 impact=2 confidence=1.00 effort=1",
            id="no numbers",
        ),
    ],
)
def test_scores_are_completed_by_the_formula(
    header: str, before: float | None, expected: str
) -> None:
    assert fill(a_step(header), before).text.startswith(f"{expected} horizon=NearTerm")


@pytest.mark.parametrize(
    ("header", "prompt", "category"),
    [
        pytest.param("category=invariant", "x", "invariants", id="a slip"),
        pytest.param("category=UX Flows", "x", "UX flows", id="another case"),
        pytest.param("x", "Category: migrations\nWhy?", "migrations", id="a line of the prompt"),
        pytest.param(
            "x",
            "[oraclepack-meta]\nCategory: permissions\n[/oraclepack-meta]",
            "permissions",
            id="the metadata",
        ),
        pytest.param("retries", "What when it crashes?", "", id="words are no category"),
        pytest.param("x", "Hm?", "", id="nothing tells"),
    ],
)
def test_the_category_is_read_from_the_step(header: str, prompt: str, category: str) -> None:
    assert fill(a_step(header, prompt), None).category == category


@pytest.mark.parametrize(
    ("header", "prompt", "call", "reference"),
    [
        pytest.param("reference=a.py", "x", "-f b.py", "a.py", id="the header"),
        pytest.param("x", "Reference: c.py", "-f b.py", "c.py", id="the prompt"),
        pytest.param("x", "y", "-f b.py", "b.py", id="the first attachment"),
        pytest.param("x", "y", "-f '*.py'", "Unknown", id="a pattern is none"),
    ],
)
def test_the_reference_is_read_from_the_step(
    header: str, prompt: str, call: str, reference: str
) -> None:
    assert fill(a_step(header, prompt, call), None).reference == reference


def test_a_complete_header_needs_no_note() -> None:
    step = a_pack(strict_step(1)).steps[0]

    assert fill(step, None).notes == ()


def test_a_coverage_check_above_the_block_is_left_alone() -> None:
    steps = "\n".join(strict_step(number) for number in range(1, 21))
    pack = a_pack(steps, before="# A pack\n\n## Coverage check\n- invariants: OK\n")

    assert upgrade(pack).text == pack.text


def test_a_fence_in_a_list_and_an_open_one_are_left_alone() -> None:
    steps = "\n".join(strict_step(number) for number in range(1, 21))
    pack = a_pack(steps, after="\n- item\n  ```\n  x\n  ```\n\n```\nopen\n")

    assert upgrade(pack).text == pack.text
