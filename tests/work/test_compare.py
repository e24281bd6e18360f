"""Whether two statements say the same or deny each other: few, and sure."""

import pytest

from oraclepack.work.compare import Relation, relate, statement_of
from tests.work.score import PAIRS, figures, pairs

AT = "(`src/pool.c:20`)"


@pytest.mark.parametrize(
    ("relation", "first", "second"),
    [
        pytest.param(
            "duplicate",
            f"Validate the names before importing {AT}.",
            f"The names should be validated before they are imported {AT}.",
            id="endings and small words do not matter",
        ),
        pytest.param(
            "duplicate",
            f"Add a lock around `put` before writing {AT}.",
            f"Add a new lock around `put` before writing {AT}.",
            id="one word more",
        ),
        pytest.param(
            "conflict", f"The index is built {AT}.", f"The index is not built {AT}.", id="denied"
        ),
        pytest.param(
            "conflict", f"Delivery is ordered {AT}.", f"Delivery is unordered {AT}.", id="un-"
        ),
        pytest.param("conflict", f"Keep the flag {AT}.", f"Remove the flag {AT}.", id="opposites"),
        pytest.param(
            "conflict",
            f"The buffer holds 10 entries {AT}.",
            f"The buffer holds 20 entries {AT}.",
            id="two numbers",
        ),
        pytest.param(
            "unrelated",
            f"Errors are swallowed {AT}.",
            f"Errors are logged {AT}.",
            id="another word",
        ),
        pytest.param(
            "unrelated", "Add a lock to `a.c:1`.", "Add a lock to `b.c:1`.", id="elsewhere"
        ),
        pytest.param("unrelated", "Add a lock.", "Add a lock.", id="no place is named"),
    ],
)
def test_the_relation_of_two_statements(relation: str, first: str, second: str) -> None:
    one, other = statement_of(first), statement_of(second)

    assert relate(one, other) is relate(other, one) is Relation(relation)


@pytest.mark.parametrize("relation", [Relation.DUPLICATE, Relation.CONFLICT])
def test_what_is_found_among_the_labelled_pairs_is_right(relation: Relation) -> None:
    found = figures(relation, [(pair, pair.found) for pair in pairs()])

    assert PAIRS.exists()
    assert found.precision == 1.0
    assert found.found >= 10
