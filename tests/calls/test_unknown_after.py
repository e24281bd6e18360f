"""`--unknown-after`: from which age on a call without a known end is made again."""

from datetime import UTC, datetime

import pytest

from oraclepack.calls.earlier import is_given_up


@pytest.mark.parametrize(
    ("asked", "after", "expected"),
    [
        ("2026-11-16T12:00:00.000Z", None, False),
        ("2026-11-16T12:00:00.000Z", 3600.0, True),
        ("2026-11-16T12:00:00.000Z", 3601.0, False),
        ("2026-11-16T14:00:00.000Z", 0.1, False),
        ("", 1.0, False),
        ("yesterday", 1.0, False),
    ],
)
def test_a_call_is_given_up_only_by_a_known_age(
    asked: str, after: float | None, expected: bool
) -> None:
    assert is_given_up(asked, datetime(2026, 11, 16, 13, tzinfo=UTC), after) is expected
