"""Fleets whose machines, heads and databases die: every second payment has a verdict."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.fleet.fleet_job import FleetJob, JobState
from oraclepack.fleet.fleet_run import jobs_of, sources_of
from oraclepack.fleet.postgres_jobs import PostgresJobStore
from oraclepack.store.postgres import PostgresDatabase
from tests.fleet.fleet_account import account
from tests.fleet.fleet_world import FleetWorld, until
from tests.postgres_server import PostgresServer, migrated_server

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with migrated_server() as running:
        yield running


@pytest.fixture
def world(server: PostgresServer, tmp_path: Path) -> Iterator[FleetWorld]:
    made = FleetWorld(tmp_path, server.dsn)
    yield made
    made.close()


def submitted(world: FleetWorld, *packs: Path) -> tuple[FleetJob, ...]:
    """The jobs of packs, in the store, with no worker yet."""
    database = PostgresDatabase(world.dsn)
    jobs = jobs_of("default", sources_of([str(pack) for pack in packs]))
    PostgresJobStore(database).add(jobs)
    database.close()
    return jobs


def one_job(world: FleetWorld, steps: int = 2) -> FleetJob:
    return submitted(world, world.repository("shop", steps=steps) / "docs/pack1.md")[0]


def state_of(world: FleetWorld) -> JobState:
    return world.jobs()[0].state


def rows(world: FleetWorld, query: str) -> list[tuple[object, ...]]:
    database = PostgresDatabase(world.dsn)
    try:
        return [tuple(row) for row in database.rows(query)]
    finally:
        database.close()


def nothing_is_left(world: FleetWorld) -> None:
    assert account(world) == []


def test_a_killed_runner_is_continued_on_its_machine(world: FleetWorld) -> None:
    job = one_job(world)
    world.hold()
    first = world.worker(job, "one")
    until(world.bill, "the first question")
    first.kill()
    first.wait()
    world.let_go()
    until(lambda: state_of(world) is JobState.QUEUED, "the lease ran out")
    assert world.worker(job, "one").wait(60) == 0, world.log("one")
    assert state_of(world) is JobState.DONE
    assert set(world.bill().values()) == {1}, "the living tool was waited for"
    assert rows(world, "select * from verdict") == []
    nothing_is_left(world)


def test_a_lost_machine_leaves_unknown_calls_until_it_is_buried(world: FleetWorld) -> None:
    job = one_job(world)
    world.lose_machine(job, "lost")
    until(lambda: state_of(world) is JobState.QUEUED, "the lease ran out")

    world.worker(job, "other").wait(60)
    assert state_of(world) is JobState.UNDECIDED, world.log("other")
    assert max(world.bill().values()) == 1, "no machine asks again by itself"
    assert world.command("fleet", "unknown") == 0
    assert "`fleet bury lost` gives it up" in world.log()

    assert world.command("fleet", "bury", "lost", "--because", "the VM was deleted") == 0
    world.worker(job, "other").wait(60)
    assert state_of(world) is JobState.DONE, world.log("other")
    (again,) = (question for question, times in world.bill().items() if times > 1)
    assert again == "shop-1 question 1: why?"
    assert rows(world, "select decided, why from verdict") == [("given up", "the VM was deleted")]
    nothing_is_left(world)


def test_a_machine_that_comes_back_brings_its_answer_and_spends_nothing(world: FleetWorld) -> None:
    job = one_job(world)
    world.hold()
    frozen = world.worker(job, "frozen")
    until(world.bill, "the first question")
    os.killpg(frozen.pid, signal.SIGSTOP)
    until(lambda: state_of(world) is JobState.QUEUED, "the lease ran out")
    world.worker(job, "other").wait(60)
    assert state_of(world) is JobState.UNDECIDED

    world.let_go()
    os.killpg(frozen.pid, signal.SIGCONT)
    frozen.wait(60)

    assert set(world.bill().values()) <= {1}, world.log("frozen")
    assert state_of(world) is JobState.UNDECIDED, "its report is refused"
    world.worker(job, "other").wait(60)
    assert state_of(world) is JobState.DONE, world.log("other")
    assert set(world.bill().values()) == {1}, "its answer was in the store"
    assert rows(world, "select * from verdict") == []
    nothing_is_left(world)


@pytest.mark.parametrize("is_answered", [False, True], ids=["cut off", "answered"])
def test_a_machine_that_was_killed_and_started_again_goes_on(
    world: FleetWorld, is_answered: bool
) -> None:
    """It is known that all its processes are dead. What they were answered is harvested."""
    job = one_job(world)
    world.hold()
    runner = world.worker(job, "one")
    until(world.bill, "the first question")
    os.killpg(runner.pid, signal.SIGSTOP)  # it does not see the end of its tool
    if is_answered:
        world.let_go()
        until(lambda: "-" in (world.folder / "bill.flow").read_text(), "the tool has ended")
    else:
        world.kill_tools()
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()
    world.let_go()
    until(lambda: state_of(world) is JobState.QUEUED, "the lease ran out")
    words = ("--name", job.fleet, "--job", job.id, "--work-dir", str(world.folder / "work/one"))
    rebooted = {"ORACLEPACK_MACHINE": "one/second-boot"}
    again = world.start("fleet", "worker", *words, machine="one", more=rebooted)
    assert again.wait(60) == 0, world.log("one")
    assert state_of(world) is JobState.DONE
    assert sorted(world.bill().values()) == ([1, 1] if is_answered else [1, 2])
    nothing_is_left(world)


def test_a_database_that_crashes_forgets_nothing(world: FleetWorld, server: PostgresServer) -> None:
    job = one_job(world, steps=4)
    world.hold()
    runner = world.worker(job, "one")
    until(world.bill, "the first question")
    server.stop("immediate")
    world.let_go()
    server.start()
    runner.wait(90)
    if state_of(world) is not JobState.DONE:
        until(lambda: state_of(world) is not JobState.RUNNING, "the runner ended")
        world.worker(job, "one").wait(60)
    assert state_of(world) is JobState.DONE, world.log("one")
    assert set(world.bill().values()) == {1}
    nothing_is_left(world)


def test_two_fleets_at_once_pay_once(world: FleetWorld) -> None:
    world.repository("shop", packs=2)
    manifest = world.manifest(("shop", "docs/pack1.md"), ("shop", "docs/pack2.md"))
    fleets = [
        world.start(
            *("fleet", "run", str(manifest), "--name", name),
            *("--work-dir", str(world.folder / "work" / name)),
            machine=name,
        )
        for name in ("red", "blue")
    ]
    assert [fleet.wait(120) for fleet in fleets] == [0, 0], world.log("red") + world.log("blue")
    assert len(world.bill()) == 4
    assert set(world.bill().values()) == {1}
    nothing_is_left(world)


def test_a_second_head_of_a_fleet_waits_for_the_jobs_of_the_first(world: FleetWorld) -> None:
    world.repository("shop", packs=2)
    manifest = world.manifest(("shop", "docs/pack1.md"), ("shop", "docs/pack2.md"))
    words = ("fleet", "run", str(manifest), "--work-dir", str(world.folder / "work"))
    world.hold()
    first = world.start(*words, machine="red")
    until(lambda: len(world.bill()) == 2, "two questions")
    second = world.start(*words, machine="blue")
    until(lambda: "another worker runs it" in logs_of(world, "blue"), "its workers find them taken")
    world.let_go()
    assert [first.wait(120), second.wait(120)] == [0, 0], world.log("red") + world.log("blue")
    assert set(world.bill().values()) == {1}
    nothing_is_left(world)


def logs_of(world: FleetWorld, machine: str) -> str:
    """What the workers of a head have printed."""
    logs = (world.folder / "homes" / machine).rglob("fleet-logs/*/*.log")
    return "".join(path.read_text() for path in logs)


def test_a_killed_head_leaves_its_runners_at_work(world: FleetWorld) -> None:
    world.repository("shop", packs=2)
    manifest = world.manifest(("shop", "docs/pack1.md"), ("shop", "docs/pack2.md"))
    words = ("fleet", "run", str(manifest), "--work-dir", str(world.folder / "work"))
    world.hold()
    head = world.start(*words)
    until(lambda: len(world.bill()) == 2, "two questions")
    head.kill()
    head.wait()
    world.let_go()
    until(lambda: {job.state for job in world.jobs()} == {JobState.DONE}, "the runners ended", 60)
    assert world.command(*words) == 0
    assert set(world.bill().values()) == {1}


def test_stop_is_polite_and_goes_through_the_store(world: FleetWorld) -> None:
    job = one_job(world)
    world.hold()
    runner = world.worker(job, "one")
    until(world.bill, "the first question")
    assert world.command("fleet", "stop") == 0
    journals = world.folder.rglob
    until(
        lambda: any("calls_awaited" in one.read_text() for one in journals("journal.jsonl")),
        "the stop that waits for the call",
    )
    world.let_go()
    runner.wait(60)
    assert state_of(world) is JobState.STOPPED, world.log("one")
    assert set(world.bill().values()) == {1}


@pytest.fixture
def dask(world: FleetWorld) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and three workers as processes, each worker a machine of its own."""
    address_file = world.folder / "scheduler.json"
    log = (world.folder / "dask.log").open("ab")

    def start(machine: str, program: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", program, "--scheduler-file", str(address_file), *words],
            env=world.env(machine),
            cwd=world.folder,
            stdout=log,
            stderr=log,
        )

    local = ("--host", "127.0.0.1", "--no-dashboard")
    processes = [start("head", "distributed.cli.dask_scheduler", *local, "--port", "0")]
    until(address_file.exists, "the scheduler started")
    offer = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--resources", "packs=1")
    processes += [
        start(f"machine{number}", "distributed.cli.dask_worker", *offer) for number in range(3)
    ]
    until(lambda: address_file.read_text().strip().endswith("}"), "the address")
    yield json.loads(address_file.read_text())["address"], processes
    for process in processes:
        process.kill()
        process.wait()
    log.close()


