"""What a call of oracle asks, read from its words."""

import pytest

from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_question import (
    OracleQuestion,
    asks_a_model,
    read_question,
    reads_stdin,
    written_paths,
)

ORACLE = table_of("oracle")


def question(*argv: str, stdin: str = "") -> OracleQuestion:
    return read_question(parse_argv(ORACLE, argv), argv, stdin)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        pytest.param(("-p", " why? \n"), OracleQuestion("why?"), id="the prompt is trimmed"),
        pytest.param(("why?",), OracleQuestion("why?"), id="a word alone is the prompt"),
        pytest.param(
            ("-p", "a", "b"), OracleQuestion("a"), id="a word beside a prompt is not read"
        ),
        pytest.param(("-p", "a", "--message", "b"), OracleQuestion("b"), id="the last prompt wins"),
        pytest.param(
            ("-p", "a", "-f", "x,y", "z", "--include", "x"),
            OracleQuestion("a", files=("x", "y", "z")),
            id="files are cut at commas, aliases too, each once",
        ),
        pytest.param(
            ("-p", "a", "-f", ""), OracleQuestion("a"), id="an empty file name is nothing"
        ),
        pytest.param(
            ("-p", "a", "--write-output", "o.md", "-m", "gpt-5.2", "-e", "api"),
            OracleQuestion("a", output="o.md", model="gpt-5.2", engine="api"),
            id="where to and whom",
        ),
        pytest.param(
            ("-p", "a", "--browser"), OracleQuestion("a", engine="browser"), id="the old switch"
        ),
        pytest.param(
            ("-p", "a", "--models", "gpt-5.2"),
            OracleQuestion("a", model="gpt-5.2"),
            id="a list of one model",
        ),
        pytest.param(
            ("-p", "a", "--models", "m, n", "-m", "z"),
            OracleQuestion("a", models=("m", "n")),
            id="several models",
        ),
        pytest.param(
            ("-p", "a", "--search", "on", "-v", "--timeout", "9", "--slug", "one two three"),
            OracleQuestion("a", flags={"--search": ("on",)}),
            id="only flags that change the answer",
        ),
        pytest.param(
            ("-p", "a", "--search", "on", "--search", "off"),
            OracleQuestion("a", flags={"--search": ("off",)}),
            id="the last of a single value",
        ),
    ],
)
def test_read_question(argv: tuple[str, ...], expected: OracleQuestion) -> None:
    assert question(*argv) == expected


def test_a_dash_reads_stdin() -> None:
    argv = ("-p", "-")

    assert reads_stdin(parse_argv(ORACLE, argv), argv)
    assert question(*argv, stdin=" from a pipe\n").prompt == "from a pipe"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        pytest.param("-p x", True, id="a question"),
        pytest.param("x", True, id="a question without a flag"),
        pytest.param("", False, id="nothing: oracle prints its help"),
        pytest.param("--version", False, id="the version"),
        pytest.param("-p x --dry-run", False, id="a dry run"),
        pytest.param("-p x --render", False, id="a rendering"),
        pytest.param("status", False, id="a look at the sessions"),
        pytest.param("restart abc", True, id="asking a stored session again"),
        pytest.param("-p hello status", False, id="a word that is a sub-command"),
    ],
)
def test_asks_a_model(argv: str, expected: bool) -> None:
    words = argv.split()

    assert asks_a_model(parse_argv(ORACLE, words), words) is expected


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        pytest.param(("-p", "a"), (), id="none promised"),
        pytest.param(("-p", "a", "--write-output", "o/x.md"), ("o/x.md",), id="one"),
        pytest.param(
            ("-p", "a", "--write-output", "o/x.md", "--models", "m,n-1.2"),
            ("o/x.m.md", "o/x.n-1.2.md"),
            id="one for each of several models",
        ),
        pytest.param(
            ("-p", "a", "--write-output", "o/x", "--models", "m,n"),
            ("o/x.m", "o/x.n"),
            id="no ending",
        ),
    ],
)
def test_promised_outputs(argv: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert question(*argv).outputs == expected


@pytest.mark.parametrize(
    ("tool", "argv", "expected"),
    [
        pytest.param("oracle", "--write-output a.md -p x", ["a.md"], id="oracle's answer"),
        pytest.param("oracle", "--perf-trace-path t -p x", ["t"], id="oracle's trace"),
        pytest.param("oracle", "--generate-image i.png -p x", ["i.png"], id="oracle's image"),
        pytest.param("codex", "exec -o last.md hello", ["last.md"], id="codex's last message"),
        pytest.param(
            "task-master", "analyze-complexity --output r.json", ["r.json"], id="a report"
        ),
        pytest.param("gemini", "-p hello", [], id="gemini writes to the screen"),
    ],
)
def test_written_paths(tool: str, argv: str, expected: list[str]) -> None:
    parsed = parse_argv(table_of(tool), argv.split())

    assert [path for _, path in written_paths(parsed)] == expected
