import pytest

from oraclepack.pack.script import Enclosure
from oraclepack.pack.tool_call import ToolCall
from tests.packs import BLOCK_LINE, a_pack


def calls(body: str, prelude: str = "") -> tuple[ToolCall, ...]:
    return a_pack(f"{prelude}# 01) x\n{body}\n").steps[0].calls


@pytest.mark.parametrize(
    ("body", "tools"),
    [
        ("oracle -p x", ["oracle"]),
        ("env A=b oracle -p x", ["oracle"]),
        ("command oracle -p x", ["oracle"]),
        ("timeout 5 oracle -p x", ["oracle"]),
        ("echo a | xargs -I{} oracle -p {}", ["oracle"]),
        ("sh -c 'oracle -p x'", ["oracle"]),
        ("bash -lc 'oracle -p x; codex exec y'", ["oracle", "codex"]),
        ('bash -c "oracle -p $x"', ["oracle"]),
        ('bash -c "$(oracle -p x)"', ["oracle"]),
        ("npx -y @steipete/oracle -p x", ["oracle"]),
        ("tm list; task-master next", ["task-master", "task-master"]),
        ("x=$(oracle -p x)", ["oracle"]),
        ("if true; then oracle -p x; fi", ["oracle"]),
        ("(oracle -p x) & wait", ["oracle"]),
        ('while read -r l; do gemini -p "$l"; done < f', ["gemini"]),
        ("command -v oracle", []),
        ("echo oracle -p x", []),
        ("cat <<'E'\noracle -p x\nE", []),
        ("echo 'oracle -p x'", []),
        ("# oracle -p x", []),
        ("oracle_helper -p x", []),
        ("f() { oracle -p x; }", []),
        ("f() { oracle -p x; }; f; f", ["oracle", "oracle"]),
    ],
)
def test_calls_are_found(body: str, tools: list[str]) -> None:
    assert [call.tool for call in calls(body)] == tools


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo a | xargs -I{} oracle -p {} x", ["-p", None, "x"]),
        ("echo a | xargs -I % oracle -p a%.md", ["-p", None]),
        ("echo a | xargs -I{} sh -c 'oracle -p {} x'", ["-p", None, "x"]),
        ("echo a | xargs oracle -p {}", ["-p", "{}"]),
        ("bash -c \"oracle -p '$unknown' x\"", ["-p", None, "x"]),
        ('x=1; bash -c "oracle -p $x$unknown"', ["-p", None]),
        ('x=1; bash -c "oracle -p $x"', ["-p", "1"]),
    ],
)
def test_what_another_program_puts_into_a_call_is_not_guessed(
    body: str, words: list[str | None]
) -> None:
    (call,) = calls(body)

    assert [word.value for word in call.argv] == words


def test_a_function_that_may_not_run_makes_no_certain_call() -> None:
    certain, perhaps = calls("f() { codex exec x; }\nf\nif true; then f & fi")

    assert certain.places == {Enclosure.FUNCTION}
    assert perhaps.places == {Enclosure.FUNCTION, Enclosure.CONDITION, Enclosure.BACKGROUND}


def test_functions_that_double_each_other_come_to_an_end() -> None:
    functions = "".join(f"f{n + 1}() {{ f{n}; f{n}; }}\n" for n in range(40))

    assert len(calls("f40", f"f0() {{ oracle -p x; }}\n{functions}")) == 500


def test_a_function_of_the_prelude_carries_its_calls_into_the_step() -> None:
    (call,) = calls("ask hello", prelude='ask() { oracle -p "$1" --write-output o.md; }\n')

    assert (call.tool, call.wrappers, call.span.line) == (
        "oracle",
        ("function ask",),
        BLOCK_LINE + 2,
    )


@pytest.mark.parametrize(
    ("body", "text", "line"),
    [
        ("oracle -p 'a question'", "a question", 1),
        ("oracle 'a question'", "a question", 1),
        ("oracle --prompt='a question'", "a question", 1),
        ("oracle -p one -p two", "two", 1),
        ("oracle -p \"$(cat <<'P'\na question\nP\n)\"", "a question", 2),
        ("q=$(cat <<'P'\na question\nP\n)\noracle -p \"$q\"", "a question", 2),
        ("oracle -p - <<'P'\na question\nP", "a question\n", 2),
        ('oracle -p "for $who"', "for $who", 1),
    ],
)
def test_the_prompt_of_a_call(body: str, text: str, line: int) -> None:
    prompt = calls(body)[-1].prompt

    assert prompt is not None
    assert (prompt.text, prompt.span.line) == (text, BLOCK_LINE + line)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("oracle -p x -f a.py -f b.py", ["literal a.py", "literal b.py"]),
        ("oracle -p x -f a.py b.py", ["literal a.py", "literal b.py"]),
        ("oracle -p x -f a.py,b.py", ["literal a.py", "literal b.py"]),
        ("oracle -p x --file='src/**/*.py'", ["glob src/**/*.py"]),
        ("oracle -p x -f '!src/gen'", ["exclusion !src/gen"]),
        ('oracle -p x -f "$f"', ["unknown $f"]),
        ('oracle -p x --file="$d/a.py"', ["unknown $d/a.py"]),
        ('oracle -p x "${args[@]}"', []),
    ],
)
def test_attachments(body: str, expected: list[str]) -> None:
    (call,) = calls(body)

    assert [f"{attached.kind} {attached.value}" for attached in call.attachments] == expected


@pytest.mark.parametrize(
    ("body", "guarded"),
    [
        ("codex exec x", False),
        ("command -v codex || exit 0\ncodex exec x", True),
        ("if command -v codex >/dev/null; then codex exec x; fi", True),
        ("type -P codex && codex exec x", True),
        ("which gemini; codex exec x", False),
        ("codex exec x; command -v codex", False),
    ],
)
def test_a_guard_stands_before_the_call(body: str, guarded: bool) -> None:
    call = next(call for call in calls(body) if call.tool == "codex")

    assert call.guarded is guarded


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("oracle -p x &", Enclosure.BACKGROUND),
        ("if true; then oracle -p x & fi", Enclosure.BACKGROUND),
        ("oracle -p x | head", Enclosure.PIPELINE),
        ("true && oracle -p x", Enclosure.CONDITION),
        ("for i in 1; do oracle -p x; done", Enclosure.LOOP),
        ("(oracle -p x)", Enclosure.SUBSHELL),
        ("y=$(oracle -p x)", Enclosure.SUBSTITUTION),
    ],
)
def test_a_call_knows_what_encloses_it(body: str, place: Enclosure) -> None:
    assert place in calls(body)[0].places
