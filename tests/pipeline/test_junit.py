"""JUnit XML of pipelines, read back with the parser that CI systems would use."""

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from oraclepack.answers.verification import FailedOutput, Totals, VerifyReport
from oraclepack.lint.finding import Fields, Finding, Ordering, Severity, Validation
from oraclepack.pack.questions import Counts, Disorder
from oraclepack.pipeline.pipeline_exports import cases, junit
from oraclepack.pipeline.pipeline_report import (
    PipelineReport,
    PipelineStage,
    StageReport,
    StageStatus,
    policy,
)
from oraclepack.run.run_report import RunReport
from tests.view.test_summary import REPORT, step

OK = tuple(StageReport(stage, StageStatus.OK, "") for stage in PipelineStage)
TITLES = {"01": "First", "02": "Second <b>", "03": "Third", "04": "Fourth"}


def stages(**failed: str) -> tuple[StageReport, ...]:
    return tuple(
        StageReport(one.stage, StageStatus.FAILED, failed[one.stage])
        if one.stage in failed
        else one
        for one in OK
    )


def a_pipeline(run: RunReport | None = REPORT, **about: Any) -> PipelineReport:
    return PipelineReport(
        pack="pack.md",
        stages=about.pop("stages", OK),
        run=run,
        failed_step=run.failed_step if run else None,
        **about,
    )


KEPT = replace(REPORT, rollback_status="not_attempted")


def read(report: PipelineReport, **tails: str) -> list[tuple[str, str, str, str]]:
    """Name, ending, message and text of every case."""
    root = ET.fromstring(junit(report, cases(report, TITLES, tails)))
    found = []
    for case in root.iter("testcase"):
        (result,) = [*case] or [None]
        ending = result.tag if result is not None else "passed"
        message = result.get("message", "") if result is not None else ""
        text = (result.text or "").strip() if result is not None else ""
        found.append((case.get("name", ""), ending, message, text))
    return found


def test_a_case_for_every_step() -> None:
    report = a_pipeline(KEPT)

    assert read(report, **{"03": "the end\nof the log"}) == [
        ("01 First", "passed", "", ""),
        ("02 Second <b>", "passed", "", ""),
        ("03 Third", "failure", "exit code 7: a | b <b>", "the end\nof the log"),
        ("04 Fourth", "skipped", "not run: it has not run yet", ""),
    ]


def test_the_suite_tells_its_figures() -> None:
    root = ET.fromstring(junit(a_pipeline(KEPT), cases(a_pipeline(KEPT), TITLES, {})))

    (suite,) = root
    assert suite.attrib == {
        "name": "pack.md",
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "4.5",
    }
    times = [case.get("time") for case in suite.iter("testcase")]
    assert times == ["1.5", "1.5", "1.5", "0.0"]
    assert {case.get("classname") for case in suite.iter("testcase")} == {"pack.md"}
    assert root.find(".//property[@name='run_id']") is not None


def test_a_step_that_skipped_itself_tells_why() -> None:
    run = replace(KEPT, failed_step=None, failed_steps=(), steps=(step("01", "skipped"),))

    assert read(a_pipeline(run))[0][1:] == ("skipped", "it has not run yet", "")


def test_what_a_rollback_took_back_has_not_passed() -> None:
    back = replace(REPORT, rolled_back_steps=("02",))
    left = replace(REPORT, rolled_back_steps=())

    assert read(a_pipeline(back))[1][1] == "skipped"
    assert read(a_pipeline(left))[1][1] == "passed"


def verified(*failures: FailedOutput) -> VerifyReport:
    totals = Totals(
        steps=4,
        skipped=0,
        outputs=4,
        ok=4 - len(failures),
        failed=len(failures),
        doubtful=0,
        unresolved=0,
    )
    return VerifyReport(
        path="pack.md",
        run_id=None,
        failures=failures,
        doubts=(),
        unresolved=(),
        totals=totals,
        ok=not failures,
    )


def test_an_output_that_misses_its_contract_fails_its_step() -> None:
    lacks = (
        FailedOutput(step_id="02", path="a.md", contract="all", missing_sections=("risks",)),
        FailedOutput(step_id="02", path="b.md", contract="all", io_error="missing"),
    )

    found = read(a_pipeline(KEPT, verify=verified(*lacks)))

    assert found[1][1:] == (
        "failure",
        "a.md: missing sections: risks",
        "a.md: missing sections: risks\nb.md: file missing",
    )


def finding(rule: str, severity: Severity) -> Finding:
    return Finding(rule, "", severity, "01", 5, 3, 5, 3, f"{rule} is wrong")


INVALID = Validation(
    path="pack.md",
    ok=False,
    strict=False,
    pack_hash="",
    counts=Counts(1, 1, 0, 0),
    ordering=Ordering(ok=True, violations=tuple[Disorder, ...]()),
    fields=Fields(ok=True, required=(), steps={}),
    findings=(finding("OP201", Severity.ERROR), finding("OP301", Severity.ADVICE)),
    checks=(),
)


@pytest.mark.parametrize(
    ("report", "case"),
    [
        pytest.param(
            a_pipeline(None, stages=stages(validate="1 errors"), validate=INVALID),
            ("validate", "error", "1 errors", "pack.md:5:3 OP201 OP201 is wrong"),
            id="an invalid pack",
        ),
        pytest.param(
            a_pipeline(replace(KEPT, failed_step="prelude", failed_steps=(), steps=())),
            ("prelude", "error", "the prelude failed", "no such file"),
            id="a failed prelude",
        ),
        pytest.param(
            a_pipeline(replace(KEPT, steps=()), stages=stages(actionize="the disk is full")),
            ("actionize", "error", "the disk is full", ""),
            id="no backlog",
        ),
        pytest.param(
            a_pipeline(
                replace(KEPT, steps=()), policy=policy(KEPT.completion, 0, None, 0.0, ci=True)
            ),
            ("policy", "failure", "completion 0.50 (2 of 4) is below --min-completion 1", ""),
            id="a policy that is not met",
        ),
    ],
)
def test_trouble_of_no_step_has_its_own_case(
    report: PipelineReport, case: tuple[str, str, str, str]
) -> None:
    assert read(report, prelude="no such file") == [case]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("\x1b[31mred\x00", "�[31mred�", id="control characters"),
        pytest.param("\x9b31m \u202erev", "\ufffd31m \ufffdrev", id="C1 and direction characters"),
        pytest.param("a\udcffb", "a�b", id="a byte that is no text"),
        pytest.param("]]> & <x>", "]]> & <x>", id="markup"),
        pytest.param("日本 😀", "日本 😀", id="letters"),
    ],
)
def test_text_is_only_text(text: str, kept: str) -> None:
    assert read(a_pipeline(KEPT), **{"03": text})[2][3] == kept
