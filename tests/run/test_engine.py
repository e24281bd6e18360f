"""The steps of a plan run, one at a time or several."""

import threading

import pytest

from oraclepack.journal.statuses import Status
from oraclepack.pack.model import StepId
from oraclepack.run.control import RunControl
from oraclepack.run.execute import run_plan
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep
from oraclepack.run.planning.schedule import OnFailure, Progress
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop


class Switch(Stop):
    """A stop whose first request can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    def ask(self, level: StopLevel, signal: int | None = None) -> None:
        super().ask(level, signal)
        self.asked.set()


def a_plan(count: int, **needs: str) -> Plan:
    ids = [f"{number:02}" for number in range(1, count + 1)]
    return Plan(
        tuple(
            PlannedStep(
                step_id=StepId(one),
                decision=Decision.RUN,
                reason="it has not run yet",
                command_hash="",
                needs=(StepId(needs[f"s{one}"]),) if f"s{one}" in needs else (),
            )
            for one in ids
        )
    )


class Work:
    """Notes what ran; some steps fail, some raise, and those after these wait for a stop."""

    def __init__(
        self,
        *,
        fails: str = "",
        raises: str = "",
        stops: Switch | None = None,
        awaits: Switch | None = None,
    ) -> None:
        self.ran: list[str] = []
        self._fails = fails
        self._raises = raises
        self._stops = stops
        self._awaits = awaits
        self._lock = threading.Lock()

    def __call__(self, step: PlannedStep) -> Status:
        with self._lock:
            self.ran.append(step.step_id)
        if step.step_id == self._raises:
            raise OSError("the machine is in trouble")
        if self._awaits is not None and step.step_id > self._raises:
            self._awaits.asked.wait(30)
        if self._stops is not None:
            self._stops.ask(StopLevel.POLITE)
        return Status.FAILED if step.step_id == self._fails else Status.OK


def driven(plan: Plan, work: Work, limit: int, policy: OnFailure, stop: Switch) -> Progress:
    return run_plan(plan, work, stop, RunControl(stop, limit), policy)


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize(
    ("fails", "policy", "ran"),
    [
        pytest.param("", OnFailure.STOP, ["01", "02", "03", "04"], id="everything goes well"),
        pytest.param(
            "02", OnFailure.KEEP_GOING, ["01", "02", "04"], id="what needs the failed one stays"
        ),
    ],
)
def test_a_plan_runs_as_far_as_it_goes(
    limit: int, fails: str, policy: OnFailure, ran: list[str]
) -> None:
    work = Work(fails=fails)

    progress = driven(a_plan(4, s03="02"), work, limit, policy, Switch())

    assert sorted(work.ran) == ran
    assert progress.failed == ({fails} if fails else frozenset())
    assert progress.running == frozenset()


def test_a_failed_step_stops_the_ones_after_it() -> None:
    work = Work(fails="02")

    driven(a_plan(4), work, 1, OnFailure.STOP, Switch())

    assert work.ran == ["01", "02"]


@pytest.mark.parametrize("limit", [1, 2])
def test_nothing_starts_after_a_request_to_stop(limit: int) -> None:
    stop = Switch()
    work = Work(stops=stop)

    driven(a_plan(9), work, limit, OnFailure.STOP, stop)

    assert len(work.ran) <= limit


@pytest.mark.parametrize("limit", [1, 2])
def test_trouble_is_raised_after_the_others_have_ended(limit: int) -> None:
    stop = Switch()
    work = Work(raises="02", awaits=stop)

    with pytest.raises(OSError, match="in trouble"):
        driven(a_plan(9), work, limit, OnFailure.KEEP_GOING, stop)

    assert len(work.ran) == 1 + limit


def test_trouble_between_steps_stops_the_run() -> None:
    stop, work = Switch(), Work()

    def full() -> None:
        if work.ran:
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        run_plan(a_plan(9), work, stop, RunControl(stop, 2), OnFailure.STOP, full)

    assert stop.level is StopLevel.POLITE
    assert len(work.ran) < 9
