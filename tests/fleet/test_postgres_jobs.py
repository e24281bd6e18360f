"""Jobs in a shared database: taken once, fenced, and not by workers of another kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.errors import InputError
from oraclepack.fleet.fleet_job import FleetJob, JobSource, JobState, JobSummary, make_job
from oraclepack.fleet.job_store import FileJobStore, JobReport, JobStore
from oraclepack.fleet.postgres_jobs import PostgresJobStore
from oraclepack.fleet.shared_store import SharedStore
from oraclepack.store.database import StoreError
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.runner import Runner
from oraclepack.system.machine import Machine
from tests.postgres_server import PostgresServer, migrated_server

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with migrated_server() as running:
        yield running


class Machines:
    """Machines with a store each, as the database tells them apart."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._open: list[Runner] = []
        self.admin = PostgresDatabase(dsn)
        self.admin.rows("truncate runner, claim, verdict, job, fleet_request cascade")

    def store(self, name: str, kind: str = "") -> tuple[PostgresJobStore, Runner]:
        database = PostgresDatabase(self._dsn)
        lease = Runner(database, fingerprint=kind, machine=Machine(name, "boot"))
        self._open.append(lease)
        return PostgresJobStore(database, lease), lease

    def expire(self, lease: Runner) -> None:
        self.admin.rows(
            "update runner set lease_until = unix_now() - 1 where id = %s",
            (lease.id,),
        )

    def close(self) -> None:
        for lease in self._open:
            lease.close()
        self.admin.close()


@pytest.fixture
def machines(server: PostgresServer) -> Iterator[Machines]:
    made = Machines(server.dsn)
    yield made
    made.close()


def some_jobs(count: int = 2) -> list[FleetJob]:
    return [make_job("f", JobSource(repo="r", pack=f"{n}.md"), "a" * 40) for n in range(count)]


@pytest.mark.parametrize("kind", ["files", "database"])
def test_both_stores_keep_the_same_promises(kind: str, machines: Machines, tmp_path: Path) -> None:
    store: JobStore = FileJobStore(tmp_path)
    other: JobStore = FileJobStore(tmp_path)
    if kind == "database":
        store, other = machines.store("one")[0], machines.store("two")[0]
    jobs = some_jobs()
    store.add(jobs)
    store.add(jobs)
    assert [job.id for job in other.jobs("f")] == [job.id for job in jobs]
    assert other.fleets() == ("f",)

    taken = store.take("f", jobs[0].id)
    assert taken is not None
    assert other.take("f", jobs[0].id) is None
    assert taken.report(JobReport(summary=JobSummary(steps=2, ok=1), run_dir=str(tmp_path)))
    shown = other.jobs("f")[0]
    assert (shown.state, shown.summary.ok, shown.takes) == (JobState.RUNNING, 1, 1)
    end = JobReport(summary=JobSummary(steps=2, ok=2), state=JobState.DONE, exit_code=0)
    assert taken.report(end)
    assert other.jobs("f")[0].state is JobState.DONE
    assert other.take("f", jobs[0].id) is None, "a worker that Dask starts twice runs it once"

    again = other.take("f", jobs[1].id)
    assert again is not None
    again.release()
    assert store.jobs("f")[1].state is JobState.QUEUED
    with pytest.raises(InputError, match="no job"):
        store.take("f", "nothing")
    assert not other.is_stopping("f")
    store.request_stop("f", "ann")
    assert other.is_stopping("f")
    store.request_stop("f", "ann", stop=False)
    assert not other.is_stopping("f")


def test_a_worker_that_was_taken_for_dead_reports_nothing(machines: Machines) -> None:
    (one, lease), (two, _) = machines.store("one"), machines.store("two")
    job = some_jobs(1)[0]
    one.add([job])
    lost = one.take("f", job.id)
    assert lost is not None
    assert lost.report(JobReport(summary=JobSummary(), archive=b"run"))
    machines.expire(lease)
    assert two.jobs("f")[0].state is JobState.QUEUED

    heir = two.take("f", job.id)
    assert heir is not None
    assert heir.archive == b"run"
    late = JobReport(summary=JobSummary(), state=JobState.DONE, exit_code=0)
    assert not lost.report(late), "the zombie learns that the job is no longer its own"
    lost.release()
    assert two.jobs("f")[0].state is JobState.RUNNING


def test_workers_of_two_kinds_do_not_share_a_fleet(machines: Machines) -> None:
    (one, lease), (two, _) = machines.store("one", "kind a"), machines.store("two", "kind b")
    jobs = some_jobs()
    one.add(jobs)
    assert one.take("f", jobs[0].id) is not None
    with pytest.raises(StoreError, match="set up differently from one"):
        two.take("f", jobs[1].id)
    machines.expire(lease)
    assert two.take("f", jobs[1].id) is not None


def test_a_burial_gives_unknown_calls_up_with_a_verdict(machines: Machines) -> None:
    _, lease = machines.store("lost")
    _, living = machines.store("here")
    for key, holder in (("k1", lease), ("k2", living)):
        machines.admin.rows(
            "insert into claim (key, token, holder, state, asker, intent, asked)"
            " values (%s, '1', %s, 'asking', %s, '{\"step\": \"01\"}', unix_now())",
            (key, holder.id, holder.id),
        )
    assert SharedStore(machines.admin).unknown().calls == ()
    machines.expire(lease)
    (call,) = SharedStore(machines.admin).unknown().calls
    assert (call.key, call.host, call.step) == ("k1", "lost", "01")

    buried = SharedStore(machines.admin).bury("lost", "ann", "the VM was deleted")
    assert (buried.runners, buried.calls) == (1, 1)
    with pytest.raises(InputError, match="here is alive: 1 of its runners"):
        SharedStore(machines.admin).bury("here", "ann", "a wrong guess")

    assert SharedStore(machines.admin).unknown().calls == ()
    assert machines.admin.rows("select key, decided, by_whom, why from verdict") == [
        ("k1", "given up", "ann", "the VM was deleted")
    ]
    assert machines.admin.rows("select key from claim") == [("k2",)]
    with pytest.raises(InputError, match="no runner was ever on"):
        SharedStore(machines.admin).bury("nowhere", "ann", "x")
