"""One rule for what is enough and what it comes to, for `run` and `pipeline` alike."""

import pytest

from oraclepack.errors import ExitCode
from oraclepack.run.policy import CompletionReport, weigh


@pytest.mark.parametrize(
    ("ok", "to_run", "required", "expected"),
    [
        pytest.param(20, 20, 1.0, None, id="all of them"),
        pytest.param(0, 0, 1.0, None, id="of nothing, nothing is missing"),
        pytest.param(2, 3, 2 / 3, None, id="exactly the share"),
        pytest.param(7, 10, 0.7, None, id="a share that no float holds"),
        pytest.param(
            19,
            20,
            1.0,
            "completion 0.95 (19 of 20) is below --min-completion 1",
            id="one is missing",
        ),
        pytest.param(
            999_999,
            1_000_000,
            1.0,
            "completion 1.00 (999999 of 1000000) is below --min-completion 1",
            id="one of very many",
        ),
    ],
)
def test_what_is_enough(ok: int, to_run: int, required: float, expected: str | None) -> None:
    assert CompletionReport.of(ok, to_run, required).shortfall == expected


@pytest.mark.parametrize(
    ("failed", "met", "unweighable", "expected"),
    [
        pytest.param(False, None, False, ExitCode.DONE, id="all well"),
        pytest.param(True, None, False, ExitCode.STEP_FAILED, id="a step failed"),
        pytest.param(True, True, False, ExitCode.DONE, id="the policy forgives a step"),
        pytest.param(False, False, False, ExitCode.POLICY, id="the policy wants more"),
        pytest.param(False, True, True, ExitCode.STEP_FAILED, id="nothing is left to weigh"),
    ],
)
def test_what_steps_come_to(
    failed: bool, met: bool | None, unweighable: bool, expected: ExitCode
) -> None:
    assert weigh(failed=failed, met=met, unweighable=unweighable) is expected
