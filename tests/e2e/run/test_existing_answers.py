"""Answers that are there before a run, and that no record knows: taken or replaced on request."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import Ran
from tests.e2e.run.project import Project, Zygote, a_project, asking
from tests.packs import ANSWER_FORMAT, pack_text

ANSWERS = [f"out/{number:02}-topic-{number}.md" for number in (1, 2, 3)]
BAD = "Direct answer: only this.\n"
SECTIONS = ("direct-answer", "risks-unknowns", "next-experiment", "missing-evidence")


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    """Three questions with answers of an unknown origin; the second misses its contract."""
    made = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1) + asking(2) + asking(3))
    made.variables["ORACLEPACK_ANSWERS"] = "project"
    answered_by_hand(made)
    (made.root / ANSWERS[1]).write_text(BAD)
    return made


def answered_by_hand(project: Project) -> None:
    """All answers are there, and every record of them is gone."""
    assert project.run().code == 0
    forget(project)
    for name in ("pack.state.json", "pack.report.json"):
        (project.root / name).unlink()


def forget(project: Project) -> None:
    shutil.rmtree(project.root / ".oraclepack")
    (project.oracle.folder / "oracle.calls.jsonl").unlink()


def contents(project: Project, paths: list[str]) -> list[bytes]:
    return [(project.root / path).read_bytes() for path in paths]


def warnings(ran: Ran) -> str:
    return "\n".join(map(str, ran.envelope["warnings"]))


def test_nothing_is_asked_or_replaced_before_the_user_has_decided(project: Project) -> None:
    before = contents(project, ANSWERS)

    ran = project.run()

    error = ran.envelope["error"]
    assert (ran.code, error["code"]) == (2, "EXISTING_ANSWERS")
    assert "3 answers that no record knows" in error["message"]
    assert "2 of 3 meet their contract" in error["message"]
    assert "--existing adopt" in error["suggestion"]
    assert "--existing replace" in error["suggestion"]
    assert contents(project, ANSWERS) == before
    assert (project.oracle.calls, project.run_dirs) == ([], [])


@pytest.mark.parametrize("words", [("run", "--dry-run"), ("plan",)])
def test_plan_and_dry_run_say_the_same(project: Project, words: tuple[str, ...]) -> None:
    ran = project.start(words[0], "pack.md", "--json", *words[1:]).wait()

    assert ran.code == 0
    assert "refused: there are 3 answers that no record knows" in warnings(ran)
    adopting = project.start(words[0], "pack.md", "--json", *words[1:], "--existing=adopt").wait()
    assert "refused" not in warnings(adopting)
    decisions = [step["decision"] for step in adopting.data["steps"]]
    assert decisions == ["adopt", "run", "adopt"]
    assert project.oracle.calls == []


def test_adopt_takes_what_meets_its_contract_and_asks_for_the_rest(project: Project) -> None:
    before = contents(project, ANSWERS)

    ran = project.run("--existing", "adopt")

    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    assert f"{ANSWERS[1]} was there before and is asked for" in warnings(ran)
    after = contents(project, ANSWERS)
    assert [now == then for now, then in zip(after, before, strict=True)] == [True, False, True]
    steps = project.steps().values()
    assert [step["adopted"] for step in steps] == [True, False, True]
    assert {step["status"] for step in steps} == {"ok"}
    cached = {path.read_bytes() for path in (project.root / ".oraclepack/cache").glob("*.md")}
    assert cached == {after[1]}
    kept = {path.read_bytes() for path in project.run_dir.rglob("*") if path.is_file()}
    assert BAD.encode() in kept
    again = project.run()
    assert (again.code, again.data["completed_steps"], len(project.oracle.calls)) == (0, [], 1)


@pytest.mark.parametrize("words", [("--existing", "replace"), ("--take-over",)])
def test_replace_asks_for_all_and_keeps_the_old_files(
    project: Project, words: tuple[str, ...]
) -> None:
    (project.root / ANSWERS[0]).write_text(f"{(project.root / ANSWERS[0]).read_text()}mine\n")
    before = contents(project, ANSWERS)

    ran = project.run(*words)

    assert (ran.code, len(project.oracle.calls)) == (0, 3)
    assert f"{ANSWERS[0]} is replaced, as --existing replace says" in warnings(ran)
    assert b"mine" not in (project.root / ANSWERS[0]).read_bytes()
    kept = {path.read_bytes() for path in project.run_dir.rglob("*") if path.is_file()}
    assert set(before) <= kept
    assert not any(step["adopted"] for step in project.steps().values())


def test_a_rollback_leaves_what_was_adopted(project: Project) -> None:
    project.write(
        project.pack.read_text().split("```bash\n")[1].split("```")[0] + "# 04) no\nfalse\n"
    )
    before = contents(project, ANSWERS)

    ran = project.run("--existing", "adopt", "--rollback-on-failure")

    assert ran.code == 3
    assert contents(project, ANSWERS) == before
    assert project.statuses() == ["ok", "pending", "ok", "pending"]


def test_of_a_chunked_answer_only_the_missing_part_is_asked_for(
    tmp_path: Path, zygote: Zygote
) -> None:
    parts = [f"out/01-a-{section}.md" for section in SECTIONS]
    ask = "".join(
        f"oracle --write-output {path} -p 'Why? Return only: {section}.'\n"
        for path, section in zip(parts, SECTIONS, strict=True)
    )
    project = a_project(tmp_path, zygote, f"mkdir -p out\n# 01) ask\n{ask}")
    project.variables["ORACLEPACK_ANSWERS"] = "project"
    answered_by_hand(project)
    (project.root / parts[2]).unlink()
    before = contents(project, [parts[0], parts[1], parts[3]])

    refused = project.run()
    ran = project.run("--existing", "adopt")

    assert "3 answers that no record knows" in refused.envelope["error"]["message"]
    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    assert contents(project, [parts[0], parts[1], parts[3]]) == before
    assert project.steps()["01"]["adopted"] is True


def test_the_answers_of_several_models_are_taken(tmp_path: Path, zygote: Zygote) -> None:
    ask = (
        f"oracle --models gpt-5.2,gpt-5.1 --write-output out/01-a.md -p 'Why?\n\n{ANSWER_FORMAT}'\n"
    )
    project = a_project(tmp_path, zygote, f"mkdir -p out\n# 01) ask\n{ask}")
    project.variables["ORACLEPACK_ANSWERS"] = "project"
    one = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1), name="one")
    one.variables["ORACLEPACK_ANSWERS"] = "project"
    assert one.run().code == 0
    for model in ("gpt-5.2", "gpt-5.1"):
        place = project.root / f"out/01-a.{model}.md"
        place.parent.mkdir(exist_ok=True)
        shutil.copy(one.root / ANSWERS[0], place)

    refused = project.run()
    ran = project.run("--existing", "adopt")

    assert "2 answers that no record knows" in refused.envelope["error"]["message"]
    assert (ran.code, project.oracle.calls) == (0, [])
    assert project.steps()["01"]["adopted"] is True


def test_what_another_pack_recorded_is_taken_or_replaced_alike(project: Project) -> None:
    assert project.run("--existing", "replace").code == 0
    text = asking(1).replace("Question 1?", "Another question?")
    (project.root / "other.md").write_text(pack_text(f"mkdir -p out\n{text}"))
    calls = len(project.oracle.calls)

    refused = project.start("run", "other.md", "--json").wait()
    ran = project.start("run", "other.md", "--json", "--existing", "adopt").wait()

    error = refused.envelope["error"]
    assert (refused.code, error["code"]) == (2, "OUTPUT_TAKEN")
    assert "--existing adopt" in error["suggestion"]
    assert (ran.code, len(project.oracle.calls)) == (0, calls)


def test_what_a_tool_other_than_oracle_writes_needs_no_decision(
    tmp_path: Path, zygote: Zygote
) -> None:
    writes = "# 01) write\n# oraclepack: outputs=PR.md\necho draft > PR.md\n"
    project = a_project(tmp_path, zygote, writes)
    project.variables["ORACLEPACK_ANSWERS"] = "project"
    (project.root / "PR.md").write_text("mine\n")

    assert project.run().code == 0


def test_our_own_state_file_is_taken_over_where_its_run_is_gone(project: Project) -> None:
    assert project.run("--existing", "replace").code == 0
    forget(project)
    (project.root / ANSWERS[2]).write_text(BAD)

    first = project.run()
    assert project.run_dirs == []
    second = project.run("--existing", "replace")

    assert (first.code, first.envelope["error"]["code"]) == (2, "EXISTING_ANSWERS")
    assert "1 answer that no record knows" in first.envelope["error"]["message"]
    assert (second.code, len(project.oracle.calls)) == (0, 1)
    assert [step["imported"] for step in project.steps().values()] == [True, True, False]


def test_a_state_file_that_came_with_the_repository_decides_nothing(project: Project) -> None:
    assert project.run("--existing", "replace").code == 0
    forget(project)
    subprocess.run(["git", "add", "-f", "pack.state.json"], cwd=project.root, check=True)

    ran = project.run()

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "EXISTING_ANSWERS")
