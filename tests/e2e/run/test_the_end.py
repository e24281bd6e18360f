"""What the end of a run says, and where it leaves its state."""

from pathlib import Path

import pytest

from tests.e2e.calls.office import ask, step
from tests.e2e.run.project import Project, Zygote, a_project

API = ("-e", "api", "-m", "gpt-5.2")


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    asked = (step(n, ask(f"Question {n}?", f"out/{n}.md", *API)) for n in (1, 2))
    made = a_project(tmp_path, zygote, "".join(asked))
    (made.root / ".gitignore").write_text("out/\n")
    made.variables["OPENAI_API_KEY"] = "k"
    return made


def said(project: Project, *words: str) -> str:
    ran = project.start("run", "pack.md", *words).wait()
    assert ran.code == 0, ran
    return ran.out


def test_the_answers_the_next_command_and_what_git_should_ignore_are_named(
    project: Project,
) -> None:
    first, again = said(project), said(project)

    assert "answers: 2 files in out\n" in first
    assert "next: oraclepack actionize\n" in first
    assert "add to .gitignore: *.state.json and *.report.json" in first
    assert "answers: 2 files in out\n" in again
    assert ".gitignore" not in again


def test_nothing_is_said_of_files_that_git_ignores(project: Project) -> None:
    (project.root / ".gitignore").write_text("out/\n*.state.json\n*.report.json\n")

    assert ".gitignore" not in said(project)


def test_after_a_rehearsal_the_real_run_is_next(project: Project) -> None:
    rehearsed = said(project, "--engine", "rehearsal")

    assert "next: oraclepack run pack.md\n" in rehearsed
    assert "answers:" not in rehearsed


def test_the_state_may_be_kept_among_our_own_files_and_is_read_there(project: Project) -> None:
    said(project, "--no-legacy-files")

    assert not (project.root / "pack.state.json").exists()
    assert (project.root / ".oraclepack/pack.state.json").is_file()
    assert (project.root / ".oraclepack/pack.report.json").is_file()

    project.run_dir.rename(project.root.parent / "gone")
    again = project.run("--no-legacy-files", "--no-cache")

    assert again.code == 0, again.err
    assert again.data["done_steps"] == ["01", "02"]
    assert len(project.oracle.calls) == 2
