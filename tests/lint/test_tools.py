"""OP6xx: how tools may be called."""

import pytest

from tests.lint.judging import findings, only

ORACLE = "oracle -p q --write-output a.md"
GUARD = "command -v codex gemini tm task-master >/dev/null || exit 0\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(ORACLE, [], id="a plain call"),
        pytest.param("codex exec x", ["OP601"], id="codex unasked"),
        pytest.param("tm list", ["OP601"], id="task-master by its short name"),
        pytest.param("codex exec x\ncodex exec y", ["OP601"], id="once for a step"),
        pytest.param("codex exec x\ngemini -p y", ["OP601", "OP601"], id="once for a tool"),
        pytest.param("npx -y @openai/codex exec x", [], id="fetched by npx"),
        pytest.param(f"{GUARD}codex exec x", [], id="asked"),
        pytest.param(f"{GUARD}codex", ["OP602"], id="codex alone"),
        pytest.param(f"{GUARD}codex --version", [], id="only its version"),
        pytest.param(f"{GUARD}codex exec", ["OP602"], id="codex exec without a prompt"),
        pytest.param(f"{GUARD}cat x | codex exec", [], id="a prompt by pipe"),
        pytest.param(f"{GUARD}codex exec - < prompt.md", [], id="a prompt by redirection"),
        pytest.param(f'{GUARD}codex "${{args[@]}}"', [], id="hidden words"),
        pytest.param(f"{GUARD}gemini", ["OP602"], id="gemini alone"),
        pytest.param(f"{GUARD}gemini -i x", ["OP602"], id="gemini that goes on talking"),
        pytest.param(f"{GUARD}gemini --list-extensions", [], id="gemini that lists"),
        pytest.param(f"{GUARD}gemini mcp list", [], id="a sub-command of gemini"),
        pytest.param(f"{GUARD}echo x | gemini", [], id="gemini with a pipe"),
        pytest.param(f"{GUARD}tm parse-prd a.md", ["OP602"], id="parse-prd asks"),
        pytest.param(f"{GUARD}tm parse-prd a.md --force", [], id="parse-prd does not ask"),
        pytest.param(f"{GUARD}yes | tm parse-prd a.md", [], id="parse-prd is answered"),
        pytest.param(f"{GUARD}tm init", ["OP602"], id="init asks"),
        pytest.param(f"{GUARD}tm init --yes", [], id="init does not ask"),
        pytest.param(f"{GUARD}tm models --setup", ["OP602"], id="setup asks"),
        pytest.param(f"{GUARD}tm next", [], id="next does not ask"),
        pytest.param("oracle --write-output a.md", ["OP602"], id="oracle without a question"),
        pytest.param("oracle tui", ["OP602"], id="oracle's own screen"),
        pytest.param("oracle -p -", ["OP602"], id="a question from empty stdin"),
        pytest.param('oracle -p - <<< "Why?"', [], id="a question from a here-string"),
        pytest.param('oracle -p \\\n  - <<<"$why"', [], id="a here-string on another line"),
        pytest.param(f"{GUARD}codex exec <<< 'Why?'", [], id="codex with a here-string"),
        pytest.param("oracle -p - <<X\nWhy?\nX", [], id="a question from a here-document"),
        pytest.param("oracle status", [], id="a sub-command"),
        pytest.param('oracle -f a.py "Why?"', [], id="a swallowed question is reported elsewhere"),
        pytest.param("read -r name", ["OP602"], id="read"),
        pytest.param("read -r name <<< x", [], id="read from a here-string"),
        pytest.param("read -r name < file", [], id="read from a file"),
        pytest.param("while read -r x; do :; done < file", [], id="read in a loop"),
        pytest.param("{ read -r a; read -r b; } < file", [], id="read in a group"),
        pytest.param("echo x | read -r y", [], id="read from a pipe"),
        pytest.param("vim a.md", ["OP602"], id="an editor"),
        pytest.param("vim -es -c wq a.md", [], id="an editor without a screen"),
        pytest.param("echo 'vim a.md'", [], id="only spoken of"),
        pytest.param(f"/opt/{ORACLE}", ["OP603"], id="by its path"),
        pytest.param(f"env -i {ORACLE}", ["OP603"], id="with an empty environment"),
        pytest.param(f"timeout 5 {ORACLE}", [], id="through timeout"),
        pytest.param(f"{ORACLE} --nosuch", ["OP604"], id="an unknown flag"),
        pytest.param(f"{ORACLE} --engine", ["OP604"], id="a flag without value"),
        pytest.param(f"{ORACLE} --engine foo", ["OP604"], id="a value that is none"),
        pytest.param("oracle one two --write-output a.md", ["OP604"], id="two questions"),
        pytest.param("oracle –p 'Why?' --write-output a.md", ["OP604"], id="a dash for a hyphen"),
        pytest.param(f"{ORACLE} —file a.py", ["OP604"], id="a dash after the question"),
        pytest.param("oracle -p '“Why”?' --write-output a.md", [], id="curly quotes in the text"),
        pytest.param(f"{ORACLE} &", ["OP606"], id="in the background"),
        pytest.param(f"{ORACLE} &\nwait", [], id="waited for"),
        pytest.param(f"{ORACLE} --no-wait", ["OP607"], id="detached"),
        pytest.param(f"{ORACLE} --no-wait --wait", [], id="the last word counts"),
        pytest.param(f"{ORACLE} | head -3", ["OP608"], id="cut off by head"),
        pytest.param(f"{ORACLE} 2>&1 | head -3", ["OP608"], id="with its errors"),
        pytest.param(f"{ORACLE} | grep -q x", ["OP608"], id="cut off by grep"),
        pytest.param(f"{ORACLE} | grep x", [], id="read to the end by grep"),
        pytest.param(f"{ORACLE} | tee log", [], id="read to the end by tee"),
        pytest.param("oracle status | head -3", [], id="a list has no answer to lose"),
        pytest.param(f"{ORACLE} | cat\nhead -3 a.md", [], id="a later head"),
        pytest.param("{{tool}} -p q", ["OP609"], id="a placeholder for a tool"),
        pytest.param("oracle -p q --write-output '{{dir}}/a.md'", ["OP609"], id="for a directory"),
        pytest.param("oracle -p q -f '{{ file }}'", ["OP609"], id="for a file"),
        pytest.param("docker ps --format '{{.Names}}'", [], id="a template that is meant"),
        pytest.param("{ echo x; }", [], id="a group"),
    ],
)
def test_tools(body: str, expected: list[str]) -> None:
    assert [each.rule for each in findings(body, only("OP6"))] == expected


def test_an_unknown_flag_comes_with_the_nearest() -> None:
    (found,) = findings("oracle -p q --write-ouput a.md", only("OP604"))

    assert found.message.startswith("oracle has no flag --write-ouput (as of oracle ")
    assert found.hint == "did you mean --write-output?"


def test_a_choice_comes_with_what_is_allowed() -> None:
    (found,) = findings(f"{ORACLE} --engine foo", only("OP604"))

    assert found.hint == "one of: api, browser"


def test_a_placeholder_is_named_at_its_first_brace() -> None:
    (found,) = findings("  {{oracle_cmd}} \\\n  -p q", only("OP609"))

    assert (found.span.line, found.span.column) == (5, 3)
