"""A rehearsal runs the whole pack for nothing, and is never taken for the real thing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.calls.chunked import chunked_bash, tickets
from tests.e2e.calls.office import ask, outcomes, step
from tests.e2e.run.project import Project, Zygote, a_project

REHEARSAL = ("--engine", "rehearsal")


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    return a_project(tmp_path, zygote, step(1, ask("Why?", "out/1.md")))


def manifest(run_dir: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((run_dir / "run.json").read_bytes())
    return loaded


def test_eighty_calls_have_eighty_keys(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, chunked_bash())
    for path, text in tickets().items():
        (project.root / path).parent.mkdir(exist_ok=True)
        (project.root / path).write_text(text)

    ran = project.run(*REHEARSAL, "--max-parallel", "4", PATH=_without_oracle(project))

    assert (ran.code, project.statuses()) == (0, ["ok"] * 20)
    calls = [call for one in project.steps().values() for call in one["invocations"]]
    assert len(calls) == 80
    assert len({call["key"] for call in calls if call["key"]}) == 80
    assert {call["provider"] for call in calls} == {"rehearsal"}
    assert len(list((project.run_dir / "outputs").glob("*.md"))) == 80
    assert not (project.root / "answers").exists()
    assert project.oracle.calls == []


def _without_oracle(project: Project) -> str:
    return project.environment["PATH"].partition(":")[2]


def test_a_rehearsal_settles_nothing_for_a_real_run(project: Project) -> None:
    rehearsed = project.run(*REHEARSAL)
    real = project.run()

    assert (rehearsed.code, real.code) == (0, 0)
    assert real.data["continued"] is False
    assert len(project.oracle.calls) == 1
    assert "rehearsal" not in (project.root / "out/1.md").read_text()
    assert [manifest(path)["engine"] for path in project.run_dirs] == ["pack"]
    assert [manifest(path)["engine"] for path in project.rehearsals] == ["rehearsal"]


def test_a_real_run_continues_and_a_rehearsal_starts_over(project: Project) -> None:
    ran = [project.run(*words) for words in (REHEARSAL, (), REHEARSAL, ())]

    assert [one.code for one in ran] == [0] * 4
    assert [one.data["continued"] for one in ran] == [False, False, False, True]
    assert [one.data["completed_steps"] for one in ran] == [["01"], ["01"], ["01"], []]
    assert (len(project.run_dirs), len(project.rehearsals)) == (1, 1)
    assert len(project.oracle.calls) == 1


def test_a_rehearsal_leaves_nothing_but_its_own_directory(project: Project) -> None:
    before = sorted(path.name for path in project.root.iterdir())

    project.run(*REHEARSAL)

    assert sorted(path.name for path in project.root.iterdir()) == sorted([*before, ".oraclepack"])
    assert [path.name for path in (project.root / ".oraclepack").iterdir() if path.is_dir()] == [
        "rehearsals"
    ]


def test_a_rehearsed_answer_is_not_cached(project: Project) -> None:
    project.run(*REHEARSAL)

    assert list((project.root / ".oraclepack").glob("cache/*")) == []
    assert [one.cache for one in outcomes(project)] == ["off"]
    assert "rehearsal" in (project.run_dir / "outputs/01-1.md").read_text()
    assert not (project.root / "out").exists()


@pytest.mark.parametrize(
    ("words", "prefix", "expected"),
    [
        pytest.param((), "rehearsals/", "is a rehearsal, and this is a real run", id="a real run"),
        pytest.param((), "", "there is no run", id="a real run, by the bare id"),
        pytest.param(REHEARSAL, "rehearsals/", "always starts over", id="a rehearsal"),
    ],
)
def test_no_command_continues_a_rehearsal(
    project: Project, words: tuple[str, ...], prefix: str, expected: str
) -> None:
    project.run(*REHEARSAL)

    ran = project.run("--run-id", f"{prefix}{project.run_dir.name}", *words)

    assert ran.code == 2
    assert expected in ran.envelope["error"]["message"]


def test_argv_is_checked_as_the_real_tool_does(tmp_path: Path, zygote: Zygote) -> None:
    bash = step(1, ask("Why?", "out/1.md", "--no-such-flag"))
    project = a_project(tmp_path, zygote, bash)

    ran = project.run("--no-validate", *REHEARSAL)

    assert ran.code == 3
    assert "unknown option '--no-such-flag'" in ran.data["steps"][0]["message"]
