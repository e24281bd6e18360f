"""The tables of the tools' flags."""

import pytest

from oraclepack.tools.flag_tables import Effect, Role, table_of
from oraclepack.tools.tool_names import TOOLS

ORACLE = table_of("oracle")


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
    spec = root.below[command] if command else root

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
