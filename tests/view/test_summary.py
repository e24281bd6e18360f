import pytest

from oraclepack.run.policy import CompletionReport
from oraclepack.run.run_report import RunReport, StepReport
from oraclepack.view.report.github import plain, summary


def step(step_id: str, status: str, decision: str = "run", **more: object) -> StepReport:
    fields = {"reason": "it has not run yet", "attempts": 1, "duration_ms": 1500} | more
    return StepReport(step_id=step_id, status=status, decision=decision, **fields)  # type: ignore[arg-type]


REPORT = RunReport(
    run_id="2026-03-01__abc1234__55555555",
    run_dir=".oraclepack/runs/r",
    continued=False,
    reason="",
    status="failed",
    completed_steps=("02",),
    done_steps=("01",),
    failed_step="03",
    failed_steps=("03",),
    skipped_steps=(),
    resume_from="03",
    rollback_status="completed",
    rollback_error=None,
    completion=CompletionReport(ok=2, to_run=4, ratio=0.5, required=1.0, self_skipped=()),
    steps=(
        step("01", "ok", "done", reason="it went well before"),
        step("02", "ok"),
        step("03", "failed", attempts=2, error="EXIT_CODE", message="exit code 7: a | b\n<b>"),
        step("04", "pending", attempts=0, duration_ms=None),
    ),
)


def test_a_run_is_a_table() -> None:
    assert summary(REPORT, "pack.md", {"02": "Who clears the *cache*?"}) == (
        "### oraclepack: pack.md\n\n"
        "Run 2026-03-01__abc1234__55555555: **1 ok, 1 already done, 1 failed**,"
        " completion 2 of 4.\n\n"
        "| step | title | status | time | attempts | what happened |\n"
        "|---|---|---|---|---|---|\n"
        "| 01 |  | ✅ already done |  | 1 | it went well before |\n"
        "| 02 | Who clears the \\*cache\\*? | ✅ ok | 1.5 s | 1 | it has not run yet |\n"
        "| 03 |  | ❌ failed | 1.5 s | 2 | EXIT_CODE: exit code 7: a &#124; b &lt;b> |\n"
        "| 04 |  | ⏳ pending |  |  | it has not run yet |\n"
        "\nRollback: completed\n"
    )


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        pytest.param("a &lt; b", "a &amp;lt; b", id="no entity of its own"),
        pytest.param("x\x1b[31m\x07y", r"x\x1b\[31m\x07y", id="no control characters"),
        pytest.param("x" * 300, "x" * 199 + "…", id="no book"),
        pytest.param("naïve – 日本", "naïve – 日本", id="letters stay"),
    ],
)
def test_text_is_only_text(text: str, cell: str) -> None:
    assert plain(text) == cell
