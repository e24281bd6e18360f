"""What a call loses without a word of complaint from the tool."""

import pytest

from oraclepack.tools.argv import Loss, lost_values, parse_argv, split_list
from oraclepack.tools.flag_tables import table_of

ORACLE = table_of("oracle")

Argv = list[str | None]
IGNORED, SWALLOWED = Loss.IGNORED_OPERAND, Loss.SWALLOWED_PROMPT


@pytest.mark.parametrize(
    ("tool", "argv", "lost"),
    [
        pytest.param("oracle", ["-p", "x", "-f", "a", "b"], [], id="a good call"),
        pytest.param(
            "oracle", ["--file=a", "b", "-p", "x"], [(IGNORED, 1)], id="a file after an equals sign"
        ),
        pytest.param("oracle", ["ask", "-p", "x"], [(IGNORED, 0)], id="two prompts"),
        pytest.param("oracle", ["a", "b", "-p", "x"], [(IGNORED, 0)], id="more is an error anyway"),
        pytest.param("oracle", [None, "b", "-p", "x"], [], id="hidden words may explain it"),
        pytest.param("oracle", ["-f", "a", "my prompt"], [(SWALLOWED, 2)], id="a prompt as a file"),
        pytest.param("oracle", ["-f", "a"], [], id="no prompt at all is the tool's to tell"),
        pytest.param("oracle", ["-f", "a", "-f", "b"], [], id="nothing strayed into these lists"),
        pytest.param("oracle", ["-v"], [], id="no list, no prompt"),
        pytest.param("oracle", ["-f", "a", None], [], id="a hidden word may hold the prompt flag"),
        pytest.param("oracle", ["--status", "-f", "a", "b"], [], id="no prompt needed"),
        pytest.param("oracle", ["status", "-f", "a", "b"], [], id="nor for a sub-command"),
        pytest.param("oracle", ["-p", "x", "-f", "a,b"], [(Loss.LIST_SPLIT, 3)], id="a comma"),
        pytest.param("oracle", ["-p", "x", "-f", "a,"], [], id="a comma at the end cuts nothing"),
        pytest.param(
            "oracle", ["-p", "x", "-f", "*.{ts,tsx}"], [(Loss.BRACES_SPLIT, 3)], id="brace glob"
        ),
        pytest.param("oracle", ["-p", "x", "-f"], [], id="a list without a value"),
        pytest.param("gemini", ["a", "-p", "x"], [], id="gemini complains by itself"),
    ],
)
def test_what_is_lost_without_a_word(tool: str, argv: Argv, lost: list[tuple[Loss, int]]) -> None:
    table = table_of(tool)

    found = lost_values(table, parse_argv(table, argv))

    assert [(value.loss, value.at) for value in found] == lost


def test_a_single_hidden_word_can_be_the_swallowed_prompt() -> None:
    (lost,) = lost_values(ORACLE, parse_argv(ORACLE, ["-f", "a", None], splits=()))

    assert (lost.loss, lost.at) == (SWALLOWED, 2)


@pytest.mark.parametrize(
    ("value", "pieces"),
    [
        ("a.txt", ("a.txt",)),
        ("a.txt,b.txt", ("a.txt", "b.txt")),
        (" a , ,b,", ("a", "b")),
        ("", ()),
        ("*.{ts,tsx}", ("*.{ts", "tsx}")),
    ],
)
def test_oracle_splits_files_at_commas(value: str, pieces: tuple[str, ...]) -> None:
    assert split_list(ORACLE.root.by_spelling["-f"], value) == pieces


def test_a_prompt_is_never_split() -> None:
    assert split_list(ORACLE.root.by_spelling["-p"], "a, b") == ("a, b",)
