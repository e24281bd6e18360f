"""Three deliberate bugs in a copy of the program: each breaks the account of its scenario.

The true program passes the same scenario.
"""

import os
import signal

import pytest

from oraclepack.fleet.fleet_job import FleetJob, JobState
from oraclepack.fleet.fleet_run import jobs_of, sources_of
from oraclepack.fleet.postgres_jobs import PostgresJobStore
from oraclepack.store.postgres import PostgresDatabase
from tests.fleet.conftest import MakeWorld
from tests.fleet.fleet_account import account
from tests.fleet.fleet_world import FleetWorld, until
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]

Changes = tuple[tuple[str, str, str], ...]
ASYNCHRONOUS_COMMITS: Changes = (
    (
        "store/postgres.py",
        "                autocommit=True,\n",
        '                autocommit=True,\n                options="-c synchronous_commit=off",\n',
    ),
)
NO_TOKEN: Changes = (
    (
        "store/claims.py",
        "where key = %s and token = %s and holder = %s and runner_is_alive(%s)",
        "where key = %s and %s <> '' and %s <> '' and runner_is_alive(%s)",
    ),
)
FOREIGN_PID: Changes = (
    (
        "system/machine.py",
        "        return ProcessLocation.GONE\n    return ProcessLocation.ELSEWHERE",
        "        return ProcessLocation.GONE\n    return ProcessLocation.HERE",
    ),
)


def submitted(world: FleetWorld, *repositories: str) -> tuple[FleetJob, ...]:
    """One job for each repository, in the store, with no worker yet."""
    database = PostgresDatabase(world.dsn)
    packs = [str(world.repository(name) / "docs/pack1.md") for name in repositories]
    jobs = jobs_of("default", sources_of(packs))
    PostgresJobStore(database).add(jobs)
    database.close()
    return jobs


def state_of(world: FleetWorld, job: FleetJob) -> JobState:
    return next(one.state for one in world.jobs() if one.id == job.id)


def first_question_stays_undecided(world: FleetWorld, job: FleetJob) -> bool:
    """Another machine takes the job: it must not ask the question of the lost one again."""
    until(lambda: state_of(world, job) is JobState.QUEUED, "the lease ran out")
    world.worker(job, "other").wait(60)
    return state_of(world, job) is JobState.UNDECIDED and max(world.bill().values()) == 1


def assert_paid_twice(world: FleetWorld) -> None:
    wrong = account(world)
    assert any("was paid 2 times, with 0 verdicts" in one for one in wrong), wrong


def give_up_lost_machine(world: FleetWorld, job: FleetJob) -> None:
    assert world.command("fleet", "bury", "lost", "--because", "it is gone") == 0
    assert world.worker(job, "other").wait(60) == 0, world.log("other")
    assert account(world) == []


@pytest.mark.parametrize("changes", [(), FOREIGN_PID], ids=["as it is", "foreign pid is dead"])
def test_a_process_of_another_machine_is_not_known_to_be_dead(
    make_world: MakeWorld, changes: Changes
) -> None:
    world = make_world(changes)
    (job,) = submitted(world, "shop")
    world.lose_machine(job, "lost")
    is_undecided = first_question_stays_undecided(world, job)
    if changes:
        assert_paid_twice(world)
        return
    assert is_undecided, world.log("other")
    give_up_lost_machine(world, job)
    assert max(world.bill().values()) == 2


@pytest.mark.parametrize("changes", [(), ASYNCHRONOUS_COMMITS], ids=["as it is", "asynchronous"])
def test_a_crash_of_the_server_forgets_no_call(
    make_world: MakeWorld, fresh_server: PostgresServer, changes: Changes
) -> None:
    world = make_world(changes)
    (job,) = submitted(world, "shop")
    fresh_server.stop_writing_ahead()
    world.hold()
    lost = world.worker(job, "lost")
    until(world.bill, "the first question")
    fresh_server.crash()
    lost.kill()
    lost.wait()
    world.kill_tools()
    world.let_go()
    fresh_server.start()
    is_undecided = first_question_stays_undecided(world, job)
    if changes:
        assert_paid_twice(world)
        return
    assert is_undecided, world.log("other")
    give_up_lost_machine(world, job)


@pytest.mark.parametrize("changes", [(), NO_TOKEN], ids=["as it is", "gate without token"])
def test_a_runner_that_lost_its_claim_cannot_spend(make_world: MakeWorld, changes: Changes) -> None:
    """It is frozen while it waits for a slot, and wakes up when another one asks its question."""
    world = make_world(changes)
    first, job = submitted(world, "first", "shop")
    assert world.command("fleet", "limits", "openai", "--max-concurrent", "1") == 0
    world.hold()
    busy = world.worker(first, "busy")
    until(world.bill, "the slot is taken")
    zombie = world.worker(job, "zombie")
    until(lambda: slots_wanted(world) >= 2, "it waits for the slot")
    os.killpg(zombie.pid, signal.SIGSTOP)
    world.let_go()
    assert busy.wait(60) == 0, world.log("busy")
    until(lambda: state_of(world, job) is JobState.QUEUED, "the lease ran out")
    world.hold()
    paid = sum(world.bill().values())
    other = world.worker(job, "other")
    until(lambda: sum(world.bill().values()) == paid + 1, "the other one asks")
    assert world.command("fleet", "limits", "openai", "--max-concurrent", "2") == 0
    os.killpg(zombie.pid, signal.SIGCONT)
    until(lambda: zombie_is_over(world, paid), "the zombie came to its gate")
    world.let_go()
    other.wait(60)
    zombie.wait(60)
    wrong = account(world)
    if changes:
        assert any("was paid 2 times, with 0 verdicts" in one for one in wrong), wrong
        return
    assert state_of(world, job) is JobState.DONE, world.log("other") + world.log("zombie")
    assert set(world.bill().values()) == {1}
    assert wrong == []


def slots_wanted(world: FleetWorld) -> int:
    """How many calls have their claims and went on to wait for a slot, or have one."""
    database = PostgresDatabase(world.dsn)
    try:
        return int(database.rows("select count(*) from claim where state = 'asking'")[0][0])
    finally:
        database.close()


def zombie_is_over(world: FleetWorld, paid: int) -> bool:
    """Its gate was closed to it, or it has spent."""
    logs = world.folder.glob("work/zombie/**/*.stderr.log")
    refused = any("CLAIM_LOST" in path.read_text(errors="replace") for path in logs)
    return refused or sum(world.bill().values()) > paid + 1
