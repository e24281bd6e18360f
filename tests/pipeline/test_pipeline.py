"""The pipeline in this process: what it prints, and what it leaves for its surroundings."""

import json
import shutil
from pathlib import Path

import pytest

from oraclepack.pipeline.pipeline_report import (
    PipelineStage,
    StageReport,
    StageStatus,
    pipeline_summary,
    policy,
)
from oraclepack.pipeline.run_pipeline import Pipeline, PipelineRequest
from oraclepack.run.policy import CompletionReport
from oraclepack.settings.registry import Settings
from tests.cli.answers import answer
from tests.e2e.program import Ran
from tests.packs import pack_text
from tests.pipeline.test_junit import KEPT, a_pipeline
from tests.scripted import scripted_tool

ROOT = Path(__file__).parents[2]
ASKING = """\
# 01) One
oracle --write-output out/01-one.md -f notes.txt -p "What is wrong?

Answer format:
1) Direct answer
2) Risks/unknowns
3) Next smallest concrete experiment
4) If evidence is insufficient, name it."
"""
REHEARSED = ("--engine", "rehearsal", "--quiet")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    Path("notes.txt").write_text("def one() -> int: ...\n", encoding="utf-8")
    return Path.cwd()


def pipeline(capsys: pytest.CaptureFixture[str], bash: str, *args: str) -> Ran:
    Path("pack.md").write_text(pack_text(bash), encoding="utf-8")
    return answer(capsys, "pipeline", "pack.md", *args)


