"""Calls that do not come by PATH: seen all the same, or their step fails."""

from pathlib import Path

import pytest

from tests.e2e.calls.office import ask, outcomes, step, warnings
from tests.e2e.run.project import Zygote, a_project

ASK = ask("Why?", "out/1.md")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(('export PATH="$TOOLS:$PATH"', ASK), id="a PATH of the step"),
        pytest.param((f'PATH="$TOOLS:$PATH" {ASK}',), id="a PATH of the command"),
        pytest.param(("source ./env.sh", ASK), id="a file that is read"),
        pytest.param(('hash -p "$TOOLS/oracle" oracle', ASK), id="a place that bash remembers"),
        pytest.param((f"bash -c 'PATH=$TOOLS:$PATH; {ASK}'",), id="a shell of its own"),
    ],
)
def test_bash_finds_the_shim_whatever_path_says(
    tmp_path: Path, zygote: Zygote, lines: tuple[str, ...]
) -> None:
    project = a_project(tmp_path, zygote, step(1, *lines))
    (project.root / "env.sh").write_text('export PATH="$TOOLS:$PATH"\n')

    ran = project.run("--no-validate", "--max-calls", "0")
    again = project.run("--no-validate")

    assert (ran.code, ran.envelope["error"]["code"]) == (7, "BUDGET")
    assert (again.code, len(project.oracle.calls)) == (0, 1)


ESCAPING = [
    pytest.param((f"TOOLS_PATH/{ASK}",), id="a path"),
    pytest.param((f'env PATH="$TOOLS:$PATH" {ASK}',), id="env"),
    pytest.param((f"sh -c 'PATH=\"$TOOLS:$PATH\"; {ASK}'",), id="another shell"),
    pytest.param(('export PATH="$TOOLS:$PATH"', f"command {ASK}"), id="without the function"),
    pytest.param(('oracle() { "$TOOLS/oracle" "$@"; }', ASK), id="another function"),
    pytest.param(("shopt -s expand_aliases", 'alias oracle="$TOOLS/oracle"', ASK), id="an alias"),
    pytest.param(('PATH="$TOOLS:$PATH"', f"if true; then command {ASK}; fi"), id="in a condition"),
    pytest.param((f'env -i HOME="$HOME" PATH="$TOOLS:$PATH" {ASK}',), id="no environment"),
]


@pytest.mark.parametrize("lines", ESCAPING)
def test_a_step_whose_call_was_not_seen_fails(
    tmp_path: Path, zygote: Zygote, lines: tuple[str, ...]
) -> None:
    project = a_project(tmp_path, zygote)
    first = step(1, *lines).replace("TOOLS_PATH", str(project.oracle.folder))
    project.write(first + step(2, ask("Which?", "out/2.md")))

    ran = project.run("--no-validate", "--max-cost", "0.01", "--max-parallel", "1")

    error = project.steps()["01"]["last_error"]
    assert (ran.code, project.statuses(), error["code"]) == (3, ["failed", "pending"], "ESCAPED")
    assert "no budget holds" in error["message"]
    assert "out/1.md appeared" in error["message"]


def test_a_step_may_make_unseen_calls_where_the_user_allows_it(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, step(1, f'env PATH="$TOOLS:$PATH" {ASK}'))

    ran = project.run("--no-validate", "--allow-unseen-calls")

    assert (ran.code, project.statuses()) == (0, ["ok"])
    assert "did not reach oraclepack" in dict(warnings(project))["escaped"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((f"if false; then {ASK}; fi",), id="a condition that does not hold"),
        pytest.param((f"true || {ASK}",), id="an alternative"),
        pytest.param((f"for name in; do {ASK}; done",), id="a loop without a turn"),
        pytest.param(("mkdir -p out; echo x > out/1.md; exit 0", ASK), id="after its end"),
    ],
)
def test_a_call_that_was_not_made_is_not_missed(
    tmp_path: Path, zygote: Zygote, lines: tuple[str, ...]
) -> None:
    project = a_project(tmp_path, zygote, step(1, *lines))

    project.run("--no-validate", "--no-output-verify")

    assert project.statuses() == ["ok"]
    assert "escaped" not in dict(warnings(project))


@pytest.mark.parametrize(
    "command", ["run nested.md", "pipeline nested.md", 'call -p "Why?" --write-output out/2.md']
)
def test_a_run_in_a_step_is_refused_at_once(tmp_path: Path, zygote: Zygote, command: str) -> None:
    project = a_project(tmp_path, zygote, step(1, f"oraclepack {command}"))
    (project.root / "nested.md").write_text(f"# N\n\n```bash\n{step(1, ASK)}```\n")

    ran = project.run("--no-validate", "--call-timeout", "60s")

    error = project.steps()["01"]["last_error"]
    assert (ran.code, project.oracle.calls) == (3, [])
    assert "a step of another run started this command" in error["message"]


def test_looking_and_rehearsing_work_in_a_step(tmp_path: Path, zygote: Zygote) -> None:
    nested = "oraclepack run nested.md --engine rehearsal --no-validate"
    project = a_project(tmp_path, zygote, step(1, "oraclepack list nested.md", nested))
    (project.root / "nested.md").write_text(f"# N\n\n```bash\n{step(1, ASK)}```\n")

    assert (project.run("--no-validate").code, project.oracle.calls) == (0, [])


def test_the_calls_of_an_exit_trap_are_seen(tmp_path: Path, zygote: Zygote) -> None:
    trap = "trap 'oracle -p bye --write-output out/bye.md' EXIT"
    project = a_project(tmp_path, zygote, f"{trap}\n{step(1, 'true')}")

    assert project.run("--no-validate").code == 0
    assert [one.step for one in outcomes(project)] == ["prelude-exit"]
