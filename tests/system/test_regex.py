"""Patterns that are compiled late match as those compiled at once."""

import importlib
import pkgutil
import re

import pytest

import oraclepack
from oraclepack.system.text_limits import LateRegex, regex


@pytest.mark.parametrize("text", ["", "a1", "A22b", "x"])
def test_it_matches_as_the_compiled_one(text: str) -> None:
    late, known = regex(r"a(\d+)", re.IGNORECASE), re.compile(r"a(\d+)", re.IGNORECASE)

    for _ in range(2):
        assert late.findall(text) == known.findall(text)
        assert late.sub("-", text) == known.sub("-", text)
        assert bool(late.fullmatch(text)) == bool(known.fullmatch(text))
    assert late.groups == known.groups


def test_bytes_match_too() -> None:
    assert regex(rb"\d").search(b"a1")


def test_every_pattern_of_the_program_can_be_compiled() -> None:
    names = [module.name for module in pkgutil.walk_packages(oraclepack.__path__, "oraclepack.")]
    modules = [importlib.import_module(name) for name in names if "__main__" not in name]
    late = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, LateRegex)
    ]

    assert len(late) > 50
    assert all(pattern.groups >= 0 for pattern in late)
