import pytest

from oraclepack.errors import ExitCode, StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_state import RunState, fold
from oraclepack.journal.statuses import RollbackStatus, Status
from oraclepack.run.planning.plan import Decision, Plan
from oraclepack.run.policy import CompletionReport, RunReply, completion, exit_code, reply
from tests.events import a_step, created, numbered, session
from tests.run.planning.plans import a_plan, ids, planned

IDS = [f"{number:02}" for number in range(1, 21)]
TWENTY = a_plan(*map(planned, IDS))


def a_run(*ends: tuple[str, Status], more: tuple[j.Event, ...] = ()) -> RunState:
    events = [event for step, status in ends for event in a_step(step, status)]
    return fold(numbered(created(*IDS), session(), *events, *more))


def all_but(status: Status, *steps: str) -> RunState:
    return a_run(*((one, status if one in steps else Status.OK) for one in IDS))


MIXED = a_plan(
    planned("01", decision=Decision.DONE),
    planned("02", decision=Decision.NOT_SELECTED),
    planned("03", decision=Decision.SKIPPED),
    planned("04"),
    planned("05"),
)
MIXED_RUN = a_run(
    ("01", Status.OK), ("03", Status.SKIPPED), ("04", Status.OK), ("05", Status.SKIPPED)
)


@pytest.mark.parametrize(
    ("plan", "state", "ok", "to_run", "own"),
    [
        pytest.param(TWENTY, all_but(Status.OK), 20, 20, (), id="all went well"),
        pytest.param(TWENTY, all_but(Status.FAILED, "05"), 19, 20, (), id="one failed"),
        pytest.param(
            TWENTY,
            all_but(Status.SKIPPED, "05", "07"),
            18,
            18,
            ("05", "07"),
            id="steps that skipped themselves do not count",
        ),
        pytest.param(TWENTY, a_run(), 0, 20, (), id="nothing ran"),
        pytest.param(
            MIXED,
            MIXED_RUN,
            2,
            3,
            ("05",),
            id="done before counts, not selected does not, a missing tool counts against",
        ),
        pytest.param(a_plan(), a_run(), 0, 0, (), id="nothing was to run"),
    ],
)
def test_completion(
    plan: Plan, state: RunState, ok: int, to_run: int, own: tuple[str, ...]
) -> None:
    assert completion(plan, state, 0.5) == CompletionReport.of(ok, to_run, 0.5, ids(*own))


@pytest.mark.parametrize(
    ("ok", "to_run", "required", "met"),
    [
        pytest.param(20, 20, 1.0, True, id="all of all"),
        pytest.param(19, 20, 1.0, False, id="one is lacking"),
        pytest.param(19, 20, 0.95, True, id="exactly as much as required"),
        pytest.param(2, 3, 2 / 3 + 1e-12, True, id="rounding does not decide"),
        pytest.param(0, 0, 1.0, True, id="nothing to run lacks nothing"),
        pytest.param(0, 5, 0.0, True, id="nothing is required"),
    ],
)
def test_whether_the_policy_is_met(ok: int, to_run: int, required: float, met: bool) -> None:
    assert CompletionReport.of(ok, to_run, required).is_met is met


STOPPED = a_run(*((one, Status.OK) for one in IDS[:4]), ("05", Status.FAILED))


def test_the_reply_after_a_failure() -> None:
    assert reply(TWENTY, STOPPED) == RunReply(
        completed_steps=ids("01", "02", "03", "04"),
        done_steps=(),
        skipped_steps=(),
        failed_step="05",
        failed_steps=ids("05"),
        resume_from=ids("05")[0],
        rollback_status=RollbackStatus.NOT_ATTEMPTED,
        rollback_error=None,
    )


def test_the_reply_of_a_mixed_command() -> None:
    report = reply(MIXED, MIXED_RUN)

    assert report.completed_steps == ids("04")
    assert report.done_steps == ids("01")
    assert report.skipped_steps == ids("03", "05")
    assert (report.failed_step, report.resume_from) == (None, None)


