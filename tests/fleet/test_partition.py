"""Real Dask on machines with networks of their own, one of which is cut off and comes back.

The database is reached over TCP with TLS; the test starts it, and makes its certificate.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.fleet.fleet_job import JobState
from oraclepack.fleet.shared_store import SharedStore
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.schema import migrate
from tests.fleet.dask_machines import dask_machines
from tests.fleet.fleet_account import account
from tests.fleet.fleet_world import FleetWorld, until
from tests.fleet.namespaces import HEAD, Namespace, NoNamespacesError, namespaces
from tests.postgres_server import NoServerError, PostgresServer, serving_postgres

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]
PACKS = 4


@pytest.fixture
def machines() -> Iterator[list[Namespace]]:
    try:
        with namespaces(3) as made:
            yield made
    except NoNamespacesError as reason:
        pytest.skip(f"network namespaces cannot be made here: {reason}")


@pytest.fixture
def server(machines: list[Namespace]) -> Iterator[PostgresServer]:
    """A server that takes encrypted connections of the machines."""
    assert machines
    try:
        with serving_postgres(f"-c listen_addresses={HEAD} -c ssl=on", prepare=_certify) as running:
            yield running
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be had here: {reason}")


def _certify(data: Path) -> None:
    key, certificate = data / "server.key", data / "server.crt"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", f"/CN={HEAD}", "-addext", f"subjectAltName=IP:{HEAD}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    key.chmod(0o600)
    with (data / "pg_hba.conf").open("a") as rules:
        rules.write("hostssl all all 10.77.0.0/16 trust\n")


@pytest.fixture
def world(server: PostgresServer, tmp_path: Path) -> Iterator[FleetWorld]:
    certificate = tmp_path / "root.crt"
    certificate.write_bytes((server.data / "server.crt").read_bytes())
    dsn = f"postgresql://owner@{HEAD}/postgres?sslmode=verify-full&sslrootcert={certificate}"
    database = PostgresDatabase(dsn)
    migrate(database)
    checks = SharedStore(database).examine().checks
    encryption = next(one for one in checks if one.name == "encryption")
    assert (encryption.ok, encryption.value) == (True, "TLS")
    database.close()
    key = {"ORACLEPACK_TRUST_KEY": "of all machines, which share a directory"}
    made = FleetWorld(tmp_path, dsn, 4.0, key)
    yield made
    made.close()


def test_a_machine_that_is_cut_off_and_comes_back_pays_nothing_twice(
    world: FleetWorld, machines: list[Namespace]
) -> None:
    world.repository("shop", packs=PACKS)
    manifest = world.manifest(*(("shop", f"docs/pack{n}.md") for n in range(1, PACKS + 1)))
    inside = [one.inside for one in machines]
    hosts = [one.address for one in machines]
    with dask_machines(world, host=HEAD, inside=inside, hosts=hosts) as dask:
        there = ("--scheduler", dask.address, "--at-once", "3")
        words = ("fleet", "run", str(manifest), "--work-dir", str(world.folder / "work"), *there)
        assert world.command(*words) == 2, "a scheduler without TLS beyond this machine is refused"
        assert "--insecure" in world.log()
        world.hold()
        head = world.start(*words, "--insecure")
        until(lambda: sum(world.bill().values()) == 3, "a question on each machine", 90)
        (cut,) = (job for job in world.jobs() if job.host == "machine1")
        machines[1].cut_off()
        world.let_go()  # the machine that is cut off gets its answer too
        flow = world.folder / "bill.flow"
        until(lambda: flow.read_text().count("-") >= 3, "the answers")
        until(lambda: state_of(world, cut.id) is not JobState.RUNNING, "its lease ran out", 60)
        others = [job.id for job in world.jobs() if job.id != cut.id]
        until(
            lambda: all(state_of(world, one) is JobState.DONE for one in others),
            "the other machines go on",
            90,
        )
        paid = world.bill()
        assert set(paid.values()) == {1}
        machines[1].connect()
        until(lambda: not world.runners(), "the machine brought what it had", 90)
        head.kill()
        head.wait()
        assert world.command(*words, "--insecure", timeout=120) == 0, world.log()
    assert {job.state for job in world.jobs()} == {JobState.DONE}
    assert len(world.bill()) == 2 * PACKS
    assert set(world.bill().values()) == {1}, "and nobody decided anything"
    assert account(world) == []


def state_of(world: FleetWorld, job_id: str) -> JobState:
    return next(job.state for job in world.jobs() if job.id == job_id)
