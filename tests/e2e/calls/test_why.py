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
        assert "asked; the cache has its answer" in said
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

    assert "answered from the cache; the cache has its answer" in output_of(
        project, "why", "pack.md", "01"
    )


def test_what_was_only_rehearsed_can_be_compared_too(project: Project) -> None:
    project.run()
    (project.root / "a.py").write_text("two\n")
    project.run("--engine", "rehearsal")

    said = output_of(project, "why", "pack.md", "01", "--engine", "rehearsal")

    assert "rehearsed; the cache has no answer" in said
    assert "  file:a.py changed from " in said


def test_the_hashes_of_its_commands_are_shown(project: Project) -> None:
    project.run()
    ran = project.start("why", "pack.md", "1", "--json").wait()

    assert ran.data["recorded_hash"] == ran.data["command_hash"]
    assert [call["how"] for call in ran.data["calls"]] == ["asked"]


def test_a_question_that_was_rewritten_is_compared_with_the_last_run(project: Project) -> None:
    project.run()
    before = project.pack.read_text()
    project.pack.write_text(before.replace("Why?", "Why not?").replace("gpt-5.2", "gpt-5.1"))
    (project.root / "a.py").write_text("two\n")

    said = output_of(project, "why", "pack.md", "01")

    assert f"from run {project.run_dir.name} of this pack it differs in:" in said
    assert "  call 1: prompt changed from " in said
    assert "  call 1: model changed from gpt-5.2 to gpt-5.1" in said
    assert "  call 1: file:a.py changed from " in said


def test_a_question_that_is_the_same_in_a_changed_pack_says_so(project: Project) -> None:
    project.run()
    project.pack.write_text(project.pack.read_text() + "\nMore words.\n")

    assert "asks the same" in output_of(project, "why", "pack.md", "01")
