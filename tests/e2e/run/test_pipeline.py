"""`pipeline` as CI starts it: its stages, its exit codes, what it leaves and takes back."""

import json
import signal
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest

from oraclepack.run.transaction import _Change, _signed, _Unfinished
from oraclepack.system import locks
from oraclepack.system.digests import canonical_file
from oraclepack.view.report.schemas import schema_of
from tests.e2e.program import Ran
from tests.e2e.run.meeting import Meeting
from tests.e2e.run.project import Project, Zygote, a_project, asking

THREE = "mkdir -p out\n" + "\n".join(map(asking, (1, 2, 3)))
FAILING = "mkdir -p out\n" + asking(1) + "# 02) breaks\necho sesame-open >&2; exit 7\n" + asking(3)
HALVED = "mkdir -p out\n" + asking(1) + asking(2).replace("Question 2?", "[[fault=cut]]")
NAMES = ("normalized.jsonl", "backlog.md", "change-plan.md")


def pipeline(project: Project, *args: str, **more: Any) -> Ran:
    return project.start("pipeline", "pack.md", *args, **more).wait()


def stages(ran: Ran) -> list[str]:
    return [stage["status"] for stage in ran.data["stages"]]


def artifacts(project: Project) -> dict[str, bytes]:
    found = sorted((project.run_dir / "actionizer").glob("*"))
    return {path.name: path.read_bytes() for path in found}


def test_from_a_pack_to_a_backlog(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, THREE)
    report = project.root / "reports/junit.xml"

    ran = pipeline(project, "--json", "--junit", str(report), "--export", "github,taskmaster")

    jsonschema.validate(ran.data, schema_of("pipeline-report"))
    assert (ran.code, stages(ran)) == (0, ["ok"] * 4)
    assert ran.data["validate"]["counts"]["oracle_questions"] == 3
    assert ran.data["completed_steps"] == ["01", "02", "03"]
    assert ran.data["verify"]["totals"]["ok"] == 3
    assert ran.data["actionize"]["answered"] == 3
    made = artifacts(project)
    assert set(made) == {*NAMES, "github-issues.json", "taskmaster.json"}
    (suite,) = junitparser.JUnitXml.fromfile(str(report))
    assert [(case.name[:2], case.is_passed) for case in suite] == [
        ("01", True),
        ("02", True),
        ("03", True),
    ]
    entry = project.manifest()["sessions"][0]
    assert (entry["command"], entry["exit_code"]) == ("pipeline", 0)


def test_again_nothing_is_asked_or_written(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, THREE)
    pipeline(project)
    made = artifacts(project)

    again = pipeline(project, "--json")

    assert (again.code, len(project.oracle.calls)) == (0, 3)
    assert not any(one["changed"] for one in again.data["actionize"]["artifacts"])
    assert artifacts(project) == made
    alone = project.start("actionize", "--run-dir", str(project.run_dir), "--json").wait()
    assert not any(one["changed"] for one in alone.data["artifacts"])


def test_an_invalid_pack_runs_nothing(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) broken\n-p x\n")

    ran = pipeline(project, "--json", "--ci", "--junit", "junit.xml")

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "INVALID_PACK")
    assert stages(ran) == ["failed", "skipped", "skipped", "skipped"]
    assert ran.data["stages"][1]["reason"] == "validate failed"
    jsonschema.validate(ran.data, schema_of("pipeline-report"))
    assert not (project.root / ".oraclepack").exists()
    (suite,) = junitparser.JUnitXml.fromfile(str(project.root / "junit.xml"))
    assert [(case.name, case.is_error) for case in suite] == [("validate", True)]


def test_no_validate_is_written_down(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) one\ntrue\n# 03) three\ntrue\n")

    refused = pipeline(project, "--json")
    ran = pipeline(project, "--json", "--no-validate")

    assert (refused.code, ran.code) == (2, 0)
    assert stages(ran) == ["skipped", "ok", "ok", "ok"]
    assert project.manifest()["settings"]["validate"] is False


