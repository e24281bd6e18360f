"""Builders of plans and progress for the tests of what runs."""

from collections.abc import Iterable

from oraclepack.pack.model import StepId
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep
from oraclepack.run.planning.schedule import Progress


def ids(*texts: str) -> tuple[StepId, ...]:
    return tuple(StepId(text) for text in texts)


def planned(
    step_id: str,
    *,
    needs: Iterable[str] = (),
    after: Iterable[str] = (),
    barrier: bool = False,
    only_asks: bool = False,
    decision: Decision = Decision.RUN,
) -> PlannedStep:
    return PlannedStep(
        step_id=StepId(step_id),
        decision=decision,
        reason="the test says so",
        command_hash="0",
        needs=ids(*needs),
        after=ids(*after),
        barrier=barrier,
        only_asks=only_asks,
    )


def a_plan(*steps: PlannedStep) -> Plan:
    return Plan(steps)


def progress(
    finished: Iterable[str] = (), failed: Iterable[str] = (), running: Iterable[str] = ()
) -> Progress:
    return Progress(frozenset(ids(*finished)), frozenset(ids(*failed)), frozenset(ids(*running)))