def test_real_dask_with_a_killed_worker_and_a_killed_scheduler(
    world: FleetWorld, dask: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, (scheduler, worker, *_) = dask
    world.repository("shop", packs=6)
    manifest = world.manifest(*(("shop", f"docs/pack{n}.md") for n in range(1, 7)))
    words = ("fleet", "run", str(manifest), "--work-dir", str(world.folder / "work"))
    until(
        lambda: (
            "machine2" in str(world.env("machine2"))
            and (world.folder / "dask.log").read_text().count("Registered to") >= 3
        ),
        "three workers",
        60,
    )
    world.hold()
    head = world.start(*words, "--scheduler", address, "--at-once", "3")
    until(lambda: len(world.bill()) == 3, "a question on each machine", 60)
    worker.kill()  # its runner is a process of its own
    world.let_go()
    until(lambda: sum(job.state is JobState.DONE for job in world.jobs()) >= 3, "half of it", 60)
    scheduler.kill()
    until(lambda: head.poll() is not None or len(world.bill()) == 12, "the head noticed", 60)
    head.kill()
    head.wait()
    until(lambda: all(job.state is not JobState.RUNNING for job in world.jobs()), "quiet", 60)

    assert world.command(*words) == 0, world.log()
    assert {job.state for job in world.jobs()} == {JobState.DONE}
    assert len(world.bill()) == 12
    assert set(world.bill().values()) == {1}
    nothing_is_left(world)
