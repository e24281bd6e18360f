"""Lines that state work in a fixed form."""

import pytest

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.answers.work_lines import Effort, WorkLine, parse_work_line

FULL = (
    "Release the lock when a worker dies | files: src/pool.py, src/worker.py | done when: the test "
    "kills a worker and the next one starts | effort: S | evidence: src/pool.py:12"
)


def test_a_line_is_read_as_it_stands() -> None:
    assert parse_work_line(f"WORK: {FULL}", 7) == WorkLine(
        7,
        "Release the lock when a worker dies",
        FULL,
        files=("src/pool.py", "src/worker.py"),
        done_when="the test kills a worker and the next one starts",
        effort=Effort.S,
        evidence=("src/pool.py:12",),
    )


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("- WORK: Fix it | effort: S", id="as an item"),
        pytest.param("**WORK:** Fix it | effort: S", id="in bold"),
        pytest.param("`WORK: Fix it | effort: S`", id="as code"),
        pytest.param("1. WORK: Fix it | effort: s", id="numbered, in small letters"),
        pytest.param("WORK: Fix it|effort: S", id="without spaces"),
    ],
)
def test_marks_of_the_page_do_not_matter(line: str) -> None:
    parsed = parse_work_line(line, 1)

    assert parsed is not None
    assert (parsed.title, parsed.effort) == ("Fix it", Effort.S)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        pytest.param("WORK: Fix it | effort: huge", "effort is S, M or L, not 'HUGE'", id="effort"),
        pytest.param("WORK: Fix it | soon", "no known field: 'soon'", id="a field without a name"),
    ],
)
def test_what_is_wrong_with_a_line_is_known(line: str, fault: str) -> None:
    parsed = parse_work_line(line, 1)

    assert parsed is not None
    assert parsed.faults == (fault,)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("Direct answer\n\nIt is so.", None, id="no such line"),
        pytest.param("Direct answer\n\nIt is so.\n\nWORK: none", 0, id="none"),
        pytest.param("It is so.\n\nWORK: Fix it\nWORK: Test it", 2, id="two"),
        pytest.param("The work: fix it.", None, id="a word in a sentence"),
    ],
)
def test_an_answer_has_work_lines_or_not(text: str, count: int | None) -> None:
    work = read_answer_text(text).work

    assert (None if work is None else len(work)) == count
