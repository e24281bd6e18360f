"""Real Dask on three machines: limits and budget hold for all of them, and a lost one is buried."""

from collections.abc import Iterator
from decimal import Decimal

import pytest

from oraclepack.fleet.fleet_job import JobState
from oraclepack.store.budget import Budget
from oraclepack.store.postgres import PostgresDatabase
from tests.fleet.conftest import MakeWorld
from tests.fleet.dask_machines import DaskMachines, dask_machines
from tests.fleet.fleet_account import account
from tests.fleet.fleet_world import FleetWorld, until

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]
PACKS = 6
SHARED_KEY = "of all machines, which share a directory"


@pytest.fixture
def per_day() -> str:
    """US dollars for all machines together."""
    return "1000"


@pytest.fixture
def machines(make_world: MakeWorld, per_day: str) -> Iterator[DaskMachines]:
    world = make_world(ORACLEPACK_TRUST_KEY=SHARED_KEY, ORACLEPACK_BUDGET_PER_DAY=per_day)
    with dask_machines(world) as made:
        yield made


def words_of(world: FleetWorld, machines: DaskMachines, name: str = "default") -> tuple[str, ...]:
    manifest = world.manifest(*(("shop", f"docs/pack{n}.md") for n in range(1, PACKS + 1)))
    work = ("--work-dir", str(world.folder / "work" / name), "--name", name)
    there = ("--scheduler", machines.address, "--at-once", "3")
    return ("fleet", "run", str(manifest), *work, *there)


def test_two_fleets_at_once_never_exceed_the_cap(machines: DaskMachines) -> None:
    world = machines.world
    world.repository("shop", packs=PACKS)
    assert world.command("fleet", "limits", "openai", "--max-concurrent", "2") == 0
    fleets = [world.start(*words_of(world, machines, name)) for name in ("red", "blue")]
    assert [fleet.wait(200) for fleet in fleets] == [0, 0], world.log()
    assert len(world.bill()) == 2 * PACKS
    assert set(world.bill().values()) == {1}
    assert world.most_at_once() <= 2
    assert account(world) == []
    database = PostgresDatabase(world.dsn)
    spent = Budget(database).ledger().sums
    assert sum(one.spent.calls for one in spent) == 2 * PACKS, "every call is in the ledger, once"
    database.close()


@pytest.mark.parametrize("per_day", ["4"])
def test_machines_together_never_exceed_the_budget(machines: DaskMachines, per_day: str) -> None:
    """Two calls fit at their worst case of $1.79: a third is refused while they are open."""
    world = machines.world
    world.repository("shop", packs=PACKS)
    words = words_of(world, machines)
    world.hold()
    head = world.start(*words)
    until(lambda: sum(world.bill().values()) == 2, "two questions", 90)
    until(
        lambda: [job.state for job in world.jobs()].count(JobState.FAILED) == PACKS - 2,
        "all but two jobs were refused",
        90,
    )
    assert sum(world.bill().values()) == 2
    assert all("budget.per_day of $4.00" in one for one in messages(world)), messages(world)
    world.let_go()
    head.wait(120)
    database = PostgresDatabase(world.dsn)
    sums = Budget(database).ledger().sums
    database.close()
    assert sum(one.spent.calls for one in sums) == sum(world.bill().values())
    assert sum(one.spent.cost for one in sums) <= Decimal(per_day)
    assert world.most_at_once() == 2
    assert set(world.bill().values()) == {1}
    assert account(world) == []


def messages(world: FleetWorld) -> list[str]:
    return [job.summary.message for job in world.jobs() if job.state is JobState.FAILED]


def test_a_lost_machine_is_buried_and_its_calls_are_paid_again_once(machines: DaskMachines) -> None:
    world = machines.world
    world.repository("shop", packs=PACKS)
    words = words_of(world, machines)
    world.hold()
    head = world.start(*words)
    until(lambda: sum(world.bill().values()) == 3, "a question on each machine", 90)
    (lost,) = (job for job in world.jobs() if job.host == "machine1")
    machines.kill_machine("machine1")
    world.note_dead_tools()
    world.let_go()
    head.wait(200)
    states = {job.id: job.state for job in world.jobs()}
    if states[lost.id] is not JobState.UNDECIDED:  # Dask has not started it a second time
        world.command(*words, timeout=120)
        states = {job.id: job.state for job in world.jobs()}
    assert states.pop(lost.id) is JobState.UNDECIDED
    assert set(states.values()) == {JobState.DONE}
    assert max(world.bill().values()) == 1, "an expired lease frees no money"

    assert world.command("fleet", "bury", "machine1", "--because", "its disk burnt") == 0
    assert world.command(*words, "--on-unknown", "retry", timeout=120) == 0, world.log()
    assert {job.state for job in world.jobs()} == {JobState.DONE}
    assert sorted(world.bill().values()) == [1] * (2 * PACKS - 1) + [2]
    assert account(world) == []