@pytest.mark.parametrize(
    ("args", "code", "ends"),
    [
        pytest.param([], 3, ["ok", "failed", "skipped", "skipped"], id="it stops"),
        pytest.param(["--keep-going"], 3, ["ok", "failed", "ok", "ok"], id="as far as possible"),
        pytest.param(["--ci"], 5, ["ok", "failed", "ok", "ok"], id="the policy weighs it"),
        pytest.param(
            ["--ci", "--keep-going", "--min-completion", "0.6"],
            0,
            ["ok", "failed", "ok", "ok"],
            id="the policy forgives",
        ),
        pytest.param(
            ["--ci", "--keep-going", "--min-completion", "0.6", "--rollback-on-failure"],
            3,
            ["ok", "failed", "skipped", "skipped"],
            id="a rollback is never a success",
        ),
    ],
)
def test_a_failed_step(
    tmp_path: Path, zygote: Zygote, args: list[str], code: int, ends: list[str]
) -> None:
    project = a_project(tmp_path, zygote, FAILING)

    ran = pipeline(project, "--json", *args)

    assert (ran.code, stages(ran)) == (code, ends)
    assert (ran.data["failed_step"], ran.data["failed_steps"]) == ("02", ["02"])
    assert project.manifest()["sessions"][0]["exit_code"] == code
    if ends[-1] == "ok":
        assert "the step failed" in artifacts(project)["backlog.md"].decode()


def test_the_policy_tells_its_figures(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, FAILING)

    ran = pipeline(project, "--json", "--ci", "--keep-going", "--min-yield", "9")

    assert (ran.code, ran.envelope["error"]["code"]) == (5, "POLICY")
    share, work = ran.data["policy"]["completion"], ran.data["policy"]["action_yield"]
    assert (share["ok"], share["to_run"], share["required"]) == (2, 3, 1.0)
    assert (work["answered"], work["required"]) == (2, 9.0)
    message = ran.envelope["error"]["message"]
    assert "completion 0.67 (2 of 3) is below --min-completion 1" in message
    assert f"({work['actionable']} actionable from 2 answered) is below --min-yield 9" in message
    kinds = [json.loads(line)["kind"] for line in ran.err.splitlines()]
    assert kinds[-1] == "session_finished"


def test_a_threshold_without_ci_is_reported_as_idle(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) one\ntrue\n")

    ran = pipeline(project, "--json", "--min-yield", "1")

    assert ran.code == 0
    assert "--min-yield decides nothing without --ci" in ran.envelope["warnings"]


@pytest.mark.parametrize(
    ("args", "code", "ends"),
    [
        pytest.param([], 4, ["failed", "skipped"], id="exit code 4"),
        pytest.param(["--keep-going"], 4, ["failed", "ok"], id="as far as possible"),
        pytest.param(["--ci"], 5, ["failed", "ok"], id="the step counts as not ok"),
        pytest.param(["--ci", "--min-completion", "0.5"], 0, ["failed", "ok"], id="forgiven"),
        pytest.param(["--rollback-on-failure"], 3, ["failed", "skipped"], id="taken back"),
    ],
)
def test_outputs_that_miss_their_contract(
    tmp_path: Path, zygote: Zygote, args: list[str], code: int, ends: list[str]
) -> None:
    project = a_project(tmp_path, zygote, HALVED)

    ran = pipeline(project, "--json", "--output-verify=false", *args)

    assert (ran.code, stages(ran)[2:]) == (code, ends)
    assert {one["step_id"] for one in ran.data["verify"]["failures"]} == {"02"}
    assert ran.data["policy"]["completion"]["ok"] == 1
    undone = "--rollback-on-failure" in args
    assert ran.data["rollback_status"] == ("completed" if undone else "not_attempted")
    assert (project.root / "out/01-topic-1.md").exists() is not undone


REFUSED: dict[str, object] = {"fail": 1, "only": "rename", "path": "change-plan.md"}


def test_earlier_artifacts_come_back(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, THREE)
    pipeline(project)
    for name in NAMES:
        (project.run_dir / "actionizer" / name).write_bytes(f"older {name}\n".encode())
    before = artifacts(project)
    fault = {**REFUSED, "notes": str(tmp_path / "notes")}

    ran = pipeline(project, "--json", "--rollback-on-failure", fault=fault)

    assert (ran.code, ran.envelope["error"]["code"]) == (3, "PARTIAL_FAILURE")
    assert stages(ran) == ["ok", "ok", "ok", "failed"]
    assert (ran.data["failed_step"], ran.data["rollback_status"]) == ("actionize", "completed")
    assert artifacts(project) == before
    assert project.statuses() == ["ok"] * 3
    assert project.manifest()["sessions"][-1]["exit_code"] == 3


