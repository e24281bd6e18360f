"""What is typed into the filter, and the steps that it leaves."""

import pytest

from oraclepack.errors import UsageError
from oraclepack.tui.step_filter import SORTS, read_filter, sorted_steps
from oraclepack.view.step_listing import listing
from tests.packs import a_strict_pack

STEPS = listing(a_strict_pack()).steps
STATES = {"03": "failed", "04": "ok", "05": "interrupted"}

FILTERS = [
    pytest.param("", 20, id="nothing leaves all"),
    pytest.param("stale tariffs", 1, id="all words must stand in the title"),
    pytest.param("SRC/SHOP/API.PY", 1, id="the reference counts, in any case"),
    pytest.param("roi>9.5", 2, id="above an ROI"),
    pytest.param("roi<3 roi>=2.8", 1, id="between two"),
    pytest.param("roi=10", 1, id="an exact ROI"),
    pytest.param("cat:caching", 2, id="a part of the category"),
    pytest.param("state:failed", 1, id="a state"),
    pytest.param("s:pending", 17, id="a step that never ran is pending"),
    pytest.param("tool:oracle", 20, id="a tool"),
    pytest.param("tool:codex", 0, id="a tool that no step calls"),
    pytest.param("cat:caching state:failed", 1, id="everything must hold"),
    pytest.param("weird:thing", 0, id="an unknown field is a word"),
]


@pytest.mark.parametrize(("text", "count"), FILTERS)
def test_a_filter_leaves(text: str, count: int) -> None:
    chosen = read_filter(text)

    assert sum(chosen.accepts(step, STATES.get(step.step_id)) for step in STEPS) == count


@pytest.mark.parametrize("text", ["roi>", "roi<x", "ROI=high"])
def test_a_comparison_without_a_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="number"):
        read_filter(text)


@pytest.mark.parametrize(
    ("by", "first"),
    [("step", "01"), ("ROI", "01"), ("category", "08"), ("state", "03"), ("title", "20")],
)
def test_steps_are_sorted_by(by: str, first: str) -> None:
    rows = [(at, step, STATES.get(step.step_id)) for at, step in enumerate(STEPS)]
    ordered = sorted_steps(rows, by, reverse=False)
    backwards = sorted_steps(rows, by, reverse=True)

    if by == "title":
        assert [step.title for _, step, _ in ordered] == sorted(
            (step.title for step in STEPS), key=str.lower
        )
    else:
        assert ordered[0][1].step_id == first
    assert backwards == list(reversed(ordered))
    assert by in SORTS
