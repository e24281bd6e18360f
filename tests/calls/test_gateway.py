"""Calls in a step reach the gateway, whatever way the shell takes to them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.calls.live_call import LiveCall, Shim
from tests.callers import Stage, call_through, stage
from tests.scripted import scripted_tool

NODE_FIRST = 'PATH="/usr/local/bin:/usr/bin:/bin"\n'
"""A login profile that undoes every PATH it is given."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("oracle -p q", id="plainly"),
        pytest.param("(oracle -p q)", id="in a subshell"),
        pytest.param("true | oracle -p q | cat", id="in a pipeline"),
        pytest.param("ask() { oracle -p q; }; ask", id="in a function"),
        pytest.param("env A=1 oracle -p q", id="through env"),
        pytest.param("command oracle -p q", id="through command"),
        pytest.param("echo q | xargs oracle -p", id="through xargs"),
        pytest.param("timeout 20 oracle -p q", id="through timeout"),
        pytest.param("sh -c 'oracle -p q'", id="through sh -c"),
        pytest.param("bash -lc 'oracle -p q'", id="in a nested login shell"),
        pytest.param("bash -lc 'bash -lc \"oracle -p q\"'", id="in a login shell in a login shell"),
        pytest.param("nohup oracle -p q", id="through nohup"),
        pytest.param("exec oracle -p q", id="in place of the shell"),
        pytest.param("oracle -p q & wait", id="in the background"),
        pytest.param("x=$(oracle -p q)", id="in a command substitution"),
        pytest.param("cat < <(oracle -p q)", id="in a process substitution"),
        pytest.param('env -i PATH="$PATH" oracle -p q', id="with an emptied environment"),
    ],
)
def test_a_call_is_intercepted(body: str, here: Stage) -> None:
    (here.bench.home).mkdir()
    (here.bench.home / ".bash_profile").write_text(NODE_FIRST)

    outcome, said = here.run(body)

    assert outcome.exit_code == 0, said
    assert [(call.tool, call.argv) for call in here.calls] == [("oracle", ("-p", "q"))]
    assert here.oracle.prompts == ["q"]


def test_the_tool_gets_the_words_the_directory_and_the_streams_of_the_step(here: Stage) -> None:
    _, said = here.run(
        "mkdir -p sub && cd sub && umask 027\n"
        "printf 'a question\\nin two lines' | oracle -p - --write-output 'out dir/x.md' -f $'\\xff'"
    )

    (call,) = here.oracle.calls
    assert call["cwd"] == str(here.bench.root / "sub")
    assert call["prompt"] == "a question\nin two lines"
    assert call["file"] == "\udcff"
    answer = here.bench.root / "sub/out dir/x.md"
    assert answer.stat().st_mode & 0o777 == 0o640
    assert f"Saved assistant output to {answer}" in said


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param("oracle -p '[[fault=quota]]'", 1, id="the tool's own"),
        pytest.param("oracle -p q; exit 7", 7, id="of the step, not the call"),
        pytest.param("set -o pipefail; oracle -p '[[fault=quota]]' | cat", 1, id="in a pipeline"),
    ],
)
def test_exit_codes_pass_through(body: str, code: int, here: Stage) -> None:
    assert here.run(body)[0].exit_code == code


def test_a_reader_that_leaves_early_costs_no_answer(here: Stage) -> None:
    outcome, _ = here.run("oracle -p '[[fault=flood]]' --write-output x.md | head -1")

    assert outcome.exit_code == 0
    assert (here.bench.root / "x.md").exists()
    assert here.ends[0].exit_code == 0


def test_a_flood_reaches_the_step_and_only_its_end_stays_with_us(here: Stage) -> None:
    _, said = here.run("oracle -p '[[fault=flood]]' | tr -cd x | wc -c")

    assert int(said.split()[0]) >= 128 * 65_535
    assert here.ends[0].cut
    assert len(here.ends[0].out) <= 64_000
    assert "Missing evidence" in here.ends[0].out


def test_words_on_one_stream_keep_their_order(tmp_path: Path) -> None:
    tool = scripted_tool(tmp_path / "bin").program
    with stage(tmp_path) as here:
        tool.write_text("#!/bin/sh\nfor n in 1 2 3 4 5; do echo o$n; echo e$n >&2; done\n")
        _, said = here.run("oracle 2>&1 | cat")

    assert said.split() == ["o1", "e1", "o2", "e2", "o3", "e3", "o4", "e4", "o5", "e5"]


