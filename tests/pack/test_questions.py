"""Counting questions: what belongs together is one, what stands alone is its own."""

import pytest

from oraclepack.pack.questions import Counts, count, question_groups, questions_of
from tests.packs import a_pack, a_strict_pack

CHUNKS = "\n".join(
    f'oracle -p "q" --write-output "out/01-x{suffix}.md"'
    for suffix in ("-direct-answer", "-risks-unknowns", "-next-experiment", "-missing-evidence")
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("make lint", 0, id="no call asks nothing"),
        pytest.param("oracle -p q --write-output a.md", 1, id="one call"),
        pytest.param("oracle -p q", 1, id="a call without output still asks"),
        pytest.param(CHUNKS, 1, id="four chunks are one question"),
        pytest.param(CHUNKS.replace("out/", '"$dir"/'), 1, id="chunks in an unknown directory"),
        pytest.param(
            "oracle -p a --write-output a.md\noracle -p b --write-output b.md",
            2,
            id="two outputs are two questions",
        ),
        pytest.param("oracle -p a\noracle -p b", 2, id="two calls without outputs"),
        pytest.param(
            "oracle -p a --write-output a.md || oracle -e browser -p a --write-output a.md",
            1,
            id="a second try at the same file is no second question",
        ),
        pytest.param(
            "oracle -p a --write-output a-direct-answer.md\n"
            "oracle -p b --write-output b-risks-unknowns.md",
            2,
            id="chunks of two answers",
        ),
        pytest.param(
            'ask() { oracle -p "$1" --write-output "$2"; }\nask a a.md\nask b b.md',
            2,
            id="a function asks once for each use",
        ),
        pytest.param("oracle --dry-run -p q\noracle status", 0, id="looking is not asking"),
        pytest.param("oracle -p a > a.md\noracle -p b > b.md", 2, id="redirected answers"),
        pytest.param(
            "oracle -p a > /dev/null\noracle -p b > /dev/null", 2, id="answers thrown away"
        ),
        pytest.param("codex exec 'do it'", 0, id="codex is asked nothing"),
        pytest.param(
            "oracle -p a --write-output a-direct-answer\n"
            "oracle -p a --write-output a-risks-unknowns",
            1,
            id="chunks without extension",
        ),
    ],
)
def test_questions_of_a_step(body: str, expected: int) -> None:
    pack = a_pack(f"# 01) step\n{body}\n")

    assert questions_of(pack.steps[0]) == expected


def test_a_strict_pack_counts_twenty() -> None:
    assert count(a_strict_pack()) == Counts(20, 1, 20, 20)


def test_chunks_count_as_invocations_each() -> None:
    pack = a_pack(f"# 01) step\n{CHUNKS}\n# 02) step\noracle -p x\n")

    assert count(pack) == Counts(2, 1, 5, 2)
    assert [len(group) for group in question_groups(pack.steps[0])] == [4]
