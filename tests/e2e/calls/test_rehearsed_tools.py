"""In a rehearsal no tool that oraclepack knows ever starts; all of them are answered for."""

import json
from pathlib import Path

import pytest

from oraclepack.pack.answer_sections import NOTICE, is_rehearsed
from tests.e2e.calls.office import ask, step
from tests.e2e.program import Ran
from tests.e2e.run.project import Project, Zygote, a_project
from tests.trap_tools import trap_tools

REHEARSAL = ("--engine", "rehearsal")


def rehearsed(project: Project, *words: str) -> tuple[Ran, str]:
    """A rehearsal with trapped tools on the PATH, and which of them started."""
    traps = project.root.parent / "traps"
    marks = trap_tools(traps)
    path = f"{traps}:{project.environment['PATH']}"
    ran = project.run(*REHEARSAL, "--no-validate", *words, PATH=path, TOOLS=str(traps))
    return ran, marks.read_text() if marks.exists() else ""


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('codex exec -o out/1.md "Change a.py"', id="codex with a file"),
        pytest.param('codex exec --output-last-message=out/1.md "x"', id="the long flag"),
        pytest.param('npx -y @openai/codex exec -o out/1.md "x"', id="codex through npx"),
        pytest.param("echo x | codex exec -o out/1.md -", id="codex that reads a pipe"),
        pytest.param("head -c 3000000 /dev/zero | codex exec -o out/1.md -", id="a long pipe"),
        pytest.param('gemini -p "x" > out/1.md', id="gemini, redirected"),
        pytest.param('npx @google/gemini-cli -p "x" > out/1.md', id="gemini through npx"),
        pytest.param("tm parse-prd prd.md --output out/1.md", id="tm"),
        pytest.param("npx task-master-ai parse-prd x --output out/1.md", id="task-master by npx"),
        pytest.param('oracle -p "x" > out/1.md', id="oracle, redirected"),
        pytest.param("npx -y @steipete/oracle -p x --write-output out/1.md", id="oracle by npx"),
        pytest.param('PATH="$TOOLS:$PATH"; codex exec -o out/1.md x', id="after a change of PATH"),
        pytest.param("timeout 9 env codex exec -o out/1.md x", id="through wrappers"),
        pytest.param("bash -lc 'codex exec -o out/1.md x'", id="in a login shell of its own"),
        pytest.param("r=$(echo bunx); $r @openai/codex exec -o out/1.md x", id="by another runner"),
    ],
)
def test_every_tool_is_answered_and_none_starts(tmp_path: Path, zygote: Zygote, line: str) -> None:
    project = a_project(tmp_path, zygote, step(1, "set -o pipefail; mkdir -p out", line))

    ran, started = rehearsed(project)

    assert (ran.code, ran.data["steps"][0]["status"], started) == (0, "ok", ""), ran
    (kept,) = (project.root / ran.data["run_dir"] / "outputs").iterdir()
    assert is_rehearsed(kept.read_text())


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("npx cowsay moo", id="a package that is no tool of ours"),
        pytest.param("npx -c 'codex exec x'", id="a script for npx"),
        pytest.param("r=$(echo npm); $r exec cowsay", id="npm exec"),
        pytest.param("r=$(echo pnpm); $r --silent dlx cowsay", id="pnpm dlx with a flag"),
    ],
)
def test_an_unknown_package_is_not_started_and_not_answered(
    tmp_path: Path, zygote: Zygote, line: str
) -> None:
    project = a_project(tmp_path, zygote, step(1, f"{line} || echo refused $?"))

    ran, started = rehearsed(project)

    (report,) = ran.data["steps"]
    log = project.root / ran.data["run_dir"] / (report["stdout_log"] or "none")
    skipped = report["status"] == "skipped"
    assert (ran.code, started) == (0, "")
    assert skipped or log.read_text() == "refused 126\n"


def test_other_words_of_a_package_runner_do_their_work(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, "npm test"))

    _, started = rehearsed(project)

    assert started == "npm test\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        pytest.param("/usr/bin/codex exec x", "is a path", id="a path"),
        pytest.param("env -i codex exec x", "empties the environment", id="no environment"),
        pytest.param("sudo codex exec x", "sudo starts", id="sudo"),
    ],
)
def test_a_step_whose_tool_would_escape_is_skipped(
    tmp_path: Path, zygote: Zygote, line: str, why: str
) -> None:
    project = a_project(tmp_path, zygote, step(1, line) + step(2, ask("Why?", "out/2.md")))

    ran, started = rehearsed(project)

    first, second = ran.data["steps"]
    assert (ran.code, started, second["status"]) == (0, "", "ok")
    assert (first["status"], first["decision"]) == ("skipped", "skipped")
    assert "codex would really start" in first["reason"]
    assert why in first["reason"]


def test_a_prelude_whose_tool_would_escape_stops_everything(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "/usr/bin/codex login\n" + step(1, "true"))

    ran, started = rehearsed(project)

    assert (ran.code, started) == (2, "")
    assert "the prelude would really start codex" in ran.envelope["error"]["message"]


def test_a_tool_that_is_not_installed_is_rehearsed_too(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, "codex exec -o out/1.md x"))

    ran = project.run(*REHEARSAL)

    assert (ran.code, ran.data["steps"][0]["status"]) == (0, "ok")


def test_json_is_answered_as_json_that_says_so(tmp_path: Path, zygote: Zygote) -> None:
    lines = (
        "mkdir -p out",
        "tm parse-prd x --output out/tasks.json",
        "gemini -p x --output-format json > out/said.json",
        'gemini -p x --output-format json | python3 -c "import json, sys; json.load(sys.stdin)"',
    )
    project = a_project(tmp_path, zygote, step(1, *lines))

    ran, started = rehearsed(project)

    assert (ran.code, started) == (0, ""), ran
    kept = sorted((project.root / ran.data["run_dir"] / "outputs").iterdir())
    assert [json.loads(one.read_bytes())["rehearsal"] for one in kept] == [NOTICE] * 2