@pytest.mark.parametrize(
    ("end", "status", "error", "resume_from"),
    [
        pytest.param(
            (
                j.RolledBack(steps=tuple(IDS[:5])),
                j.RollbackFinished(status=RollbackStatus.COMPLETED),
            ),
            RollbackStatus.COMPLETED,
            None,
            "01",
            id="completed",
        ),
        pytest.param(
            (j.RollbackFinished(status=RollbackStatus.FAILED, error="disk full"),),
            RollbackStatus.FAILED,
            "disk full",
            "05",
            id="failed",
        ),
    ],
)
def test_the_reply_after_a_rollback(
    end: tuple[j.Event, ...], status: RollbackStatus, error: str | None, resume_from: str
) -> None:
    events = (j.RollbackStarted(steps=tuple(IDS[:5])), *end)

    report = reply(TWENTY, STOPPED, fold(numbered(*events), STOPPED))

    assert report.completed_steps == ids("01", "02", "03", "04")
    assert (report.rollback_status, report.rollback_error) == (status, error)
    assert (report.failed_step, report.resume_from) == ("05", resume_from)
    assert exit_code(report, completion(TWENTY, STOPPED, 0.0), ci=True) is ExitCode.STEP_FAILED


def test_the_rollback_of_an_earlier_command_is_not_reported() -> None:
    earlier = (
        j.RollbackStarted(steps=("01",)),
        j.RollbackFinished(status=RollbackStatus.COMPLETED),
        session(),
    )
    state = a_run(more=earlier)

    assert reply(TWENTY, state).rollback_status is RollbackStatus.NOT_ATTEMPTED
    assert reply(TWENTY, state, state).rollback_status is RollbackStatus.NOT_ATTEMPTED


def undecided(*others: tuple[str, Status], more: tuple[j.Event, ...] = ()) -> RunState:
    """Step 05 failed because of an undecided call."""
    error = StepError(code="UNDECIDED", message="it is unknown")
    unknown = j.StepFinished(step="05", attempt=1, status=Status.FAILED, error=error)
    ends = [(one, dict(others).get(one, Status.OK)) for one in IDS if one != "05"]
    return a_run(*ends, more=(unknown, *more))


NO_PRELUDE = a_run(
    more=(j.PreludeFinished(attempt=1, error=StepError(code="EXIT", message="it ended with 1")),)
)


@pytest.mark.parametrize(
    ("state", "required", "ci", "expected"),
    [
        pytest.param(all_but(Status.OK), 1.0, False, ExitCode.DONE, id="all well"),
        pytest.param(all_but(Status.OK), 1.0, True, ExitCode.DONE, id="all well in CI"),
        pytest.param(all_but(Status.FAILED, "05"), 0.9, False, ExitCode.STEP_FAILED, id="19 of 20"),
        pytest.param(all_but(Status.FAILED, "05"), 1.0, True, ExitCode.POLICY, id="19 of 20 in CI"),
        pytest.param(
            all_but(Status.FAILED, "05"), 0.9, True, ExitCode.DONE, id="19 of 20 are enough in CI"
        ),
        pytest.param(undecided(), 1.0, False, ExitCode.DECISION, id="an undecided call"),
        pytest.param(undecided(), 1.0, True, ExitCode.DECISION, id="an undecided call in CI"),
        pytest.param(undecided(), 0.9, True, ExitCode.DONE, id="the policy is met without it"),
        pytest.param(
            undecided(("07", Status.FAILED)),
            1.0,
            False,
            ExitCode.STEP_FAILED,
            id="an undecided call, and another step failed",
        ),
        pytest.param(NO_PRELUDE, 0.0, True, ExitCode.STEP_FAILED, id="the prelude failed"),
    ],
)
def test_what_the_exit_code_tells(
    state: RunState, required: float, ci: bool, expected: ExitCode
) -> None:
    report = reply(TWENTY, state)

    assert exit_code(report, completion(TWENTY, state, required), ci=ci) is expected


def test_a_failed_prelude_is_named() -> None:
    report = reply(TWENTY, NO_PRELUDE)

    assert (report.failed_step, report.resume_from) == ("prelude", "01")


@pytest.mark.parametrize(
    ("state", "ci", "signal", "expected"),
    [
        pytest.param(all_but(Status.OK), False, None, 0, id="all well"),
        pytest.param(STOPPED, False, None, 3, id="a step failed"),
        pytest.param(STOPPED, True, None, 5, id="the policy is not met"),
        pytest.param(STOPPED, True, 2, 130, id="stopped by Ctrl-C"),
        pytest.param(all_but(Status.OK), False, 15, 143, id="stopped by a termination signal"),
    ],
)
def test_exit_codes(state: RunState, ci: bool, signal: int | None, expected: int) -> None:
    report, figures = reply(TWENTY, state), completion(TWENTY, state)

    assert exit_code(report, figures, ci=ci, signal=signal) == expected
