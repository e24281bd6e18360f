"""People who come from the Go tool: its state is taken over, and ours can be read like it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.run.project import GIT, Project, Zygote, a_project, asking

STEPS = "mkdir -p out\n" + asking(1) + asking(2) + asking(3)
STATE = "pack.state.json"


def go_state(*succeeded: str, pack_hash: str = "") -> dict[str, Any]:
    """What the Go tool writes; its hash is empty in practice."""
    done = {
        "status": "success",
        "exit_code": 0,
        "started_at": "2026-01-02T03:04:05.6Z",
        "ended_at": "2026-01-02T03:05:05.6Z",
    }
    return {
        "schema_version": 1,
        "pack_hash": pack_hash,
        "start_time": "2026-01-02T03:04:05.6Z",
        "step_statuses": dict.fromkeys(succeeded, done),
    }


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    """Three questions, all answered by the Go tool; the answers stand, its state does not yet."""
    made = a_project(tmp_path, zygote, STEPS)
    made.variables["ORACLEPACK_ANSWERS"] = "project"
    assert made.run().code == 0
    subprocess.run(
        ["rm", "-r", ".oraclepack", STATE, "pack.report.json"], cwd=made.root, check=True
    )
    (made.oracle.folder / "oracle.calls.jsonl").unlink()
    return made


def put(project: Project, state: object) -> str:
    text = json.dumps(state, indent=2)
    (project.root / STATE).write_text(text)
    return text


def test_a_state_of_the_go_tool_is_taken_over_by_itself(project: Project) -> None:
    original = put(project, go_state("01", "02", "03"))

    ran = project.run()

    assert (ran.code, len(project.oracle.calls)) == (0, 0)
    assert ran.data["done_steps"] == ["01", "02", "03"]
    assert [step["imported"] for step in project.steps().values()] == [True] * 3
    assert (project.root / f"{STATE}.bak").read_text() == original
    (warning,) = [w for w in project.manifest()["warnings"] if w["code"] == "import"]
    kept = f"the original is kept as {STATE}.bak"
    assert warning["message"] == f"{STATE} of the Go tool was taken over; {kept}"
    assert project.run().data["done_steps"] == ["01", "02", "03"]


def test_it_can_be_named_too(project: Project) -> None:
    (project.root / "elsewhere.json").write_text(json.dumps(go_state("01", "02", "03")))

    assert project.run("--import-state", "elsewhere.json").code == 0
    assert len(project.oracle.calls) == 0


def test_only_what_succeeded_there_and_still_passes_is_taken(project: Project) -> None:
    (project.root / "out/02-topic-2.md").write_text("Direct answer: no.\n")
    put(project, go_state("01", "02"))

    ran = project.run("--existing", "replace")

    assert (ran.code, len(project.oracle.calls)) == (0, 2)
    assert (ran.data["done_steps"], ran.data["completed_steps"]) == (["01"], ["02", "03"])
    said = [w["message"] for w in project.manifest()["warnings"] if w["step_id"] == "02"]
    assert said[0].startswith(
        "it succeeded there and runs again: out/02-topic-2.md: missing sections: "
    )


def test_a_step_without_outputs_that_succeeded_is_not_repeated(project: Project) -> None:
    project.write(f"{STEPS}# 04) counts\necho x >>count\n")
    put(project, go_state("01", "02", "03", "04"))

    assert project.run().data["done_steps"] == ["01", "02", "03", "04"]
    assert not (project.root / "count").exists()


def test_oracle_is_not_needed_for_what_is_done(project: Project) -> None:
    put(project, go_state("01", "02", "03"))

    ran = project.run(PATH="/usr/bin:/bin", TOOLS="/nowhere")

    assert (ran.code, ran.data["done_steps"]) == (0, ["01", "02", "03"])


def test_a_rollback_leaves_what_was_taken_over(project: Project) -> None:
    project.write(f"{STEPS}# 04) fails\nexit 7\n")
    put(project, go_state("01", "02", "03"))

    ran = project.run("--rollback-on-failure")

    assert (ran.code, ran.data["rollback_status"]) == (3, "completed")
    assert project.statuses() == ["ok", "ok", "ok", "pending"]
    assert len([*(project.root / "out").glob("*.md")]) == 3


@pytest.mark.parametrize(
    ("tracked", "pack_hash", "why"),
    [
        pytest.param(True, "", "it came with the repository", id="tracked by git"),
        pytest.param(False, "0" * 64, "it is of other content of the pack", id="another pack"),
    ],
)
def test_what_may_not_be_the_users_own_needs_the_flag(
    project: Project, *, tracked: bool, pack_hash: str, why: str
) -> None:
    original = put(project, go_state("01", "02", "03", pack_hash=pack_hash))
    if tracked:
        add = [*GIT, "add", "-f", STATE]
        subprocess.run(add, cwd=project.root, check=True, env=project.environment)

    refused = project.run()
    ran = project.run("--existing", "replace")

    assert refused.envelope["error"]["code"] == "EXISTING_ANSWERS"
    assert len(project.oracle.calls) == 3
    said = [w["message"] for w in project.manifest()["warnings"] if w["code"] == "import"]
    assert f"is not taken over: {why}; --import-state {STATE}.bak does it" in said[0]
    assert (project.root / f"{STATE}.bak").read_text() == original
    assert ran.code == 0


def test_a_plan_says_what_would_be_taken_over_and_changes_nothing(project: Project) -> None:
    original = put(project, go_state("01"))

    ran = project.run("--dry-run")

    assert f"{STATE} is of the Go tool: " in ran.envelope["warnings"][0]
    assert (project.root / STATE).read_text() == original
    assert not (project.root / ".oraclepack/runs").exists()


def test_a_rehearsal_takes_nothing_over(project: Project) -> None:
    original = put(project, go_state("01"))

    project.run("--engine", "rehearsal")

    assert (project.root / STATE).read_text() == original
    assert not (project.root / f"{STATE}.bak").exists()


def test_killed_while_it_takes_over_nothing_is_asked_again(
    project: Project, tmp_path: Path
) -> None:
    for number in range(1, 30, 4):
        put(project, go_state("01", "02", "03"))
        notes = str(tmp_path / "notes")
        project.run(fault={"notes": notes, "kill": number, "after": "journal"})

        ran = project.run()

        assert (ran.code, len(project.oracle.calls)) == (0, 0), number
        subprocess.run(
            ["bash", "-c", "rm -rf .oraclepack *.json *.bak*"], cwd=project.root, check=True
        )


def test_our_files_carry_the_keys_of_the_go_tool(tmp_path: Path, zygote: Zygote) -> None:
    steps = "# 01) works\ntrue\n# 02) fails\nexit 7\n# 03) never\ntrue\n"
    project = a_project(tmp_path, zygote, steps)

    project.run()

    state = json.loads((project.root / STATE).read_bytes())
    report = json.loads((project.root / "pack.report.json").read_bytes())
    assert {name: one["status"] for name, one in state["step_statuses"].items()} == {
        "01": "success",
        "02": "failed",
        "03": "pending",
    }
    assert state["step_statuses"]["02"]["exit_code"] == 7
    assert state["start_time"] == report["started_at"]
    assert report["pack_info"] == {"name": "pack.md", "hash": state["pack_hash"]}
    figures = report["summary"]
    assert [figures[f"{word}_count"] for word in ("success", "failure", "skipped")] == [1, 1, 0]
    assert (figures["total_steps"], report["generated_at"][:2]) == (3, "20")
    assert [(one["id"], one["status"]) for one in report["steps"]] == [
        ("01", "success"),
        ("02", "failed"),
        ("03", "pending"),
    ]


def test_two_packs_of_one_name_keep_their_states_apart(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) a\ntrue\n")
    for folder in ("a", "b"):
        (project.root / folder).mkdir()
        (project.root / folder / "pack.md").write_text(
            project.pack.read_text().replace("# 01) a", f"# 01) {folder}")
        )

    for folder in ("a", "b", "a"):
        assert project.start("run", f"{folder}/pack.md").wait().code == 0

    states = [json.loads(path.read_bytes()) for path in sorted(project.root.glob("*.state.json"))]
    assert sorted(state["pack_path"] for state in states) == ["a/pack.md", "b/pack.md"]
    assert json.loads((project.root / STATE).read_bytes())["pack_path"] == "a/pack.md"
    assert len([*project.root.glob("*.report.json")]) == 2


def test_pruning_keeps_the_run_that_knows_what_the_go_tool_asked(project: Project) -> None:
    put(project, go_state("01", "02", "03"))
    assert project.run().code == 0

    pruned = project.start("runs", "prune", "--keep", "0", "--json").wait()

    assert pruned.data["removed"] == []
    assert "taken over from a state file" in pruned.data["kept"][0]["reason"]
    assert (project.run().code, len(project.oracle.calls)) == (0, 0)


def test_a_plan_names_the_state_file_that_is_imported(project: Project) -> None:
    (project.root / "elsewhere.json").write_text(json.dumps(go_state("01", "02", "03")))
    args = ("--import-state", "elsewhere.json")

    (warning,) = project.run("--dry-run", *args).envelope["warnings"]
    assert "elsewhere.json is of the Go tool: what succeeded there and still passes" in warning

    assert project.run(*args).code == 0
    assert project.run("--dry-run", *args).envelope["warnings"] == []


def test_a_plan_refuses_what_is_no_state_file(project: Project) -> None:
    (project.root / "elsewhere.json").write_text("{")

    assert project.run("--dry-run", "--import-state", "elsewhere.json").code == 2


def test_a_plan_says_why_a_state_file_is_not_taken_over(project: Project) -> None:
    put(project, {**go_state("01"), "pack_hash": "0" * 64})

    warnings = project.run("--dry-run").envelope["warnings"]
    assert any("not taken over: it is of other content of the pack" in one for one in warnings)
