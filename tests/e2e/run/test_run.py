"""What a run leaves behind, and what the next one makes of it."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from oraclepack.view.manifests import RunManifest
from oraclepack.view.report.schemas import schema_of
from oraclepack.view.step import StepEntry
from tests.e2e.program import tree
from tests.e2e.run.project import Project, Zygote, a_project, asking, twenty

ALL = [f"{number:02}" for number in range(1, 21)]


def test_a_first_run_leaves_every_promised_field(project: Project) -> None:
    project.pack.rename(project.root / "pack-2026-01-31.md")
    sha = project.commit()

    ran = project.start("run", "pack-2026-01-31.md", "--json").wait()

    assert ran.code == 0, ran
    jsonschema.validate(ran.data, schema_of("run-report"))
    run, steps = project.manifest(), project.steps()
    assert set(run) == {field.name for field in msgspec.structs.fields(RunManifest)}
    assert list(steps) == ALL
    for step in steps.values():
        assert set(step) == {field.name for field in msgspec.structs.fields(StepEntry)}
        assert step["status"] == "ok"
        assert step["output_path"] == f"outputs/{step['step_id']}-topic-{int(step['step_id'])}.md"
        assert (project.run_dir / step["output_path"]).is_file()
        assert (project.run_dir / step["stdout_log"]).is_file()
    assert run["pack_id"] == f"2026-01-31__{sha[:7]}__{run['pack_hash'][:8]}"
    assert project.run_dir.name == run["pack_id"]
    assert (run["status"], run["git_sha"], run["heads"]) == ("ok", sha, [sha])
    assert run["sessions"][0]["exit_code"] == 0
    jsonschema.validate(run, schema_of("run"))
    jsonschema.validate(
        json.loads((project.run_dir / "steps.json").read_bytes()), schema_of("steps")
    )
    assert len(project.oracle.calls) == 20
    assert {path.name for path in project.root.glob("*.json")} == {
        "pack-2026-01-31.report.json",
        "pack-2026-01-31.state.json",
    }


def test_state_and_steps_are_written_between_two_steps(tmp_path: Path, zygote: Zygote) -> None:
    look = "cp .oraclepack/runs/*/steps.json pack.state.json out/\n"
    project = a_project(
        tmp_path, zygote, f"mkdir -p out\n# 01) one\ntrue\n# 02) two\n{look}{asking(3)}"
    )

    assert project.run().code == 0

    state = json.loads((project.root / "out/pack.state.json").read_bytes())["steps"]
    assert {key: step["status"] for key, step in state.items()} == {
        "01": "succeeded",
        "02": "running",
        "03": "pending",
    }
    steps = json.loads((project.root / "out/steps.json").read_bytes())["steps"]
    assert [step["status"] for step in steps] == ["ok", "pending", "pending"]
    assert steps[2]["output_path"] == "outputs/03-topic-3.md"
    hashes = [step["command_hash"] for step in steps]
    assert hashes == [step["command_hash"] for step in project.steps().values()]
    assert None not in hashes


def test_a_second_run_calls_nothing(project: Project) -> None:
    project.run()

    again = project.run()

    assert (again.code, again.data["completed_steps"], again.data["done_steps"]) == (0, [], ALL)
    assert len(project.oracle.calls) == 20
    assert set(project.attempts().values()) == {1}
    assert [session["exit_code"] for session in project.manifest()["sessions"]] == [0, 0]


@pytest.mark.parametrize(
    ("where", "how"),
    [
        ("out/02-topic-2.md", "removed"),
        ("{run}/outputs/02-topic-2.md", "removed"),
        ("{run}/outputs/02-topic-2.md", "changed"),
    ],
)
def test_an_output_that_is_not_as_recorded_is_put_back_and_nothing_runs(
    tmp_path: Path, zygote: Zygote, where: str, how: str
) -> None:
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1) + asking(2) + asking(3))
    project.run()
    file = project.root / where.format(run=project.run_dir)
    answer = file.read_bytes()
    if how == "changed":
        file.write_bytes(answer + b"and more\n")
    else:
        file.unlink()

    again = project.run()

    assert (again.code, again.data["completed_steps"]) == (0, [])
    assert again.data["steps"][1]["decision"] == "restore"
    assert project.attempts() == {"01": 1, "02": 1, "03": 1}
    assert file.read_bytes() == answer


def test_a_failing_step_stops_the_run_and_keeps_what_was_done(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, twenty(s05="echo broken >&2; exit 9"))

    ran = project.run()

    assert ran.code == 3
    assert ran.envelope["error"]["code"] == "PARTIAL_FAILURE"
    names = ("completed_steps", "failed_step", "skipped_steps", "rollback_status", "resume_from")
    assert {name: ran.data[name] for name in names} == {
        "completed_steps": ["01", "02", "03", "04"],
        "failed_step": "05",
        "skipped_steps": [],
        "rollback_status": "not_attempted",
        "resume_from": "05",
    }
    assert project.statuses() == ["ok"] * 4 + ["failed"] + ["pending"] * 15
    failed = project.steps()["05"]
    assert (failed["exit_code"], failed["last_error"]["message"]) == (9, "exit code 9: broken")
    assert len(project.oracle.calls) == 4


def test_a_failed_steps_earlier_output_is_quarantined_before_it_runs_again(
    tmp_path: Path, zygote: Zygote
) -> None:
    once = "if [[ ! -e once ]]; then echo half >out/01-topic-1.md; touch once; exit 1; fi\n"
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1, before=once))

    first = project.run()
    second = project.run()

    assert (first.code, second.code) == (3, 0)
    kept = project.root / "out/_failed" / project.run_dir.name / "step-01/1/01-topic-1.md"
    assert kept.read_bytes() == b"half\n"
    assert "Direct answer" in (project.root / "out/01-topic-1.md").read_text()


def test_files_that_a_failed_attempt_did_not_touch_are_not_quarantined(
    tmp_path: Path, zygote: Zygote
) -> None:
    once = "if [[ ! -e once ]]; then touch once; exit 1; fi\n"
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1, before=once))
    older = project.root / "out/01-topic-1.md"
    older.parent.mkdir()
    older.write_text("mine\n")

    assert project.run("--existing", "replace").code == 3
    assert older.read_text() == "mine\n"
    assert project.run().code == 0
    assert not (project.root / "out/_failed").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--rerun", "99"], "--rerun", id="an unknown step to rerun"),
        pytest.param(["--rerun", "faild"], "--rerun", id="a misspelt word"),
        pytest.param(["--resume-from", "21"], "--resume-from", id="an unknown step to resume from"),
        pytest.param(["--steps", "01,xx"], "--steps", id="an unknown step to select"),
        pytest.param(["--run-id", "2026-01-01__nogit__00000000"], "--run-id", id="no such run"),
        pytest.param(["--run-id", "../../etc"], "--run-id", id="a path for a run"),
        pytest.param(["--import-state", "no.json"], "no.json", id="no such state file"),
    ],
)
@pytest.mark.parametrize("before", [[], ["--steps", "01-02"]], ids=["fresh", "begun"])
def test_bad_requests_touch_nothing(
    project: Project, args: list[str], message: str, before: list[str]
) -> None:
    if before:
        project.run(*before)
    calls, files = len(project.oracle.calls), tree(project.root)

    ran = project.run(*args)

    assert (ran.code, len(project.oracle.calls)) == (2, calls)
    assert message in ran.envelope["error"]["message"]
    assert tree(project.root) == files


def test_without_oracle_nothing_is_written(project: Project) -> None:
    project.oracle.program.unlink()
    before = tree(project.root)

    ran = project.run()

    assert ran.code == 2
    assert "oracle is not on PATH" in ran.envelope["error"]["message"]
    assert tree(project.root) == before


def test_the_prelude_runs_once_and_reaches_every_step(tmp_path: Path, zygote: Zygote) -> None:
    prelude = (
        "set -euo pipefail\nname='a b'\nlist=(one 'two words')\nexport LEVEL=7\n"
        "say() { printf '%s\\n' \"$1\"; }\necho line >>once.txt\n"
    )
    step = '# {0:02}) see\nsay "$name ${{list[1]}} $LEVEL $-" >out-{0}.txt\n'
    fails = "# 03) strict\nfalse | true\necho not reached\n"
    project = a_project(tmp_path, zygote, prelude + step.format(1) + step.format(2) + fails)

    ran = project.run()

    assert (ran.code, ran.data["failed_step"]) == (3, "03")
    assert (project.root / "once.txt").read_text() == "line\n"
    seen = [(project.root / f"out-{number}.txt").read_text() for number in (1, 2)]
    assert [line.split()[:4] for line in seen] == [["a", "b", "two", "words"]] * 2
    assert {"e", "u"} <= set(seen[0].split()[-1])


def test_a_failing_prelude_is_named(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "echo no luck >&2; exit 4\n# 01) x\ntouch ran\n")

    ran = project.run()

    assert (ran.code, ran.data["failed_step"]) == (3, "prelude")
    assert ran.data["prelude_error"] == "exit code 4: no luck"
    assert ran.data["prelude_stderr_log"] == "logs/prelude.1.stderr.log"
    assert not (project.root / "ran").exists()
    assert project.manifest()["status"] == "failed"


@pytest.mark.parametrize("words", ["SKIP: no tool", "Skipped: codex missing"])
def test_a_step_that_skips_itself_over_an_older_output_is_skipped(
    project: Project, words: str
) -> None:
    project.write(f"# 01) ask\n# oraclepack: outputs=a.md\necho {words}\n")
    (project.root / "a.md").write_text("of an earlier run\n")

    done = project.run("--json")

    assert done.code == 0
    assert done.data["skipped_steps"] == ["01"]


def test_a_crash_in_a_step_is_reported_by_its_error_line(tmp_path: Path, zygote: Zygote) -> None:
    crash = "Error: no way\n    at f (/a.js:1:1)\n\nNode.js v24.1.0"
    project = a_project(tmp_path, zygote, f"# 01) crash\ncat >&2 <<'END'\n{crash}\nEND\nexit 9\n")

    assert project.run().code == 3
    assert project.steps()["01"]["last_error"]["message"] == "exit code 9: Error: no way"


LIMITED = "RATE_LIMITED: Rate limit reached for gpt-5.2. Please try again in 20s."


@pytest.mark.parametrize(
    ("faults", "args", "message", "retryable", "after"),
    [
        pytest.param(
            ["rate_limit"], [], f"step 01 failed: {LIMITED}", True, 20.0, id="a rate limit passes"
        ),
        pytest.param(
            ["overloaded"],
            [],
            "step 01 failed: OVERLOADED: The engine is currently overloaded, please try again "
            "later",
            True,
            None,
            id="an overload passes at an unknown time",
        ),
        pytest.param(
            ["quota"],
            [],
            "step 01 failed: QUOTA: You exceeded your current quota, please check your plan and "
            "billing details.",
            False,
            None,
            id="a quota does not pass",
        ),
        pytest.param(
            ["rate_limit", "quota"],
            ["--keep-going"],
            f"step 01 failed: {LIMITED} (also failed: 02)",
            False,
            None,
            id="what does not pass decides",
        ),
        pytest.param(
            ["rate_limit"],
            ["--ci"],
            "completion 0.00 (0 of 1) is below --min-completion 1; step 01 failed: " + LIMITED,
            True,
            20.0,
            id="the policy says what failed",
        ),
    ],
)
def test_an_error_says_why_and_whether_it_may_pass(
    tmp_path: Path,
    zygote: Zygote,
    faults: list[str],
    args: list[str],
    message: str,
    retryable: bool,
    after: float | None,
) -> None:
    steps = [
        f'# 0{at}) a\noracle --write-output out/{at}.md -p "[[fault={fault}]]"\n'
        for at, fault in enumerate(faults, 1)
    ]
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + "".join(steps))

    error = project.run("--retry-budget", "0", *args).envelope["error"]

    assert error["message"] == message
    assert (error["retryable"], error["retry_after"]) == (retryable, after)


def test_a_failed_prelude_says_why(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "echo no luck >&2; exit 4\n# 01) a\ntrue\n")

    error = project.run().envelope["error"]

    assert error["message"].startswith("the prelude failed: exit code 4")
    assert error["retryable"] is False


FORMS = (
    "# 01) ROI=0.5 low value",
    "# 02) (ROI=0.5) low value",
    "# 03 — ROI=0.5 — low value",
    "# 04) low ROI=0.5 value",
    "# 05) low value\n# ROI: 0.5",
    "# 06) low value ROI=0.5 impact=1 confidence=0.5 effort=1",
    "# 07) high value (ROI=4.5)",
    "# 08) high value\n# Impact: High\n# ROI: 3.25",
)


def test_a_threshold_hears_every_form_of_the_score(tmp_path: Path, zygote: Zygote) -> None:
    steps = "\n".join(f"{header}\ntouch ran-{header[2:4]}" for header in FORMS)
    project = a_project(tmp_path, zygote, f"{steps}\n")

    ran = project.run("--roi-threshold", "3")

    assert (ran.code, ran.data["completed_steps"]) == (0, ["07", "08"])
    assert sorted(path.name for path in project.root.glob("ran-*")) == ["ran-07", "ran-08"]
    listed = project.start("list", "pack.md", "--json").wait().data["steps"]
    assert [step["title"] for step in listed] == ["low value"] * 6 + ["high value"] * 2
