"""Patterns that are compiled on first use."""

import re

from oraclepack.system.patterns import late_pattern


def test_a_pattern_is_compiled_once_and_with_its_flags() -> None:
    word = late_pattern("ab", re.IGNORECASE)

    assert word().fullmatch("AB")
    assert word() is word()
    assert late_pattern(rb"\d")().search(b"x1")


def test_a_pattern_is_not_compiled_before_its_use() -> None:
    late_pattern("(")
