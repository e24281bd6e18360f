"""The fold of a journal."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.line_format import Unknown
from oraclepack.journal.run_state import EMPTY, fold
from oraclepack.journal.statuses import RollbackStatus, Status
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.tools.usage import Usage
from tests import events as e

THREE = ("01", "02", "03")


def intent(call: int) -> j.InvocationIntent:
    return j.InvocationIntent(step="01", attempt=1, call=call, tool="oracle")


def outcome(call: int, tokens: int | None = 5) -> j.InvocationOutcome:
    usage = Usage(input_tokens=tokens, cost_usd=0.5)
    return j.InvocationOutcome(step="01", attempt=1, call=call, tool="oracle", ok=True, usage=usage)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], "pending", id="nothing happened"),
        pytest.param([e.started("01")], "running", id="started and never finished"),
        pytest.param(e.a_step("01"), "ok", id="finished well"),
        pytest.param(e.a_step("01", Status.FAILED), "failed", id="failed"),
        pytest.param(e.a_step("01", Status.SKIPPED), "skipped", id="skipped"),
        pytest.param([e.finished("01")], "ok", id="imported: finished without a start"),
        pytest.param([*e.a_step("01"), e.started("01", 2)], "running", id="begun again"),
        pytest.param([*e.a_step("01"), j.RolledBack(steps=("01",))], "pending", id="taken back"),
    ],
)
def test_status_of_a_step(events: list[j.KnownEvent], expected: str) -> None:
    assert fold(e.numbered(*events)).step("01").status == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], "incomplete", id="created only"),
        pytest.param([e.session()], "running", id="a command is at work or was killed"),
        pytest.param(
            [e.session(), *e.a_step("01"), *e.a_step("02"), j.SessionFinished(exit_code=0)],
            "incomplete",
            id="steps are left",
        ),
        pytest.param(
            [e.session(), *(x for s in THREE for x in e.a_step(s)), j.RunFinished(ok=True)],
            "ok",
            id="all done, the command still open",
        ),
        pytest.param(
            [e.session(), *e.a_step("01", Status.FAILED), j.SessionFinished(exit_code=3)],
            "failed",
            id="a step failed",
        ),
    ],
)
def test_status_of_a_run(events: list[j.KnownEvent], expected: str) -> None:
    assert fold(e.numbered(e.created(*THREE), *events)).status == expected


def test_a_second_attempt_keeps_calls_and_forgets_the_rest() -> None:
    first = [e.started("01"), intent(1), outcome(1), e.finished("01", Status.FAILED)]
    state = fold(e.numbered(*first, e.started("01", 2))).step("01")

    assert (state.attempts, state.error, state.outputs) == (2, None, ())
    assert [call.is_open for call in state.invocations] == [False]
    assert state.last_invocations() == ()


def test_an_intent_without_outcome_is_open() -> None:
    state = fold(e.numbered(e.started("01"), intent(1), intent(2), outcome(1))).step("01")

    assert {call.call: call.is_open for call in state.invocations} == {1: False, 2: True}


def seconds_for(calls: int) -> float:
    """Processor time for the state of a step with so many calls, waits and attempts."""
    warning = j.WarningRecorded(step="01", message="waiting for a slot")
    made = [
        event
        for number in range(calls)
        for event in (e.started("01", number + 1), intent(number), warning, outcome(number))
    ]
    events = e.numbered(e.created(*THREE), *made)
    begun = time.process_time()
    fold(events)
    return time.process_time() - begun


@pytest.mark.slow
def test_the_state_of_a_long_journal_takes_linear_time() -> None:
    small, large = (min(seconds_for(calls) for _ in range(3)) for calls in (5_000, 20_000))

    assert large < 8 * small, "four times the events; sixteen times the time would be quadratic"


def test_usage_sums_what_is_known() -> None:
    state = fold(e.numbered(e.started("01"), outcome(1), outcome(2, tokens=None), intent(3)))

    assert state.usage() == Usage(input_tokens=5, cost_usd=1.0)


def test_a_run_remembers_every_head_once() -> None:
    heads = [j.HeadRecorded(sha=sha) for sha in ("a" * 40, "c" * 40, None, "a" * 40)]

    assert fold(e.numbered(e.created("01"), *heads)).heads == ("a" * 40, "c" * 40)


def test_running_again_with_nothing_to_do_keeps_the_end_of_the_run() -> None:
    whole = [e.created("01"), e.session(), *e.a_step("01"), j.RunFinished(ok=True)]
    again = [j.SessionFinished(exit_code=0), e.session(), j.RunFinished(ok=True)]
    state = fold(e.numbered(*whole, *again))

    assert state.finished_at == e.at(6)
    assert len(state.sessions) == 2


def test_only_the_last_command_is_rolled_back() -> None:
    state = fold(e.numbered(e.session(), *e.a_step("01"), e.session(), *e.a_step("02")))

    assert [file.step for file in state.session_files] == ["02"]


def test_an_interrupted_rollback_shows() -> None:
    begun = j.RollbackStarted(steps=("01",))
    undone = j.FileUndone(step="01", path="out/01-answer.md")
    killed = fold(e.numbered(*e.a_step("01"), begun, undone))
    rollback = fold([e.session()], killed).rollback

    assert rollback is not None
    assert (rollback.status, rollback.undone[0].path) == (RollbackStatus.STARTED, undone.path)
    assert [file.path for file in rollback.files] == ["outputs/01-answer.md"]


def test_a_finished_rollback_tells_how_it_ended() -> None:
    failed = j.RollbackFinished(status=RollbackStatus.FAILED, error="disk full")
    rollback = fold(e.numbered(j.RollbackStarted(steps=("01",)), failed)).rollback

    assert rollback is not None
    assert (rollback.status, rollback.error) == (RollbackStatus.FAILED, "disk full")


def test_a_failed_prelude_fails_the_run_until_the_next_command() -> None:
    error = StepError(code="EXIT", message="it ended with 1")
    began = j.PreludeStarted(attempt=1, process=ProcessIdentity(pid=7))
    failed = [e.created("01"), e.session(), began, j.PreludeFinished(attempt=1, error=error)]
    state = fold(e.numbered(*failed, j.SessionFinished(exit_code=3)))

    assert (state.status, state.prelude_attempts, state.prelude_process) == ("failed", 1, None)
    assert fold([e.session()], state).prelude_error is None


def test_a_spawned_step_is_known_until_it_ends() -> None:
    spawned = j.StepSpawned(step="01", attempt=1, process=ProcessIdentity(pid=7))
    running = fold(e.numbered(e.started("01"), spawned))

    assert running.step("01").process == ProcessIdentity(pid=7)
    assert fold([e.finished("01")], running).step("01").process is None


def test_unknown_kinds_are_named_once() -> None:
    state = fold([Unknown(kind="dreamt", seq=1), Unknown(kind="dreamt", seq=2)])

    assert state.unknown_kinds == ("dreamt",)


@given(st.lists(e.any_event, max_size=30))
def test_any_sequence_of_events_is_a_state(events: list[j.KnownEvent]) -> None:
    numbered = e.numbered(*events)
    state = EMPTY
    for event in numbered:
        state = fold([event], state)

    assert state == fold(numbered)
    assert state.status in {"running", "ok", "failed", "incomplete"}
    assert state.last_seq == len(events)


def revised(**changes: object) -> j.OutputRevised:
    event = j.OutputRevised(
        step="01",
        attempt=1,
        path="outputs/01-answer.md",
        declared_path="out/01-answer.md",
        sha256="c" * 64,
        bytes=3,
        accepted=True,
        reason="fine",
    )
    return msgspec.structs.replace(event, **changes)


def test_an_accepted_output_is_the_recorded_one_until_another_is_written() -> None:
    before = [*e.a_step("01", Status.FAILED), revised(), e.finished("01")]
    other = msgspec.structs.replace(e.output("01", 2), sha256="d" * 64)

    accepted = fold(e.numbered(*before)).step("01")
    again = fold(e.numbered(*before, e.started("01", 2))).step("01")
    replaced = fold(e.numbered(*before, e.started("01", 2), other)).step("01")

    assert (accepted.word, accepted.outputs[0].sha256) == ("accepted", "c" * 64)
    assert [one.reason for one in again.accepted] == ["fine"]
    assert replaced.accepted == ()


def test_a_corrected_output_is_not_an_accepted_one() -> None:
    state = fold(e.numbered(*e.a_step("01"), revised(accepted=False))).step("01")

    assert (state.word, state.outputs[0].sha256) == ("ok", "c" * 64)
