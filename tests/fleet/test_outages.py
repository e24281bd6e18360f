"""Real Dask on three machines while the database hangs, dies or stays away."""

from collections.abc import Iterator

import pytest

from oraclepack.fleet.fleet_job import JobState
from tests.fleet.conftest import MakeWorld
from tests.fleet.dask_machines import DaskMachines, dask_machines
from tests.fleet.fleet_account import account
from tests.fleet.fleet_world import FleetWorld, until
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]
PACKS = 6


class Fleet:
    """Six packs with two questions each, on three machines."""

    def __init__(self, world: FleetWorld, machines: DaskMachines) -> None:
        self.world = world
        self.machines = machines
        world.repository("shop", packs=PACKS)
        manifest = world.manifest(*(("shop", f"docs/pack{n}.md") for n in range(1, PACKS + 1)))
        work = ("--work-dir", str(world.folder / "work"))
        there = ("--scheduler", machines.address, "--at-once", "3")
        self.words = ("fleet", "run", str(manifest), *work, *there)

    @property
    def states(self) -> set[JobState]:
        return {job.state for job in self.world.jobs()}

    @property
    def paid(self) -> int:
        return sum(self.world.bill().values())


@pytest.fixture
def lease() -> float:
    return 3.0


@pytest.fixture
def fleet(make_world: MakeWorld, lease: float) -> Iterator[Fleet]:
    key = {"ORACLEPACK_TRUST_KEY": "of all machines, which share a directory"}
    world = make_world(lease=lease, **key)
    with dask_machines(world) as machines:
        yield Fleet(world, machines)


@pytest.mark.parametrize("lease", [30.0])
@pytest.mark.parametrize("outage", ["hangs", "crashes"])
def test_a_short_outage_is_waited_for(
    fleet: Fleet, fresh_server: PostgresServer, outage: str
) -> None:
    world = fleet.world
    world.hold()
    head = world.start(*fleet.words)
    until(lambda: fleet.paid == 3, "a question on each machine", 90)
    if outage == "hangs":
        fresh_server.freeze()
    else:
        fresh_server.crash()
    world.let_go()  # the three answers arrive, and more would be asked
    until(lambda: (world.folder / "bill.flow").read_text().count("-") == 3, "three answers")
    assert fleet.paid == 3, "nothing is asked without the store"
    if outage == "hangs":
        fresh_server.thaw()
    else:
        fresh_server.start()
    head.wait(150)
    if fleet.states != {JobState.DONE}:  # the head itself may have given up
        assert world.command(*fleet.words, timeout=120) == 0, world.log()
    assert fleet.states == {JobState.DONE}
    assert set(world.bill().values()) == {1}
    assert len(world.bill()) == 2 * PACKS
    assert account(world) == []


def test_a_long_outage_ends_steps_and_the_next_fleet_goes_on(
    fleet: Fleet, fresh_server: PostgresServer
) -> None:
    world = fleet.world
    world.hold()
    head = world.start(*fleet.words)
    until(lambda: fleet.paid == 3, "a question on each machine", 90)
    fresh_server.crash()
    world.let_go()
    head.wait(120)
    until(lambda: not world.runners(), "all runners have given up", 120)
    assert fleet.paid == 3, "nothing is asked without the store"
    fresh_server.start()
    assert world.command(*fleet.words, timeout=120) == 0, world.log()
    assert fleet.states == {JobState.DONE}
    assert set(world.bill().values()) == {1}
    assert len(world.bill()) == 2 * PACKS
    assert account(world) == []
