"""`--out-dir` wins over the pack, stays in the project, and says where it has no effect."""

from pathlib import Path

import pytest

from tests.e2e.run.project import Project, Zygote, a_project
from tests.packs import ANSWER_FORMAT

PRELUDE = 'set -euo pipefail\nout_dir="docs/answers"\nmkdir -p "$out_dir/logs"\n'


def asks(number: int, folder: str = "$out_dir") -> str:
    words = f'-p "Question {number}?\n\n{ANSWER_FORMAT}"'
    return f'# {number:02}) q\noracle --write-output "{folder}/{number:02}.md" {words}\n'


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    return a_project(tmp_path, zygote, PRELUDE + asks(1) + asks(2))


def answers(project: Project) -> list[str]:
    found = project.root.rglob("0*.md")
    names = (path.relative_to(project.root).as_posix() for path in found)
    return sorted(name for name in names if not name.startswith(".oraclepack"))


def test_the_flag_wins_over_the_prelude(project: Project) -> None:
    ran = project.run("--out-dir", "build/x y")

    assert ran.code == 0, ran
    assert answers(project) == ["build/x y/01.md", "build/x y/02.md"]
    assert (project.root / "build/x y/logs").is_dir()
    assert not (project.root / "docs").exists()
    declared = [step["outputs"][0]["declared_path"] for step in project.steps().values()]
    assert declared == ["build/x y/01.md", "build/x y/02.md"]


def test_it_is_made_before_anything_runs(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, 'out_dir=docs\n# 01) look\nls -d "$out_dir"\n')

    assert project.run("--out-dir", "not/there/yet").code == 0
    assert (project.root / "not/there/yet").is_dir()


def test_another_directory_costs_nothing_again(project: Project) -> None:
    assert project.run().code == 0

    ran = project.run("--out-dir", "other")

    assert (ran.code, ran.data["completed_steps"]) == (0, ["01", "02"])
    assert len(project.oracle.calls) == 2
    assert "other/01.md" in answers(project)
    assert project.run("--out-dir", "other").data["done_steps"] == ["01", "02"]


def test_a_failed_output_goes_to_the_quarantine_there(tmp_path: Path, zygote: Zygote) -> None:
    step = asks(1).replace("Question 1?", "[[fault=cut]]")
    project = a_project(tmp_path, zygote, PRELUDE + step)
    project.run("--out-dir", "other")

    project.run("--out-dir", "other", "--rerun", "01", "--refresh")

    assert [*(project.root / "other/_failed").glob("*/step-01/1/01.md")]


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        pytest.param("../elsewhere", "it leads out of the project", id="upwards"),
        pytest.param("/tmp", "it leads out of the project", id="elsewhere"),
        pytest.param("link", "it leads out of the project", id="through a link"),
        pytest.param(".git/x", "it lies in .git", id="git's own"),
        pytest.param(".oraclepack/runs/x", "it lies in .oraclepack/runs", id="among our runs"),
        pytest.param(".oraclepack", "it lies in .oraclepack,", id="our folder"),
        pytest.param("./.OraclePack/answers/", "it lies in .oraclepack,", id="in our folder"),
        pytest.param("ours", "it lies in .oraclepack,", id="in our folder through a link"),
    ],
)
def test_it_may_not_leave_the_project(project: Project, place: str, fault: str) -> None:
    (project.root / "link").symlink_to(project.root.parent)
    (project.root / "ours").symlink_to(".oraclepack/answers")

    ran = project.run("--out-dir", place)

    assert ran.code == 2
    assert f"--out-dir {place}: {fault}" in ran.envelope["error"]["message"]
    assert not (project.root / ".oraclepack/runs").exists()
    assert len(project.oracle.calls) == 0


@pytest.mark.parametrize("dry", [False, True], ids=["run", "dry run"])
def test_literal_paths_are_reported(tmp_path: Path, zygote: Zygote, *, dry: bool) -> None:
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + asks(1, "out"))

    ran = project.start("run", "pack.md", "--out-dir", "x", *(["--dry-run"] if dry else [])).wait()

    said = "--out-dir x has no effect: the pack never says $out_dir, its paths are literal"
    assert ran.code == 0
    assert said in ran.err
    assert not (project.root / "x").exists()
    assert dry or answers(project) == ["out/01.md"]


def test_outputs_are_verified_where_they_are(project: Project) -> None:
    project.run("--out-dir", "other")

    assert project.start("verify-outputs", "pack.md").wait().code == 0
    assert project.start("verify-outputs", "--run-dir", str(project.run_dir)).wait().code == 0
    elsewhere = project.start("verify-outputs", "pack.md", "--out-dir", "nowhere").wait()
    assert elsewhere.code == 4
    assert "nowhere/01.md: file missing" in elsewhere.out


def test_a_pipeline_verifies_there_too(project: Project) -> None:
    ran = project.start("pipeline", "pack.md", "--json", "--out-dir", "other").wait()

    assert (ran.code, ran.data["verify"]["totals"]["ok"]) == (0, 2)
    assert answers(project) == ["other/01.md", "other/02.md"]
