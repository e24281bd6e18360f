from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oraclepack.errors import Refusal
from oraclepack.pack.model import StepId
from oraclepack.run.planning.plan import Decision, Plan
from oraclepack.run.planning.schedule import OnFailure, Progress, on_failure, ready
from oraclepack.settings.value_kinds import MaxParallel
from tests.run.planning.plans import a_plan, ids, planned, progress

FREE = a_plan(planned("01"), planned("02"), planned("03"), planned("04"))
CHAIN = a_plan(planned("01"), planned("02", needs=["01"]), planned("03"), planned("04"))
WALL = a_plan(planned("01"), planned("02", barrier=True), planned("03"))
SIX = tuple(planned(f"0{number}", only_asks=True) for number in range(1, 7))
MIXED = a_plan(*SIX[:2], planned("03"), *SIX[3:])
GAPS = a_plan(
    planned("01", decision=Decision.DONE),
    planned("02", needs=["01"]),
    planned("03", decision=Decision.SKIPPED, barrier=True),
    planned("04", needs=["03"], after=["01"]),
)


@pytest.mark.parametrize(
    ("plan", "now", "limit", "expected"),
    [
        pytest.param(FREE, progress(), 1, ["01"], id="one at a time begins with the first"),
        pytest.param(FREE, progress(["01"]), 1, ["02"], id="and goes on with the next"),
        pytest.param(FREE, progress(running=["01"]), 1, [], id="while one runs no other starts"),
        pytest.param(FREE, progress(), 3, ["01", "02", "03"], id="as many as the limit allows"),
        pytest.param(FREE, progress(["01"], [], ["02"]), 2, ["03"], id="a free place is filled"),
        pytest.param(FREE, progress(["01", "02", "03", "04"]), 4, [], id="nothing is left"),
        pytest.param(CHAIN, progress(), 4, ["01", "03", "04"], id="a need is waited for"),
        pytest.param(CHAIN, progress(["01"], [], ["03"]), 2, ["02"], id="until it is there"),
        pytest.param(WALL, progress(), 4, ["01"], id="nothing passes a barrier"),
        pytest.param(WALL, progress(["01"]), 4, ["02"], id="a barrier starts alone"),
        pytest.param(WALL, progress(["01"], [], ["02"]), 4, [], id="nothing runs beside a barrier"),
        pytest.param(WALL, progress(["01", "02"]), 4, ["03"], id="what is behind it comes after"),
        pytest.param(GAPS, progress(), 4, ["02", "04"], id="what does not run delays no step"),
        pytest.param(FREE, progress([], ["01"], ["02"]), 4, [], id="a failure starts nothing new"),
        pytest.param(FREE, progress(), "auto", ["01"], id="auto: what is no question, in order"),
        pytest.param(
            a_plan(*SIX), progress(), "auto", ["01", "02", "03", "04"], id="auto: four questions"
        ),
        pytest.param(MIXED, progress(), "auto", ["01", "02"], id="auto: a step between questions"),
        pytest.param(MIXED, progress(["01"], [], ["02"]), "auto", [], id="auto: waits for all"),
        pytest.param(MIXED, progress(["01", "02"]), "auto", ["03"], id="auto: then runs alone"),
        pytest.param(
            MIXED, progress(["01", "02", "03"]), "auto", ["04", "05", "06"], id="auto: go on"
        ),
    ],
)
def test_what_starts_now(
    plan: Plan, now: Progress, limit: MaxParallel, expected: list[str]
) -> None:
    assert list(ready(plan, now, limit)) == expected


WEB = a_plan(
    planned("01"),
    planned("02", needs=["01"]),
    planned("03", needs=["02"]),
    planned("04", after=["01"]),
    planned("05", barrier=True),
    planned("06"),
)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(progress([], ["01"]), ["04"], id="only what does not need it, in order"),
        pytest.param(progress(["04"], ["01"]), ["05"], id="a barrier does not wait for the lost"),
        pytest.param(progress(["04"], ["01", "05"]), ["06"], id="a failed barrier stops no step"),
        pytest.param(progress(["04", "05", "06"], ["01"]), [], id="what needs it never starts"),
    ],
)
def test_what_starts_when_going_on_after_a_failure(now: Progress, expected: list[str]) -> None:
    assert list(ready(WEB, now, 4, OnFailure.KEEP_GOING)) == expected


@pytest.mark.parametrize(
    ("keep_going", "stop_on_fail", "expected"),
    [
        pytest.param(None, None, OnFailure.STOP, id="the default stops"),
        pytest.param(None, True, OnFailure.STOP, id="stop on fail stops"),
        pytest.param(False, None, OnFailure.STOP, id="not to keep going stops"),
        pytest.param(False, False, OnFailure.STOP, id="not to keep going wins"),
        pytest.param(True, None, OnFailure.KEEP_GOING, id="keep going"),
        pytest.param(None, False, OnFailure.KEEP_GOING, id="the older way to keep going"),
        pytest.param(True, False, OnFailure.KEEP_GOING, id="both ways at once"),
    ],
)
def test_what_a_failure_does(
    keep_going: bool | None, stop_on_fail: bool | None, expected: OnFailure
) -> None:
    assert on_failure(keep_going=keep_going, stop_on_fail=stop_on_fail) is expected


