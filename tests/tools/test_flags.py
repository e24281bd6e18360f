"""Argument lists read as oracle reads them, and what hidden words leave open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.tools.argv import ArgvWord, PartialWord, lost_values, parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.tool_names import TOOLS

ORACLE = table_of("oracle")

Argv = list[str | None]
Given = list[tuple[str, str | None]]


@pytest.mark.parametrize(
    ("argv", "flags", "operands"),
    [
        pytest.param([], [], [], id="nothing"),
        pytest.param(["-p", "x"], [("--prompt", "x")], [], id="a short flag takes the next word"),
        pytest.param(["--prompt", "x"], [("--prompt", "x")], [], id="a long flag takes it too"),
        pytest.param(["--prompt=x"], [("--prompt", "x")], [], id="a value after an equals sign"),
        pytest.param(["--prompt=a=b"], [("--prompt", "a=b")], [], id="only the first sign counts"),
        pytest.param(["--prompt="], [("--prompt", "")], [], id="an empty value is a value"),
        pytest.param(["-p", ""], [("--prompt", "")], [], id="an empty word is a value"),
        pytest.param(["-phello"], [("--prompt", "hello")], [], id="a value glued to a short flag"),
        pytest.param(["-p=x"], [("--prompt", "=x")], [], id="commander keeps the sign of a short"),
        pytest.param(["-p", "é ☃"], [("--prompt", "é ☃")], [], id="any script"),
        pytest.param(["--message", "x"], [("--prompt", "x")], [], id="message means prompt"),
        pytest.param(["--mode", "api"], [("--engine", "api")], [], id="mode means engine"),
        pytest.param(["--include", "a"], [("--file", "a")], [], id="include means file"),
        pytest.param(["--files", "a"], [("--file", "a")], [], id="files means file"),
        pytest.param(["--path", "a"], [("--file", "a")], [], id="path means file"),
        pytest.param(["--paths", "a"], [("--file", "a")], [], id="paths means file"),
        pytest.param(
            ["--file", "--render"], [("--file", "--render")], [], id="a value may look like a flag"
        ),
        pytest.param(["-p", "--", "x"], [("--prompt", "--")], ["x"], id="even like the end mark"),
        pytest.param(["-p", "-"], [("--prompt", "-")], [], id="a lone dash is a value"),
        pytest.param(["-"], [], ["-"], id="a lone dash is an operand"),
        pytest.param(
            ["-f", "a", "b", "-p", "x"],
            [("--file", "a"), ("--file", "b"), ("--prompt", "x")],
            [],
            id="a list ends at the next flag",
        ),
        pytest.param(
            ["-f", "a", "-f", "b"],
            [("--file", "a"), ("--file", "b")],
            [],
            id="a list may be given in parts",
        ),
        pytest.param(
            ["-f", "a", "-", "-5", "b"],
            [("--file", "a"), ("--file", "-"), ("--file", "-5"), ("--file", "b")],
            [],
            id="a dash and negative numbers stay in the list",
        ),
        pytest.param(
            ["-f", "a", "--", "x"], [("--file", "a")], ["x"], id="the end mark ends a list"
        ),
        pytest.param(["-fa.txt"], [("--file", "a.txt")], [], id="a glued file"),
        pytest.param(
            ["-fa.txt", "x"], [("--file", "a.txt")], ["x"], id="a glued file opens no list"
        ),
        pytest.param(
            ["--file=a", "b"], [("--file", "a")], ["b"], id="an equals sign opens no list"
        ),
        pytest.param(
            ["-f", "a.txt", "my prompt"],
            [("--file", "a.txt"), ("--file", "my prompt")],
            [],
            id="a list swallows the prompt",
        ),
        pytest.param(
            ["my prompt", "-f", "a.txt"],
            [("--file", "a.txt")],
            ["my prompt"],
            id="a prompt before the list is safe",
        ),
        pytest.param(
            ["--dry-run"], [("--dry-run", None)], [], id="an optional value may be absent"
        ),
        pytest.param(["--dry-run", "json"], [("--dry-run", "json")], [], id="or the next word"),
        pytest.param(
            ["--dry-run", "-v"],
            [("--dry-run", None), ("--verbose", None)],
            [],
            id="but never the next flag",
        ),
        pytest.param(["--dry-run=full"], [("--dry-run", "full")], [], id="or after the sign"),
        pytest.param(["--preview"], [("--dry-run", None)], [], id="preview means dry-run"),
        pytest.param(["-v"], [("--verbose", None)], [], id="a switch"),
        pytest.param(
            ["-vp", "x"], [("--verbose", None), ("--prompt", "x")], [], id="a group of shorts"
        ),
        pytest.param(
            ["-vpx"], [("--verbose", None), ("--prompt", "x")], [], id="a group with a value"
        ),
        pytest.param(
            ["-vfa", "b"],
            [("--verbose", None), ("--file", "a")],
            ["b"],
            id="a group with a glued file opens no list",
        ),
        pytest.param(
            ["-vf", "a", "b"],
            [("--verbose", None), ("--file", "a"), ("--file", "b")],
            [],
            id="a group that ends in a list flag opens one",
        ),
        pytest.param(["-v-", "-p"], [("--verbose", None)], ["-p"], id="a group may hold the mark"),
        pytest.param(["--no-wait"], [("--no-wait", None)], [], id="a negated flag is its own"),
        pytest.param(["--[no-]notify"], [("--notify", None)], [], id="a legacy spelling"),
        pytest.param(
            ["-m", "a", "-m", "b"],
            [("--model", "a"), ("--model", "b")],
            [],
            id="both uses are reported, the last one counts",
        ),
        pytest.param(["--", "-p"], [], ["-p"], id="after the mark nothing is a flag"),
        pytest.param(["x", "-v"], [("--verbose", None)], ["x"], id="flags after the operand"),
    ],
)
def test_commander_reads_oracles_words(argv: Argv, flags: Given, operands: list[str]) -> None:
    parsed = parse_argv(ORACLE, argv)

    assert [(use.name, use.value) for use in parsed.flags] == flags
    assert [argv[at] for at in parsed.operands] == operands
    assert not parsed.problems
    assert not parsed.excess
    assert parsed.subcommand is None


@pytest.mark.parametrize(
    ("argv", "subcommand", "flags", "operands"),
    [
        pytest.param(["status"], "status", [], [], id="a sub-command"),
        pytest.param(
            ["-p", "hello", "status"],
            "status",
            [("--prompt", "hello")],
            [],
            id="a stray word that happens to be one",
        ),
        pytest.param(
            ["status", "--hours", "3", "-v"],
            "status",
            [("--hours", "3"), ("--verbose", None)],
            [],
            id="flags of its own and of the tool",
        ),
        pytest.param(
            ["session", "my-slug", "--render"],
            "session",
            [("--render-markdown", None)],
            ["my-slug"],
            id="its operand",
        ),
        pytest.param(["bridge", "doctor"], "bridge doctor", [], [], id="a nested one"),
        pytest.param(["hello", "status"], None, [], ["hello", "status"], id="only the first word"),
        pytest.param(["help", "status"], "help", [], ["status"], id="help"),
        pytest.param(["--", "status"], "status", [], [], id="even after the end mark"),
    ],
)
def test_commander_notices_sub_commands_last(
    argv: Argv, subcommand: str | None, flags: Given, operands: list[str]
) -> None:
    parsed = parse_argv(ORACLE, argv)

    assert parsed.subcommand == subcommand
    assert [(use.name, use.value) for use in parsed.flags] == flags
    assert [argv[at] for at in parsed.operands] == operands


@pytest.mark.parametrize(
    ("tool", "argv", "splits", "excess"),
    [
        pytest.param("oracle", ["a"], None, (), id="one prompt is fine"),
        pytest.param("oracle", ["a", "b", "c"], None, (1, 2), id="the second is too many"),
        pytest.param("oracle", ["-p", None, "a", "b"], (), (3,), id="a hidden value is one word"),
        pytest.param("oracle", ["-p", None, "a", "b"], None, (), id="or several, if it may split"),
        pytest.param("oracle", [None, "a", "b"], (), (), id="a hidden word may be a flag"),
        pytest.param(
            "oracle", [None, "-v", "a", "b"], None, (3,), id="a flag makes it clear again"
        ),
        pytest.param("oracle", ["-f", None, "a", "b"], None, (), id="a list takes them all"),
        pytest.param("oracle", ["status", "a", "b"], None, (2,), id="a sub-command has its own"),
        pytest.param("codex", ["exec", "a", "b"], None, (2,), id="one prompt for codex"),
        pytest.param("codex", ["a", "b"], None, (), id="an unknown codex command"),
        pytest.param("gemini", ["a", "b"], None, (), id="gemini takes many"),
    ],
)
def test_too_many_operands(
    tool: str, argv: Argv, splits: tuple[int, ...] | None, excess: tuple[int, ...]
) -> None:
    assert parse_argv(table_of(tool), argv, splits).excess == excess


def test_hidden_words_are_operands_that_may_be_anything() -> None:
    parsed = parse_argv(ORACLE, [None, "a", "-p", "x", "b"])

    assert parsed.operands == (0, 1, 4)
    assert parsed.uncertain == {0, 1}
    assert parsed.hidden


def test_a_hidden_value_keeps_its_place() -> None:
    (use,) = parse_argv(ORACLE, ["-p", None], splits=()).flags

    assert (use.value, use.value_at) == (None, 1)


def test_a_word_behind_a_hidden_one_chooses_no_sub_command() -> None:
    assert parse_argv(ORACLE, ["-p", None, "status"]).subcommand is None
    assert parse_argv(ORACLE, ["-p", None, "status"], splits=()).subcommand == "status"


def test_the_last_use_is_the_one_that_counts() -> None:
    parsed = parse_argv(ORACLE, ["-m", "a", "--model=b"])

    last = parsed.last("--model")
    assert last is not None
    assert (last.value, last.spelled, last.at, last.value_at) == ("b", "--model", 2, 2)
    assert [use.value for use in parsed.uses("--model")] == ["a", "b"]
    assert parsed.last("--engine") is None


WORDS = [
    "-p",
    "-f",
    "--file=a",
    "-vp",
    "-v-",
    "--",
    "-",
    "-5",
    "status",
    "exec",
    "--no-debug",
    "=",
    "",
]
TEXTS = st.sampled_from(WORDS) | st.text(max_size=6)


@given(
    st.sampled_from(TOOLS),
    st.lists(st.none() | TEXTS | TEXTS.map(PartialWord), max_size=9),
    st.none() | st.sets(st.integers(0, 9)),
)
def test_every_list_can_be_read(tool: str, argv: list[ArgvWord], splits: set[int] | None) -> None:
    table = table_of(tool)

    parsed = parse_argv(table, argv, splits)

    lost_values(table, parsed)
    places = [use.at for use in parsed.flags] + [use.value_at or 0 for use in parsed.flags]
    assert all(0 <= at < len(argv) for at in [*places, *parsed.operands])
    assert not {use.value_at for use in parsed.flags} & set(parsed.operands)
    assert set(parsed.excess) <= set(parsed.operands) - parsed.uncertain


def test_a_very_long_group_is_read() -> None:
    assert len(parse_argv(ORACLE, ["-" + "v" * 20_000]).flags) == 20_000