def test_a_first_pipeline_is_taken_back_as_a_whole(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, THREE)
    fault = {**REFUSED, "notes": str(tmp_path / "notes")}

    ran = pipeline(project, "--json", "--rollback-on-failure", fault=fault)

    assert (ran.code, ran.data["rollback_status"]) == (3, "completed")
    assert not list((project.root / "out").glob("*.md"))
    assert (ran.data["resume_from"], project.statuses()) == ("01", ["pending"] * 3)
    assert artifacts(project) == {}
    again = pipeline(project, "--json")
    assert (again.code, len(project.oracle.calls)) == (0, 3)


def test_without_the_flag_everything_is_kept(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, THREE)
    fault = {**REFUSED, "notes": str(tmp_path / "notes")}

    ran = pipeline(project, "--json", fault=fault)

    assert (ran.code, ran.data["rollback_status"]) == (3, "not_attempted")
    assert (ran.data["failed_step"], ran.data["resume_from"]) == ("actionize", "actionize")
    assert "No space left on device" in ran.envelope["error"]["message"]
    assert project.statuses() == ["ok"] * 3
    assert set(artifacts(project)) == {"normalized.jsonl", "backlog.md"}


def test_a_rollback_that_fails_says_so(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, THREE)
    notes = str(tmp_path / "notes")
    # The first file comes into its place; from the second on, nothing there can be changed.
    fault: dict[str, object] = {"fail": 1, "path": "actionizer/", "after": "backlog.md"}

    ran = pipeline(project, "--json", "--rollback-on-failure", fault=fault | {"notes": notes})

    assert (ran.code, ran.data["rollback_status"]) == (3, "failed")
    assert "not rolled back: " in ran.data["rollback_error"]


def test_a_locked_run(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, THREE)
    pipeline(project)
    holder = locks.Holder(pid=1, host="elsewhere", started_at="", command="run")
    held = locks.acquire(project.run_dir, holder)
    assert not isinstance(held, locks.Holder)

    with held:
        ran = pipeline(project, "--json")

    error = ran.envelope["error"]
    assert (ran.code, error["code"], error["retry_after"]) == (6, "LOCKED", 30.0)


def test_stopped_by_ctrl_c(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) waits\necho here >meet\nsleep 60\n")
    meeting = Meeting(project.root / "meet")
    program = project.start("pipeline", "pack.md", "--json", "--keep-going")
    meeting.wait()

    program.signal(signal.SIGINT)
    ran = program.wait()

    assert (ran.code, ran.envelope["error"]["code"]) == (130, "INTERRUPTED")
    assert stages(ran) == ["ok", "failed", "skipped", "skipped"]
    assert ran.envelope["error"]["suggestion"].startswith("to continue: oraclepack pipeline")


def test_on_github(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, FAILING)
    page = tmp_path / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    secret = {"DOOR_TOKEN": "sesame-open"}

    ran = pipeline(project, "--ci", "--junit", "junit.xml", **github, **secret)
    again = pipeline(project, "--ci", "--json", **github)

    marks = [line for line in ran.out.splitlines() if line.startswith("::error ")]
    assert [mark.split(",")[0] for mark in marks] == ["::error file=pack.md"] * 2
    assert "title=oraclepack step-failed::step 02: EXIT_CODE" in marks[0]
    assert "completion 0.33 (1 of 3) is below --min-completion 1" in marks[1]
    assert all(json.loads(line) for line in ran.err.splitlines()[:-2])
    assert again.envelope["ok"] is False
    assert all(json.loads(line) for line in again.err.splitlines())
    assert "| run | ❌ failed | 1 ok, 1 failed |" in page.read_text()
    assert "Policy **not met**: completion 0.33 (1 of 3, wanted 1)" in page.read_text()
    text = (project.root / "junit.xml").read_text()
    assert "[redacted]" in text
    assert "sesame-open" not in text


def test_an_earlier_rollback_that_cannot_be_finished_fails_the_stage(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, THREE)
    place = project.root / ".oraclepack/_failed/actionize/1"
    place.mkdir(parents=True)
    (project.root / "stuck").mkdir()
    left = _Unfinished(files=(_Change(path="stuck", written=""),))
    signed = _signed(left, ".oraclepack/_failed/actionize/1")
    (place / "_unfinished.json").write_bytes(canonical_file(signed))

    ran = pipeline(project, "--json", "--rollback-on-failure")

    assert (ran.code, stages(ran)) == (3, ["ok", "ok", "ok", "failed"])
    assert "cannot be finished; nothing was written" in ran.data["stages"][3]["reason"]
    assert ran.data["rollback_status"] == "completed"
