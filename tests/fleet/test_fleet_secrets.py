"""Who may do what in the shared store, and that no secret reaches it, a run or a log."""

import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.fleet.fleet_job import JobState
from oraclepack.fleet.fleet_run import jobs_of, sources_of
from oraclepack.fleet.fleets import Fleets
from oraclepack.fleet.postgres_jobs import PostgresJobStore
from oraclepack.fleet.shared_store import SharedStore
from oraclepack.store.database import StoreError
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.schema import migrate
from tests.fleet.fleet_account import account
from tests.fleet.fleet_world import FleetWorld, until
from tests.postgres_server import NoServerError, PostgresServer, serving_postgres

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]
PASSWORD = "canary-password-5d1f"
API_KEY = "sk-canary-key-9ab3c4d5e6f7a8b9c0d1"
LOGINS = {"ann": "worker", "bob": "worker", "eve": "observer", "root": "admin"}


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server whose logins need their password."""

    def demand_passwords(data: Path) -> None:
        rules = data / "pg_hba.conf"
        names = ",".join(LOGINS)
        rules.write_text(f"local all {names} scram-sha-256\n{rules.read_text()}")

    try:
        with serving_postgres(prepare=demand_passwords) as running:
            database = PostgresDatabase(running.dsn)
            migrate(database)
            for name, role in LOGINS.items():
                _create(database, f"create role {name} login password '{PASSWORD}'")
                _create(database, f"grant oraclepack_{role} to {name}")
            database.close()
            yield running
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be had here: {reason}")


def _create(database: PostgresDatabase, statement: str) -> None:
    database.transaction(lambda cursor: cursor.execute(statement.encode()))


@pytest.fixture
def password_file(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path_factory.mktemp("secret") / "pgpass"
    path.write_text(f"*:*:*:*:{PASSWORD}\n")
    path.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(path))
    return str(path)


def test_no_secret_is_written_anywhere(
    server: PostgresServer, password_file: str, tmp_path: Path
) -> None:
    """A worker has an API key and the password of the store; its steps get only the key."""
    more = {"PGPASSFILE": password_file, "OPENAI_API_KEY": API_KEY}
    world = FleetWorld(tmp_path, server.dsn_of("ann"), 5.0, more)
    root = world.repository("shop")
    pack = root / "docs/pack1.md"
    looks = "env | grep -E '^(PG|ORACLEPACK_STORE=)' > out/env.txt || true\n"
    pack.write_text(pack.read_text().replace("# 02)", f"{looks}# 02)"))
    database = PostgresDatabase(server.dsn_of("root"))
    (job,) = jobs_of("default", sources_of([str(pack)]))
    PostgresJobStore(database).add([job])
    try:
        assert world.worker(job, "one").wait(60) == 0, world.log("one")
        assert Fleets(server.dsn_of("eve")).status("default").jobs[0].state is JobState.DONE
        (seen,) = (tmp_path / "work").rglob("out/env.txt")
        assert seen.read_bytes() == b"", "steps do not reach the store"
        archive = PostgresJobStore(database).archive("default", job.id)
        assert archive is not None
        everything = {**tables(server), "the archive": lzma.decompress(archive)}
        for path in tmp_path.rglob("*"):
            if path.is_file() and not path.is_symlink():
                data = path.read_bytes()
                everything[str(path)] = gzip.decompress(data) if path.suffix == ".gz" else data
        leaks = [
            f"{place} has {secret}"
            for place, data in everything.items()
            for secret in (PASSWORD, API_KEY)
            if secret.encode() in data
        ]
        assert leaks == []
        assert len(everything) > 50
    finally:
        database.close()
        world.close()


def tables(server: PostgresServer) -> dict[str, bytes]:
    """Every row of the store, as text."""
    owner = PostgresDatabase(server.dsn)
    named = owner.rows("select tablename::text from pg_tables where schemaname = 'public'")
    content = {}
    for (name,) in named:
        rows: list[tuple[object, ...]] = []
        query = f"select row_to_json(t)::text from {name} as t".encode()
        owner.transaction(lambda cursor, q=query, r=rows: r.extend(cursor.execute(q).fetchall()))  # type: ignore[misc]
        content[f"table {name}"] = "\n".join(str(row[0]) for row in rows).encode()
    owner.close()
    assert len(content) > 8
    return content


def test_a_worker_cannot_settle_free_or_bury_what_another_one_holds(
    server: PostgresServer, password_file: str, tmp_path: Path
) -> None:
    assert password_file
    more = {"PGPASSFILE": password_file}
    world = FleetWorld(tmp_path, server.dsn_of("ann"), 30.0, more)
    root = PostgresDatabase(server.dsn_of("root"))
    SharedStore(root).set_limit("openai", 5, None)
    (job,) = jobs_of("default", sources_of([str(world.repository("shop") / "docs/pack1.md")]))
    PostgresJobStore(root).add([job])
    world.hold()
    worker = world.worker(job, "one")
    until(world.bill, "the first question")
    bob, eve = PostgresDatabase(server.dsn_of("bob")), PostgresDatabase(server.dsn_of("eve"))
    taken = root.rows("select state, token, runner from job")
    try:
        for statement in (
            "delete from claim",
            "update claim set holder = null",
            "delete from slot",
            "update runner set ended = unix_now()",
            "update job set state = 'done', runner = null",
            "update job set token = token + 1",
        ):
            attempt(bob, statement)
            assert held(root) == (1, 1, 0), statement
        assert root.rows("select state, token, runner from job") == taken
        for login, statement in (
            (bob, "update job set source = '{}'"),
            (bob, "update job set commit_id = 'other'"),
            (bob, "delete from job"),
            (bob, "update runner set buried = unix_now() where owner = session_user"),
            (bob, "update provider set max_in_flight = 99"),
            (bob, "update fleet_request set stop = true"),
            (eve, "update job set state = 'done'"),
            (eve, "update runner set stop = true"),
            (eve, "update provider set max_in_flight = 99"),
            (bob, "delete from answer"),
            (bob, "update answer set data = ''"),
            (bob, "insert into job (id, fleet, commit_id, source) values ('x', 'f', 'c', '{}')"),
            (bob, "insert into provider values ('openai', 99, null)"),
            (bob, "delete from verdict"),
            (eve, "delete from claim"),
            (eve, "select data from answer"),
            (eve, "insert into verdict (key, decided, by_whom, why) values ('k', 'd', 'e', 'w')"),
        ):
            with pytest.raises(StoreError, match="permission denied"):
                attempt(login, statement)
        with pytest.raises(StoreError, match="permission denied") as caught:
            SharedStore(bob).bury("two", "bob", "a worker buries nobody")
        assert "this login may not do that" in (caught.value.hint or "")
        world.let_go()
        assert worker.wait(60) == 0, world.log("one")
        assert set(world.bill().values()) == {1}
    finally:
        world.close()
        for database in (bob, eve):
            database.close()
    assert SharedStore(root).bury("one", "root", "the end of the test").calls == 0
    root.close()
    world.dsn = server.dsn
    assert account(world) == []


def attempt(database: PostgresDatabase, statement: str) -> None:
    database.transaction(lambda cursor: cursor.execute(statement.encode()))


def held(database: PostgresDatabase) -> tuple[int, ...]:
    """Held claims, taken slots and ended runners."""
    rows = database.rows(
        "select (select count(*) from claim where holder is not null),"
        " (select count(*) from slot), (select count(*) from runner where ended is not null)"
    )
    return tuple(rows[0])