@pytest.mark.parametrize(
    ("keep_going", "stop_on_fail", "share", "expected"),
    [
        pytest.param(None, None, 0.9, OnFailure.KEEP_GOING, id="less than all is enough"),
        pytest.param(None, None, 1.0, OnFailure.STOP, id="all are wanted"),
        pytest.param(None, True, 0.9, OnFailure.STOP, id="stop on fail was said"),
        pytest.param(False, None, 0.9, OnFailure.STOP, id="not to keep going was said"),
    ],
)
def test_a_share_of_steps_that_suffices_means_to_keep_going(
    keep_going: bool | None, stop_on_fail: bool | None, share: float, expected: OnFailure
) -> None:
    found = on_failure(keep_going=keep_going, stop_on_fail=stop_on_fail, min_completion=share)

    assert found is expected


def test_contradicting_flags_are_refused() -> None:
    assert isinstance(on_failure(keep_going=True, stop_on_fail=True), Refusal)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    count = draw(st.integers(1, 8))
    steps = []
    for number in range(1, count + 1):
        earlier = [f"{one:02}" for one in range(1, number)]
        some = st.sets(st.sampled_from(earlier)) if earlier else st.just(set[str]())
        steps.append(
            planned(
                f"{number:02}",
                needs=sorted(draw(some)),
                after=sorted(draw(some)),
                barrier=draw(st.booleans()) and draw(st.booleans()),
                decision=draw(st.sampled_from([Decision.RUN] * 4 + [Decision.DONE])),
            )
        )
    return a_plan(*steps)


SEEDS = st.integers(0, 2**32)


class Trace:
    """A run of a plan in which steps end in an order, and in a way, that a seed decides."""

    def __init__(self, plan: Plan, policy: OnFailure, limit: int, seed: int) -> None:
        self.plan, self.policy, self.limit, self.dice = plan, policy, limit, Random(seed)
        self.order: list[StepId] = []
        self.beside: list[tuple[StepId, frozenset[StepId]]] = []
        """Each step with what had not ended well or badly when it started."""
        self.now = Progress()

    def drain(self) -> "Trace":
        while True:
            starting = ready(self.plan, self.now, self.limit, self.policy)
            assert starting == ready(self.plan, self.now, self.limit, self.policy)
            for step_id in starting:
                self.order.append(step_id)
                self.now = Progress(
                    self.now.finished, self.now.failed, self.now.running | {step_id}
                )
                self.beside.append((step_id, self.now.running - {step_id}))
            assert len(self.now.running) <= self.limit
            if not self.now.running:
                return self
            self._end(self.dice.choice(sorted(self.now.running)))

    def _end(self, step_id: StepId) -> None:
        good = self.dice.random() < 0.75
        self.now = Progress(
            self.now.finished | ({step_id} if good else set()),
            self.now.failed | (set() if good else {step_id}),
            self.now.running - {step_id},
        )


@given(plans(), st.sampled_from(OnFailure), st.integers(1, 4), SEEDS)
def test_every_plan_drains_and_keeps_its_edges(
    plan: Plan, policy: OnFailure, limit: int, seed: int
) -> None:
    trace = Trace(plan, policy, limit, seed).drain()

    steps = {step.step_id: step for step in plan.to_run}
    assert len(set(trace.order)) == len(trace.order)
    for step_id, running in trace.beside:
        step = steps[step_id]
        assert not running & {*step.needs, *step.after}
        assert not (running and step.barrier)
        assert not any(steps[one].barrier for one in running)
    for one, other in combinations(trace.order, 2):
        overtaken = other < one
        assert not (overtaken and (steps[one].barrier or steps[other].barrier))
    left = steps.keys() - {*trace.order}
    assert not left or trace.now.failed
    if policy is OnFailure.KEEP_GOING:
        assert all(
            left & {*steps[one].needs} or trace.now.failed & {*steps[one].needs} for one in left
        )


@given(plans(), SEEDS)
def test_one_at_a_time_is_the_order_of_the_ids(plan: Plan, seed: int) -> None:
    trace = Trace(plan, OnFailure.KEEP_GOING, 1, seed).drain()

    assert trace.order == sorted(trace.order)


@given(plans(), st.integers(1, 4), SEEDS)
def test_the_limit_changes_no_result(plan: Plan, limit: int, seed: int) -> None:
    """With the same steps failing, the same steps run, whatever the limit."""
    trace = Trace(plan, OnFailure.KEEP_GOING, limit, seed).drain()

    now, order = Progress(), list[StepId]()
    while starting := ready(plan, now, 1, OnFailure.KEEP_GOING):
        order.extend(starting)
        ended = frozenset(starting)
        now = Progress(
            now.finished | (ended - trace.now.failed), now.failed | (ended & trace.now.failed)
        )
    assert sorted(trace.order) == order
    assert (now.finished, now.failed) == (trace.now.finished, trace.now.failed)


def test_an_empty_plan_is_drained_at_once() -> None:
    assert ready(a_plan(), Progress(), 4) == ids()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(OnFailure.STOP, ["01"], id="only what comes before it"),
        pytest.param(OnFailure.KEEP_GOING, ["01", "04"], id="all but what needs it"),
    ],
)
def test_what_starts_beside_a_held_step(policy: OnFailure, expected: list[str]) -> None:
    plan = a_plan(
        planned("01"),
        planned("02", decision=Decision.HELD),
        planned("03", needs=["02"]),
        planned("04"),
    )

    assert list(ready(plan, Progress(), 9, policy)) == expected