def test_the_review_of_the_examples_becomes_a_backlog(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("src", "docs"):
        shutil.copytree(ROOT / folder, project / folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "examples/codebase-review.md", project)

    result = answer(capsys, "pipeline", "codebase-review.md", "--json", "--strict", *REHEARSED)

    assert (result.code, result.err) == (0, "")
    data = result.envelope["data"]
    assert [stage["status"] for stage in data["stages"]] == ["ok"] * 4
    assert data["actionize"]["answered"] == 20
    backlog = (project / data["actionize"]["out_dir"] / "backlog.md").read_text()
    assert "These answers come from a rehearsal" in backlog


def test_the_last_word_is_a_table_and_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    result = pipeline(capsys, ASKING, *REHEARSED, "--junit", "reports/junit.xml")

    lines = result.out.splitlines()
    assert result.code == 0
    assert [line.split()[:2] for line in lines[:4]] == [
        ["validate", "ok"],
        ["run", "ok"],
        ["verify", "ok"],
        ["actionize", "ok"],
    ]
    assert [line.partition(":")[0] for line in lines[4:]] == [
        "run directory",
        "backlog",
        "beside it",
        "junit",
    ]
    assert Path(lines[5].partition(": ")[2]).is_file()
    assert Path("reports/junit.xml").is_file()


def test_the_report_is_written_at_the_end(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = pipeline(capsys, ASKING, *REHEARSED, "--report")

    (page,) = project.glob(".oraclepack/rehearsals/*/report.html")
    assert f"report: {page.relative_to(project).as_posix()}\n" in result.out
    assert "no model was asked" in page.read_text(encoding="utf-8")


def test_what_is_wrong_with_the_pack_stands_above_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = pipeline(capsys, "# 01) One\n-p x\n")

    assert result.code == 2
    assert result.out.startswith("pack.md:")
    assert "OP201 error" in result.out
    assert "validate   failed   1 error in" in result.out
    assert "error: not valid: pack.md" in result.err


def test_a_failed_step_shows_the_end_of_its_log(capsys: pytest.CaptureFixture[str]) -> None:
    result = pipeline(capsys, "# 01) One\necho first; echo why it broke >&2\nexit 7\n", "--quiet")

    assert result.code == 3
    assert result.out.startswith("log: .oraclepack/runs/")
    assert (result.out + result.err).count("why it broke") == 1
    assert "verify     skipped  run failed" in result.out
    assert "error: step 01 failed: EXIT_CODE: exit code 7: why it broke\n" in result.err
    assert "\n  hint: to continue: oraclepack pipeline" in result.err


def test_a_failed_prelude_leaves_nothing_to_weigh(capsys: pytest.CaptureFixture[str]) -> None:
    bash = "cd /nowhere-at-all || exit 1\n# 01) One\ntrue\n"

    result = pipeline(capsys, bash, "--ci", "--min-completion", "0", "--junit", "junit.xml")

    assert result.code == 3
    assert "run        failed   the prelude failed" in result.out
    assert json.loads(result.err.splitlines()[-1])["message"].startswith("the prelude failed")
    assert "nowhere-at-all" in Path("junit.xml").read_text()


def test_a_junit_file_that_could_never_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    result = pipeline(capsys, ASKING, *REHEARSED, "--junit", ".")

    assert (result.code, Path(".oraclepack").exists()) == (2, False)
    assert "--junit . is a directory" in result.err


def test_a_junit_file_that_cannot_be_written_is_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = pipeline(capsys, "# 01) One\ntrue\n", "--quiet", "--junit", "notes.txt/junit.xml")

    assert result.code == 0
    assert "warning: --junit: cannot make the directory" in result.err


def test_a_summary_that_cannot_be_written_is_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/at/all.md")

    result = pipeline(capsys, "# 01) One\ntrue\n", "--quiet")

    assert result.code == 0
    assert result.err.count("warning: GITHUB_STEP_SUMMARY: ") == 1


def test_a_failed_step_is_annotated_on_github(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "page.md")

    result = pipeline(capsys, "# 01) One\nexit 7\n", "--ci", "--min-yield", "1", "--junit", "j.xml")

    marks = [line for line in result.out.splitlines() if line.startswith("::error ")]
    assert [mark.partition("title=oraclepack ")[2].partition("::")[0] for mark in marks] == [
        "step-failed",
        "policy-not-met",
        "policy-not-met",
    ]
    assert "policy     not met  completion 0.00 of 1, yield 0.00 of 1" in result.out
    assert result.code == 5
    assert "to continue: " in result.err
    page = Path("page.md").read_text(encoding="utf-8")
    assert page.count("### oraclepack") == 2


def test_an_output_that_is_gone_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    bash = "# 01) One\n# oraclepack: outputs=gone.md\ntrue\n"

    result = pipeline(capsys, bash, "--quiet", "--output-verify=false")

    assert result.code == 4
    assert "step 01: gone.md: file missing\n" in result.out
    assert "title=oraclepack contract-not-met::step 01: gone.md: missing" in result.out
    assert "error: 1 of 1 outputs lack what was asked for" in result.err


def test_an_answer_that_a_person_accepted_does_not_stop_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = scripted_tool(project.parent / "bin")
    asking = ASKING.replace("What is wrong?", "What is wrong? [[fault=short]]")
    ours = ("--oracle-bin", str(tool.program), "--quiet")
    assert pipeline(capsys, asking, *ours).code == 3
    assert answer(capsys, "accept", "pack.md", "01", "--reason", "it is clear").code == 0

    result = pipeline(capsys, asking, "--json", *ours)

    stages = result.envelope["data"]["stages"]
    assert (result.code, [stage["status"] for stage in stages]) == (0, ["ok"] * 4)
    assert stages[2]["reason"] == "0 of 1 outputs have what was asked for, 1 accepted by a person"
    assert len(tool.calls) == 1


def test_a_backlog_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    writing = "# 01) One\n# oraclepack: outputs=one.md\necho 'Add a lock.' > one.md\n"
    pipeline(capsys, writing, "--quiet")
    (place,) = Path(".oraclepack/runs").glob("*/actionizer")
    (place / "change-plan.md").unlink()
    (place / "change-plan.md").mkdir()

    result = pipeline(capsys, writing, "--quiet", "--rollback-on-failure")

    assert result.code == 3
    assert "error: actionize failed: cannot read" in result.err
    assert "; rollback completed" in result.err


def test_what_was_rehearsed_is_exported_only_on_demand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    export = (*REHEARSED, "--export", "github,taskmaster")

    refused = pipeline(capsys, ASKING, *export)
    assert (refused.code, Path(".oraclepack").exists()) == (2, False)
    assert "--allow-rehearsal" in refused.err

    result = pipeline(capsys, ASKING, *export, "--allow-rehearsal")
    (place,) = Path(".oraclepack/rehearsals").glob("*/actionizer")
    assert result.code == 0
    assert len(list(place.iterdir())) == 5
    for artifact in place.iterdir():
        assert "Rehearsal: " in artifact.read_text(), artifact
        assert "These answers come from a rehearsal" in artifact.read_text(), artifact
        assert "verified" not in artifact.read_text(), artifact


def test_the_policy_does_not_judge_a_rehearsal(capsys: pytest.CaptureFixture[str]) -> None:
    result = pipeline(capsys, ASKING, "--ci", *REHEARSED)
    (place,) = Path(".oraclepack/rehearsals").iterdir()
    work = answer(capsys, "actionize", "--ci", "--run-dir", str(place))

    for one in (result, work):
        assert one.code == 0
        assert "policy     not judged: a rehearsal has no answers\n" in one.out
        assert "met  " not in one.out


def test_a_rehearsal_is_verified_by_its_structure(capsys: pytest.CaptureFixture[str]) -> None:
    result = pipeline(capsys, ASKING, *REHEARSED)

    assert result.code == 0
    assert (
        "verify     ok       1 of 1 outputs have what was asked for; 1 rehearsed, none of them an "
        "answer\n"
    ) in result.out


def test_an_unknown_export(capsys: pytest.CaptureFixture[str]) -> None:
    result = pipeline(capsys, ASKING, *REHEARSED, "--export", "github,taskmeister")

    assert (result.code, Path(".oraclepack").exists()) == (2, False)
    assert "did you mean taskmaster" in result.err


def test_rules_that_are_left_out_may_still_stop_it(capsys: pytest.CaptureFixture[str]) -> None:
    result = pipeline(capsys, "# 01) One\ntrue\n# 03) Three\ntrue\n", "--ignore", "OP1")

    assert (result.code, Path(".oraclepack").exists()) == (2, False)
    assert "OP1" in result.err


def test_the_page_on_github() -> None:
    share = CompletionReport(ok=2, to_run=4, ratio=0.5, required=0.9, self_skipped=())
    stages = tuple(
        StageReport(stage, status, reason)
        for stage, status, reason in zip(
            PipelineStage,
            (StageStatus.OK, StageStatus.FAILED, StageStatus.OK, StageStatus.SKIPPED),
            ("3 steps", "1 ok | <b>", "", "why not"),
            strict=True,
        )
    )
    report = a_pipeline(KEPT, stages=stages, policy=policy(share, 0, None, 1.0, ci=True))

    assert pipeline_summary(report) == (
        "### oraclepack pipeline: pack.md\n\n"
        "| stage | result | what |\n|---|---|---|\n"
        "| validate | ✅ ok | 3 steps |\n"
        "| run | ❌ failed | 1 ok &#124; &lt;b> |\n"
        "| verify | ✅ ok |  |\n"
        "| actionize | ⏭️ skipped | why not |\n"
        "\nPolicy **not met**: completion 0.50 (2 of 4, wanted 0.9), yield 0.00 "
        "(0 actionable from 0 answers, wanted 1).\n\n"
    )


def test_what_was_validated_is_what_runs(project: Path) -> None:
    pack = project / "pack.md"
    pack.write_text(pack_text("# 01) One\ntrue\n"), encoding="utf-8")
    work = Pipeline(PipelineRequest(str(pack), Settings(root=str(project))))

    assert work.validate()
    pack.write_text(pack_text("# 01) One\nrm -rf docs\n"), encoding="utf-8")

    assert work.prepare().pack.steps[0].code == "true\n"
