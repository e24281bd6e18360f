"""Argument lists read as the tools read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.core.call import TOOLS, FlagFault
from oraclepack.core.flags import (
    Effect,
    Loss,
    Role,
    lost_values,
    nearest_flag,
    parse_argv,
    split_list,
    table_of,
)

ORACLE = table_of("oracle")
CODEX = table_of("codex")
GEMINI = table_of("gemini")
TASK_MASTER = table_of("task-master")

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
            id="both uses are told, the last one counts",
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


UNKNOWN, NO_VALUE, BAD_CHOICE = FlagFault.UNKNOWN, FlagFault.NO_VALUE, FlagFault.BAD_CHOICE


@pytest.mark.parametrize(
    ("tool", "argv", "problems"),
    [
        pytest.param("oracle", ["--nosuch"], [(UNKNOWN, "--nosuch", 0)], id="unknown"),
        pytest.param("oracle", ["-x", "-p", "y"], [(UNKNOWN, "-x", 0)], id="unknown short"),
        pytest.param("oracle", ["-vx"], [(UNKNOWN, "-x", 0)], id="unknown in a group"),
        pytest.param("oracle", ["-5"], [(UNKNOWN, "-5", 0)], id="a number where flags may stand"),
        pytest.param(
            "oracle", ["session", "-5"], [], id="a number where only an operand may stand"
        ),
        pytest.param(
            "oracle", ["--verbose=1"], [(UNKNOWN, "--verbose=1", 0)], id="a value for a switch"
        ),
        pytest.param(
            "oracle", ["--nosuch", "a", "b", "--", "-q"], [(UNKNOWN, "--nosuch", 0)], id="one only"
        ),
        pytest.param("oracle", ["-p"], [(NO_VALUE, "-p", 0)], id="no value"),
        pytest.param("oracle", ["-e", "gpt"], [(BAD_CHOICE, "-e", 0)], id="a bad choice"),
        pytest.param("oracle", ["--dry-run=x"], [(BAD_CHOICE, "--dry-run", 0)], id="also optional"),
        pytest.param("oracle", ["-e", None], [], id="a hidden choice is not judged"),
        pytest.param("oracle", ["help", "--nosuch"], [], id="help takes anything"),
        pytest.param("codex", ["exec", "-m", "-o", "f"], [(NO_VALUE, "-m", 1)], id="clap: no flag"),
        pytest.param("codex", ["exec", "-m", "--"], [(NO_VALUE, "-m", 1)], id="clap: no mark"),
        pytest.param("codex", ["exec", "-a", "x"], [(UNKNOWN, "-a", 1)], id="no approvals in exec"),
        pytest.param("codex", ["exec", "-s", "all"], [(BAD_CHOICE, "-s", 1)], id="clap: choice"),
        pytest.param("codex", ["exec", "-5"], [(UNKNOWN, "-5", 1)], id="clap: a number is a flag"),
        pytest.param("codex", ["--nosuch", "exec", "x"], [], id="codex itself is not all known"),
        pytest.param("codex", ["exec", "resume", "--last"], [], id="nor is exec resume"),
        pytest.param("gemini", ["-p", "-x"], [(NO_VALUE, "-p", 0), (UNKNOWN, "-x", 1)], id="yargs"),
        pytest.param("gemini", ["--nosuch"], [(UNKNOWN, "--nosuch", 0)], id="gemini is strict"),
        pytest.param(
            "gemini", ["--no-model"], [(UNKNOWN, "--no-model", 0)], id="no switch to turn"
        ),
        pytest.param("gemini", ["mcp", "list", "--nosuch"], [], id="gemini mcp is not known"),
        pytest.param("task-master", ["list", "--nosuch", "x"], [], id="nor all of task-master"),
    ],
)
def test_what_the_tool_would_refuse(
    tool: str, argv: Argv, problems: list[tuple[FlagFault, str, int]]
) -> None:
    found = parse_argv(table_of(tool), argv).problems

    assert [(problem.fault, problem.spelled, problem.at) for problem in found] == problems


def test_a_bad_choice_names_the_good_ones() -> None:
    (problem,) = parse_argv(ORACLE, ["--engine", "gpt"]).problems

    assert problem.allowed == ("api", "browser")


@pytest.mark.parametrize(
    ("spelled", "nearest"),
    [
        ("--promt", "--prompt"),
        ("--write-ouput=x", "--write-output"),
        ("--zzzzzz", None),
        ("-q", None),
        ("--" + "file" * 5000, None),
    ],
)
def test_the_nearest_known_flag(spelled: str, nearest: str | None) -> None:
    assert nearest_flag(ORACLE.root, spelled) == nearest
    assert parse_argv(ORACLE, [spelled]).problems[0].nearest == nearest


@pytest.mark.parametrize(
    ("argv", "flags", "operands", "subcommand"),
    [
        pytest.param(["exec", "hi"], [], ["hi"], "exec", id="a prompt"),
        pytest.param(["e", "hi"], [], ["hi"], "exec", id="exec in short"),
        pytest.param(
            ["exec", "-o", "f.md", "hi"],
            [("--output-last-message", "f.md")],
            ["hi"],
            "exec",
            id="an output",
        ),
        pytest.param(
            ["exec", "-o=f.md", "-mgpt"],
            [("--output-last-message", "f.md"), ("--model", "gpt")],
            [],
            "exec",
            id="clap drops the equals sign of a short",
        ),
        pytest.param(["exec", "-p", "x"], [("--profile", "x")], [], "exec", id="p is the profile"),
        pytest.param(
            ["exec", "-i", "a", "b", "--json", "hi"],
            [("--image", "a"), ("--image", "b"), ("--json", None)],
            ["hi"],
            "exec",
            id="images are a list",
        ),
        pytest.param(["exec", "--", "resume"], [], ["resume"], "exec", id="a word after the mark"),
        pytest.param(["exec", "-"], [], ["-"], "exec", id="the prompt from stdin"),
        pytest.param(
            ["-m", "gpt", "exec", "hi"], [("--model", "gpt")], ["hi"], "exec", id="flags before"
        ),
        pytest.param(["exec", "resume", "x"], [], ["x"], "exec resume", id="a nested one"),
    ],
)
def test_clap_reads_codexs_words(
    argv: Argv, flags: Given, operands: list[str], subcommand: str
) -> None:
    parsed = parse_argv(CODEX, argv)

    assert [(use.name, use.value) for use in parsed.flags] == flags
    assert [argv[at] for at in parsed.operands] == operands
    assert parsed.subcommand == subcommand
    assert not parsed.problems


@pytest.mark.parametrize(
    ("argv", "flags", "operands"),
    [
        pytest.param(["-p", "hi"], [("--prompt", "hi")], [], id="a prompt"),
        pytest.param(["say", "hi"], [], ["say", "hi"], id="a query of several words"),
        pytest.param(["-p", "-5"], [("--prompt", "-5")], [], id="a negative number is a value"),
        pytest.param(["-5"], [], ["-5"], id="or an operand"),
        pytest.param(["-dy"], [("--debug", None), ("--yolo", None)], [], id="a group of switches"),
        pytest.param(["-d=false"], [("--debug", "false")], [], id="a switch turned off in short"),
        pytest.param(["--debug=false"], [("--debug", "false")], [], id="a switch turned off"),
        pytest.param(["--debug", "false"], [("--debug", "false")], [], id="by the next word"),
        pytest.param(["--debug", "x"], [("--debug", None)], ["x"], id="but not by any word"),
        pytest.param(["--no-debug"], [("--debug", "false")], [], id="a made-up negation"),
        pytest.param(
            ["--approvalMode", "plan"], [("--approval-mode", "plan")], [], id="camelCase is known"
        ),
        pytest.param(["-m=x"], [("--model", "x")], [], id="the sign of a short is dropped"),
    ],
)
def test_yargs_reads_geminis_words(argv: Argv, flags: Given, operands: list[str]) -> None:
    parsed = parse_argv(GEMINI, argv)

    assert [(use.name, use.value) for use in parsed.flags] == flags
    assert [argv[at] for at in parsed.operands] == operands
    assert not parsed.problems


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
    assert lost.use is not None
    assert lost.use.name == "--file"


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


@pytest.mark.parametrize("tool", TOOLS)
def test_every_table_is_sound(tool: str) -> None:
    table = table_of(tool)

    assert table.tool == tool
    for command in table.root.walk():
        spellings = [spelling for spec in command.flags for spelling in spec.spellings]
        assert len(spellings) == len(set(spellings))
        assert all(spelling.startswith("-") for spelling in spellings)
        assert all(spec.value != "none" for spec in command.flags if spec.variadic or spec.choices)
        assert all(spec.value == "required" for spec in command.flags if spec.role)


def test_no_table_of_an_unknown_tool() -> None:
    with pytest.raises(KeyError):
        table_of("../secrets")


def test_oracles_table_has_every_root_option() -> None:
    spellings = [s for spec in ORACLE.root.flags for s in spec.spellings if s.startswith("--")]

    assert len([spelling for spelling in spellings if "[" not in spelling]) == 121


@pytest.mark.parametrize(
    ("tool", "command", "role", "names"),
    [
        ("oracle", None, Role.OUTPUT, {"--write-output"}),
        ("oracle", None, Role.PROMPT, {"--prompt"}),
        ("oracle", None, Role.ATTACHMENT, {"--file"}),
        ("oracle", None, Role.SIDE_FILE, {"--output", "--generate-image", "--perf-trace-path"}),
        ("oracle", "session", Role.OUTPUT, {"--write-output"}),
        ("codex", "exec", Role.OUTPUT, {"--output-last-message"}),
        ("gemini", None, Role.OUTPUT, set()),
        ("task-master", "parse-prd", Role.OUTPUT, {"--output"}),
        ("task-master", "analyze-complexity", Role.OUTPUT, {"--output"}),
    ],
)
def test_which_flags_name_what(tool: str, command: str | None, role: Role, names: set[str]) -> None:
    root = table_of(tool).root
    spec = root.commands[command] if command else root

    assert {flag.name for flag in spec.flags if flag.role is role} == names


@pytest.mark.parametrize(
    ("effect", "names"),
    [
        (Effect.ANSWER, ["--prompt", "--file", "--model", "--engine", "--search", "--max-output"]),
        (Effect.ANSWER, ["--base-url", "--provider", "--azure-deployment", "--reasoning-effort"]),
        (Effect.OUTPUT, ["--write-output"]),
        (Effect.NONE, ["--verbose", "--timeout", "--slug", "--wait", "--force", "--notify"]),
        (Effect.NONE, ["--remote-token", "--browser-inline-cookies"]),
        (Effect.INSPECT, ["--help", "--dry-run", "--render-markdown", "--status"]),
    ],
)
def test_what_flags_change(effect: Effect, names: list[str]) -> None:
    assert {ORACLE.root.by_spelling[name].effect for name in names} == {effect}


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


@given(
    st.sampled_from(TOOLS),
    st.lists(st.none() | st.sampled_from(WORDS) | st.text(max_size=6), max_size=9),
    st.none() | st.sets(st.integers(0, 9)),
)
def test_every_list_can_be_read(tool: str, argv: Argv, splits: set[int] | None) -> None:
    table = table_of(tool)

    parsed = parse_argv(table, argv, splits)

    lost_values(table, parsed)
    places = [use.at for use in parsed.flags] + [use.value_at or 0 for use in parsed.flags]
    assert all(0 <= at < len(argv) for at in [*places, *parsed.operands])
    assert not {use.value_at for use in parsed.flags} & set(parsed.operands)
    assert set(parsed.excess) <= set(parsed.operands) - parsed.uncertain


def test_a_very_long_group_is_read() -> None:
    assert len(parse_argv(ORACLE, ["-" + "v" * 20_000]).flags) == 20_000
