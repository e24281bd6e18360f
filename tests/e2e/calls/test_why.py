"""`why` and `cache explain` tell which part of a question is another one."""

from pathlib import Path

import pytest

from tests.e2e.calls.office import ask, step
from tests.e2e.run.project import Project, Zygote, a_project


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    bash = step(1, ask("Why?", "out/1.md", "-e api -m gpt-5.2", "-f", "a.py"))
    made = a_project(tmp_path, zygote, bash)
    (made.root / "a.py").write_text("one\n")
    return made


def output_of(project: Project, *words: str) -> str:
    ran = project.start(*words).wait()
    assert ran.code == 0, ran
    return ran.out


def test_an_attached_file_that_changed_is_named(project: Project) -> None:
    project.run()
    (project.root / "a.py").write_text("two\n")
    project.run("--rerun", "changed")

    for words in (("why", "pack.md", "1"), ("cache", "explain", "01")):
        said = output_of(project, *words)
        assert "asked; cached" in said
        assert "from the question asked before it" in said
        assert "  file:a.py changed from " in said
        assert "prompt changed" not in said


def test_a_flag_that_differs_is_named(project: Project) -> None:
    project.run()
    project.run("--new-run", "--oracle-flag=--model=gpt-5.1")

    assert "  model changed from gpt-5.2 to gpt-5.1" in output_of(project, "why", "pack.md", "01")


def test_an_answer_from_the_cache_says_so(project: Project) -> None:
    project.run()
    project.run("--new-run")

    assert "answered from the cache; cached" in output_of(project, "why", "pack.md", "01")


def test_what_was_only_rehearsed_can_be_compared_too(project: Project) -> None:
    project.run()
    (project.root / "a.py").write_text("two\n")
    project.run("--engine", "rehearsal")

    said = output_of(project, "why", "pack.md", "01", "--engine", "rehearsal")

    assert "rehearsed; not cached" in said
    assert "  file:a.py changed from " in said


def test_the_hashes_of_its_commands_are_shown(project: Project) -> None:
    project.run()
    ran = project.start("why", "pack.md", "1", "--json").wait()

    assert ran.data["recorded_hash"] == ran.data["command_hash"]
    assert [call["how"] for call in ran.data["calls"]] == ["asked"]