def test_hidden_words_are_for_us_alone(here: Stage) -> None:
    def look(call: LiveCall, shim: Shim) -> int:
        end = call_through(call, shim, hidden=True)
        shim.write_stdout(f"{end.out.count('Answer:')} answer\n")
        shim.write_stderr("done\n")
        return 0

    here.act = look

    assert here.run("oracle -p q")[1] == "1 answer\ndone\n"


def test_what_is_read_from_stdin_is_there_for_every_try(here: Stage) -> None:
    def twice(call: LiveCall, shim: Shim) -> int:
        assert shim.read_stdin() == b"the question"
        return call_through(call, shim).exit_code + call_through(call, shim).exit_code

    here.act = twice
    here.run("printf 'the question' | oracle -p -")

    assert here.oracle.prompts == ["the question", "the question"]


def test_calls_of_one_attempt_are_counted(here: Stage) -> None:
    here.run("oracle -p a; oracle -p b", step="07", number=3)

    assert [(call.step, call.attempt, call.number) for call in here.calls] == [
        ("07", 3, 1),
        ("07", 3, 2),
    ]


def test_many_calls_at_once_are_all_answered(here: Stage) -> None:
    outcome, said = here.run("seq 24 | xargs -P 12 -n 1 oracle -p")

    assert outcome.exit_code == 0, said
    assert sorted(map(int, here.oracle.prompts)) == list(range(1, 25))


def test_a_tool_that_is_not_there_is_not_pretended(here: Stage) -> None:
    assert "no codex" in here.run("command -v codex || echo no codex")[1]


def test_a_tool_that_only_the_profile_brings_along_is_intercepted(tmp_path: Path) -> None:
    codex = scripted_tool(tmp_path / "late", "codex")
    with stage(tmp_path) as here:
        here.bench.home.mkdir()
        (here.bench.home / ".profile").write_text(f'PATH="{codex.folder}:$PATH"\n')
        outcome, said = here.run("codex -p q")

    assert outcome.exit_code == 0, said
    assert [call.tool for call in here.calls] == ["codex"]
    assert codex.prompts == ["q"]


def test_both_spellings_of_task_master_reach_their_own_program(tmp_path: Path) -> None:
    tools = [scripted_tool(tmp_path / "bin", name) for name in ("tm", "task-master")]
    with stage(tmp_path) as here:
        here.run("tm -p one; task-master -p two")

    assert [call.tool for call in here.calls] == ["task-master", "task-master"]
    assert [tool.prompts for tool in tools] == [["one"], ["two"]]


def test_npx_comes_to_us_with_known_packages_only(tmp_path: Path) -> None:
    npx = scripted_tool(tmp_path / "bin", "npx").program
    npx.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    with stage(tmp_path) as here:
        _, said = here.run("npx -y @steipete/oracle@0.21 -p q; npx -y cowsay hello; npx --version")

    assert [(call.tool, call.argv) for call in here.calls] == [("oracle", ("-p", "q"))]
    assert said == "[-y][@steipete/oracle@0.21][-p][q][-y][cowsay][hello][--version]"


def test_the_tool_has_our_path_and_none_of_our_marks(tmp_path: Path) -> None:
    with stage(tmp_path, env={"BASH_ENV": "/dev/null", "SECRET": "s"}) as here:
        _, said = here.run("export FROM_STEP=1 PATH=/usr/bin:$PATH; oracle -p '[[fault=env]]'")

    lines = set(said.splitlines())
    assert f"PATH={here.oracle.folder}:{os.environ['PATH']}" in lines
    assert {"FROM_STEP=1", "BASH_ENV=/dev/null"} <= lines
    assert not [line for line in lines if line.startswith("ORACLEPACK_")]


def test_the_users_own_bash_env_is_honoured(tmp_path: Path) -> None:
    mine = tmp_path / "mine.bash"
    mine.write_text("greet() { echo hello; }\nPATH=/usr/bin:/bin\n")
    with stage(tmp_path, env={"BASH_ENV": str(mine)}) as here:
        _, said = here.run("greet; bash -c 'greet; oracle -p q >/dev/null'")

    assert said == "hello\nhello\n"
    assert len(here.calls) == 1


def test_a_named_program_is_taken_before_the_one_on_path(tmp_path: Path) -> None:
    other = scripted_tool(tmp_path / "other")
    with stage(tmp_path, programs={"oracle": str(other.program)}) as here:
        here.run("oracle -p q")

    assert (other.prompts, here.oracle.prompts) == (["q"], [])
