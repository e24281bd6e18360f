import pytest

from oraclepack.pipeline.pipeline_report import (
    PipelineStage,
    PolicyReport,
    StageReport,
    StageStatus,
    policy,
    verdict,
)
from oraclepack.run.policy import CompletionReport
from oraclepack.work.backlog import ActionizeReport, WorkStatus


def work(actionable: int, answered: int) -> ActionizeReport:
    tasks = dict.fromkeys(WorkStatus, 0) | {WorkStatus.ACTIONABLE: actionable}
    return ActionizeReport(
        pack_id=None,
        pack_hash="",
        out_dir="",
        steps=answered,
        answered=answered,
        tasks=tasks,
        action_yield=0.0,
        artifacts=(),
    )


def completed(ok: int, to_run: int, required: float = 1.0) -> CompletionReport:
    ratio = ok / to_run if to_run else 1.0
    return CompletionReport(ok=ok, to_run=to_run, ratio=ratio, required=required, self_skipped=())


SHORT_OF_STEPS = "completion 0.95 (19 of 20) is below --min-completion 1"
SHORT_OF_WORK = "yield 0.50 (10 actionable from 20 answered) is below --min-yield 0.6"


@pytest.mark.parametrize(
    ("share", "broken", "done", "least", "shortfalls"),
    [
        pytest.param(completed(20, 20), 0, work(0, 20), 0.0, (), id="by default no yield is asked"),
        pytest.param(
            completed(19, 20), 0, work(9, 19), 0.0, (SHORT_OF_STEPS,), id="one step short"
        ),
        pytest.param(
            completed(20, 20), 1, work(9, 20), 0.0, (SHORT_OF_STEPS,), id="one output is broken"
        ),
        pytest.param(completed(19, 20, 0.95), 0, work(9, 19), 0.0, (), id="exactly enough"),
        pytest.param(completed(2, 3, 2 / 3), 0, work(9, 2), 0.0, (), id="exactly two thirds"),
        pytest.param(completed(0, 0), 0, work(0, 0), 0.0, (), id="nothing was to run"),
        pytest.param(
            completed(20, 20), 0, work(10, 20), 0.6, (SHORT_OF_WORK,), id="not enough work"
        ),
        pytest.param(completed(20, 20), 0, work(12, 20), 0.6, (), id="just enough work"),
        pytest.param(
            completed(19, 20),
            0,
            work(10, 20),
            0.6,
            (SHORT_OF_STEPS, SHORT_OF_WORK),
            id="both are reported",
        ),
        pytest.param(
            completed(1, 1),
            0,
            None,
            1.0,
            ("yield 0.00 (0 actionable from 0 answered) is below --min-yield 1",),
            id="no answer is no yield",
        ),
    ],
)
def test_the_figures(
    share: CompletionReport,
    broken: int,
    done: ActionizeReport | None,
    least: float,
    shortfalls: tuple[str, ...],
) -> None:
    figures = policy(share, broken, done, least, ci=True)

    assert figures.shortfalls == shortfalls
    assert figures.met is not bool(shortfalls)


def figures(*, ci: bool, met: bool) -> PolicyReport:
    return policy(completed(20 if met else 19, 20), 0, work(1, 1), 0.0, ci=ci)


@pytest.mark.parametrize(
    ("failed", "ci", "met", "unweighable", "code"),
    [
        pytest.param((), False, True, False, 0, id="all is well"),
        pytest.param(("validate",), False, True, False, 2, id="an invalid pack"),
        pytest.param(("validate",), True, True, False, 2, id="an invalid pack in CI"),
        pytest.param(("run",), False, False, False, 3, id="a step failed"),
        pytest.param(("run", "verify"), False, False, False, 3, id="a step failed, and outputs"),
        pytest.param(("verify",), False, False, False, 4, id="outputs miss their contract"),
        pytest.param(("actionize",), False, True, False, 3, id="no backlog"),
        pytest.param(("actionize",), True, True, False, 3, id="no backlog in CI"),
        pytest.param(("run",), True, False, False, 5, id="the policy is not met"),
        pytest.param(("run", "verify"), True, True, False, 0, id="the policy forgives"),
        pytest.param((), False, False, False, 0, id="without --ci the figures decide nothing"),
        pytest.param(("run",), True, True, True, 3, id="nothing is left to weigh"),
    ],
)
def test_the_exit_code(
    failed: tuple[str, ...], ci: bool, met: bool, unweighable: bool, code: int
) -> None:
    stages = [
        StageReport(stage, StageStatus.FAILED if stage in failed else StageStatus.OK, "")
        for stage in PipelineStage
    ]

    assert verdict(stages, figures(ci=ci, met=met), unweighable=unweighable) == code
