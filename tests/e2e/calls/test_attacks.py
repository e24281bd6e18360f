"""Ways in which an answer could be paid for twice, mixed up or asked for unseen."""

import shutil
from pathlib import Path

import pytest

from tests.e2e.calls.office import ask, step
from tests.e2e.run.project import Project, Zygote, a_project

SIX = range(1, 7)


def test_an_older_copy_of_our_records_pays_nothing(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "out/1.md")))
    project.run()
    shutil.copytree(project.root / ".oraclepack", tmp_path / "older")
    project.write(step(1, ask("Why?", "out/1.md")) + step(2, ask("How?", "out/2.md")))
    assert project.run().code == 0
    shutil.rmtree(project.root / ".oraclepack")
    shutil.copytree(tmp_path / "older", project.root / ".oraclepack")

    again = project.run("--existing", "replace")

    assert (again.code, len(project.oracle.calls)) == (0, 2)


def question(number: int, output: str) -> str:
    """The answer cites the file."""
    return ask(f"Question {number}?", output, f"-e api -f file{number}.py")


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_six_calls_at_once_for_one_path_are_six_answers(
    tmp_path: Path, zygote: Zygote, rounds: int
) -> None:
    together = "".join(f"{question(number, 'out/same.md')} &\n" for number in SIX)
    alone = "".join(step(number, question(number, f"out/{number}.md")) for number in SIX)
    project = a_project(tmp_path, zygote)
    for turn in range(rounds):
        for number in SIX:
            (project.root / f"file{number}.py").write_text(f"{turn}\n")
        project.write(step(1, f"{together}wait"))
        first = project.run("--no-validate", "--new-run", "--existing", "replace")
        project.write(alone)
        second = project.run("--no-validate", "--new-run", "--existing", "replace")

        assert (first.code, second.code) == (0, 0), turn
        assert len(project.oracle.calls) == 6 * (turn + 1)
        for number in SIX:
            answer = (project.root / f"out/{number}.md").read_text()
            assert f"`file{number}.py:1`" in answer, turn


def quarantined(project: Project) -> str:
    (found,) = project.root.rglob("_failed/**/*.md")
    return str(found.relative_to(project.root))


def test_the_lock_note_of_another_machine_blocks_no_restore(tmp_path: Path, zygote: Zygote) -> None:
    once = "[[ -e once ]] || { touch once; mkdir -p out; echo broken > out/1.md; exit 1; }"
    project = a_project(tmp_path, zygote, step(1, once, ask("Why?", "out/1.md")))
    assert (project.run("--no-validate").code, project.run("--no-validate").code) == (3, 0)
    note = '{"pid":1,"host":"elsewhere","started_at":"2026-01-01T00:00:00Z","command":"run"}'
    for run_dir in project.run_dirs:
        (run_dir / "lock").write_text(f"{note}\n")
    (project.root / "out/1.md").unlink()

    restored = project.start("quarantine", "restore", quarantined(project), "--json").wait()

    assert restored.code == 0, restored
    assert (project.root / "out/1.md").read_text() == "broken\n"
