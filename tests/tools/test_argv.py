"""Words of an argument list that are known only in part."""

import pytest

from oraclepack.tools.argv import PartialWord, parse_argv
from oraclepack.tools.flag_tables import table_of

ORACLE = table_of("oracle")


@pytest.mark.parametrize(
    ("tool", "word", "flags", "offset"),
    [
        pytest.param("oracle", "--file=", [("--file", None)], 7, id="a flag with a hidden value"),
        pytest.param("oracle", "--file=src/", [("--file", None)], 7, id="with a half known value"),
        pytest.param("oracle", "-f", [("--file", None)], 2, id="glued to a short flag"),
        pytest.param("oracle", "-fsrc/", [("--file", None)], 2, id="glued and half known"),
        pytest.param(
            "oracle", "-vf", [("--verbose", None), ("--file", None)], 3, id="in a group of shorts"
        ),
        pytest.param("codex", "-m=", [("--model", None)], 3, id="glued with an equals sign"),
        pytest.param("oracle", "--engine=", [("--engine", None)], 9, id="a choice is not judged"),
    ],
)
def test_a_word_known_in_part_still_names_its_flag(
    tool: str, word: str, flags: list[tuple[str, str | None]], offset: int
) -> None:
    parsed = parse_argv(table_of(tool), [PartialWord(word)], splits=())

    assert [(use.name, use.value) for use in parsed.flags] == flags
    assert (parsed.flags[-1].value_at, parsed.flags[-1].value_offset) == (0, offset)
    assert not parsed.operands
    assert not parsed.problems


@pytest.mark.parametrize(
    ("word", "splits", "operands", "uncertain"),
    [
        pytest.param("docs/", (), (0,), set(), id="no flag begins like this"),
        pytest.param("docs/", (0,), (0,), {0}, id="but it may become several words"),
        pytest.param("stat", (), (0,), set(), id="nor is it a sub-command"),
        pytest.param("", (), (0,), {0}, id="nothing is known"),
        pytest.param("-", (), (0,), {0}, id="a flag or a dash"),
        pytest.param("--", (), (0,), {0}, id="some long flag"),
        pytest.param("--fi", (), (0,), {0}, id="perhaps the file flag"),
        pytest.param("-v", (), (0,), {0}, id="a switch and more"),
    ],
)
def test_a_word_known_in_part_may_be_an_operand(
    word: str, splits: tuple[int, ...], operands: tuple[int, ...], uncertain: set[int]
) -> None:
    parsed = parse_argv(ORACLE, [PartialWord(word)], splits)

    assert (parsed.operands, set(parsed.uncertain)) == (operands, uncertain)
    assert not parsed.problems


def test_an_unknown_flag_is_named_without_its_hidden_value() -> None:
    (problem,) = parse_argv(ORACLE, [PartialWord("--promt=")]).problems

    assert (problem.spelled, problem.nearest) == ("--promt", "--prompt")
