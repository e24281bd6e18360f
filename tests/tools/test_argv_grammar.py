"""Argument lists read as codex and gemini read them, and what each tool refuses."""

import pytest

from oraclepack.tools.argv import nearest_flag, parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.tool_names import FlagFault

ORACLE = table_of("oracle")
CODEX = table_of("codex")
GEMINI = table_of("gemini")

Argv = list[str | None]
Given = list[tuple[str, str | None]]
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
