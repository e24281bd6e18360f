"""What only the store of a fleet has: leases, burials, logins, outages, versions."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from psycopg import sql

from oraclepack.calls.cache import GOOD, CacheEntry
from oraclepack.calls.file_store import project_cache
from oraclepack.calls.fleet_store import SharedAnswers, fleet_store
from oraclepack.calls.handler import CallHandler
from oraclepack.errors import InputError, UsageError
from oraclepack.fleet.shared_store import SharedStore
from oraclepack.journal.events import InvocationIntent
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store import runner as runners
from oraclepack.store.budget import Budget
from oraclepack.store.claims import Claim, ClaimLostError, Claims
from oraclepack.store.database import Cursor, StoreError
from oraclepack.store.limits import Limit, Limits
from oraclepack.store.postgres import PostgresDatabase as Database
from oraclepack.store.postgres import check_dsn
from oraclepack.store.schema import ROLES, SCHEMA_VERSION, check_version, migrate
from oraclepack.store.spending import (
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    UnknownPricePolicy,
)
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.digests import canonical_line, sha256_bytes
from oraclepack.system.machine import Machine, this_machine
from tests.calls.office import ANSWER, Office, ScriptedShim, answering
from tests.cli.answers import answer
from tests.postgres_server import PostgresServer, serving_postgres

pytestmark = pytest.mark.heavy
KEY = "a" * 64
ELSEWHERE = Machine("another", "boot")


def never(_: float) -> bool:
    return False


def an_intent(because: str = "", *, started: bool = True) -> InvocationIntent:
    process = ProcessIdentity(pid=4711, start_time="1", machine=ELSEWHERE) if started else None
    return InvocationIntent(
        step="01", attempt=1, call=1, tool="oracle", key=KEY, process=process, because=because
    )


class Runner:
    """A command on a machine of its own, as the store sees it."""

    def __init__(self, server: PostgresServer, machine: Machine, seconds: float = 60.0) -> None:
        self.database = Database(server.dsn)
        self.lease = runners.Runner(self.database, seconds=seconds, machine=machine)
        _ = self.lease.id  # it has a row from now on
        self.claims = Claims(self.database, self.lease)
        self.limits = Limits(self.database, self.lease)

    def claim(self, key: str = KEY) -> Claim | None:
        return self.claims.acquire(key, never)

    def claimed(self, key: str = KEY) -> Claim:
        claim = self.claim(key)
        assert claim is not None
        return claim

    def lose_lease(self) -> None:
        """As a frozen machine does: the process is there, and its lease has run out."""
        self.database.rows(
            "update runner set lease_until = unix_now() - 1 where id = %s",
            (self.lease.id,),
        )


@pytest.fixture
def runner(server: PostgresServer, database: Database) -> Iterator[Callable[..., Runner]]:
    made: list[Runner] = []

    def make(name: str = "here", seconds: float = 60.0) -> Runner:
        machine = this_machine() if name == "here" else Machine(name, "boot")
        made.append(Runner(server, machine, seconds))
        return made[-1]

    yield make
    for one in made:
        one.lease.close()


Make = Callable[..., Runner]


def test_an_expired_lease_frees_what_is_held(runner: Make) -> None:
    one, two = runner("one"), runner("two")
    lost = one.claimed()
    lost.note(an_intent(started=False))
    one.lose_lease()

    assert two.claimed().open_call is None, "no tool was started, so nothing was paid for"
    with pytest.raises(ClaimLostError):
        lost.note(an_intent())


def test_an_expired_lease_never_frees_money(runner: Make, database: Database) -> None:
    one, two, three = runner("one"), runner("two"), runner("three")
    zombie = one.claimed()
    zombie.note(an_intent())
    one.lose_lease()

    heir = two.claimed()
    assert heir.open_call == an_intent(), "the next one knows of the call"
    heir.release()
    assert three.claimed().open_call == an_intent(), "and it stays known until it is decided"

    zombie.settle()
    zombie.release()
    assert database.rows("select state from claim") == [("asking",)], "the zombie frees nothing"


def test_a_second_payment_has_a_verdict(runner: Make, database: Database) -> None:
    one, two = runner("one"), runner("two")
    one.claimed().note(an_intent())
    one.lose_lease()
    again = two.claimed()
    again.note(an_intent("--on-unknown retry"))
    again.note(an_intent("--on-unknown retry"))  # a second try of the same call
    again.settle()

    assert database.rows("select asker, by_whom, why from verdict")[0] == (
        one.lease.id,
        two.lease.id,
        "--on-unknown retry",
    )
    assert database.rows("select count(*) from claim") == [(0,)]


def test_a_buried_runner_can_bring_answers_but_not_spend(
    runner: Make, database: Database, tmp_path: Path
) -> None:
    one = runner("one")
    held = one.claimed()
    database.rows("update runner set buried = unix_now() where id = %s", (one.lease.id,))
    with pytest.raises(ClaimLostError):
        held.note(an_intent())
    answers_of(one, tmp_path).put(an_entry(b"late\n"), b"late\n")
    assert stored(one, tmp_path) == b"late\n"


def answers_of(one: Runner, root: Path, *, refresh: bool = False) -> SharedAnswers:
    return SharedAnswers(one.database, project_cache(root), one.lease, refresh=refresh)


def an_entry(data: bytes) -> CacheEntry:
    return CacheEntry(
        key=KEY,
        parts={"prompt": "p"},
        sha256=sha256_bytes(data),
        bytes=len(data),
        stored_at="2026-03-01T00:00:00Z",
    )


def stored(one: Runner, root: Path) -> bytes:
    lookup = answers_of(one, root).get(KEY)
    assert lookup is not None
    assert lookup.state == GOOD
    return lookup.data


def test_the_first_answer_of_a_generation_stays(runner: Make, tmp_path: Path) -> None:
    one = runner("one")
    assert answers_of(one, tmp_path).get(KEY) is None
    for data in (b"first\n", b"second\n"):
        answers_of(one, tmp_path).put(an_entry(data), data)
    assert stored(one, tmp_path) == b"first\n"
    answers_of(one, tmp_path, refresh=True).put(an_entry(b"new\n"), b"new\n")
    answers_of(one, tmp_path).put(an_entry(b"late\n"), b"late\n")
    assert stored(one, tmp_path) == b"new\n"
    assert [entry.state for entry in answers_of(one, tmp_path).entries()] == [GOOD]


def test_no_more_slots_than_the_strictest_limit(runner: Make, database: Database) -> None:
    one, two = runner("one"), runner("two")
    database.rows("insert into provider values ('openai', 2, null)")
    limit = Limit(max_concurrent=3)
    slots = [one.limits.acquire("openai", limit, never), two.limits.acquire("openai", limit, never)]
    assert None not in slots
    assert two.limits.acquire("openai", limit, never) is None
    assert two.limits.acquire("xai", Limit(max_concurrent=1), never) is not None
    assert slots[0] is not None
    slots[0].release()
    assert two.limits.acquire("openai", limit, never) is not None


def test_a_slot_of_a_frozen_runner_stays_taken(runner: Make, database: Database) -> None:
    """Its call goes on: freeing the slot would exceed the limit."""
    one, two = runner("one"), runner("two")
    limit = Limit(max_concurrent=1)
    assert one.limits.acquire("openai", limit, never) is not None
    one.lose_lease()
    assert two.limits.acquire("openai", limit, never) is None
    database.rows("update slot set until = unix_now() - 1")
    assert two.limits.acquire("openai", limit, never) is not None


@pytest.mark.parametrize("end", ["ended", "buried"])
def test_a_slot_of_a_runner_that_is_over_is_free(
    runner: Make, database: Database, end: str
) -> None:
    one, two = runner("one"), runner("two")
    limit = Limit(max_concurrent=1)
    assert one.limits.acquire("openai", limit, never) is not None
    column = "ended" if end == "ended" else "buried"
    database.transaction(lambda cursor: cursor.execute(f"update runner set {column} = unix_now()"))
    assert two.limits.acquire("openai", limit, never) is not None


def test_no_minute_sees_more_requests_than_allowed(runner: Make, database: Database) -> None:
    one, two = runner("one"), runner("two")
    limit = Limit(requests_per_minute=2)
    assert one.limits.acquire("openai", limit, never) is not None
    assert two.limits.acquire("openai", limit, never) is not None
    assert one.limits.acquire("openai", limit, never) is None
    database.rows("update request_start set at = at - 61")
    assert one.limits.acquire("openai", limit, never) is not None


HOLDER = """
import sys
from oraclepack.store.limits import Limit
from tests.store.test_postgres import Runner, never, this_machine
class Server: dsn = sys.argv[1]
one = Runner(Server, this_machine())
one.limits.acquire("openai", Limit(max_concurrent=1), never)
one.claimed()
print("held", flush=True)
sys.stdin.read()
"""


def test_what_a_killed_runner_held_is_free_on_its_machine_before_its_lease_ends(
    server: PostgresServer, runner: Make
) -> None:
    two = runner("here")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, server.dsn],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        limit = Limit(max_concurrent=1)
        assert two.limits.acquire("openai", limit, never) is None
        holder.kill()
    deadline = time.monotonic() + 10

    def pause(seconds: float) -> bool:
        time.sleep(min(seconds, 0.1))
        return time.monotonic() < deadline

    assert two.limits.acquire("openai", limit, pause) is not None
    assert two.claims.acquire(KEY, pause) is not None


def test_a_login_changes_only_its_own_claims(server: PostgresServer, database: Database) -> None:
    for name in ("ann", "bob"):
        database.transaction(
            lambda cursor, name=name: cursor.execute(  # type: ignore[misc]
                f"drop role if exists {name}; create role {name} login; "
                f"grant oraclepack_worker to {name}"
            )
        )
    ann, bob = Database(server.dsn_of("ann")), Database(server.dsn_of("bob"))
    lease = runners.Runner(ann, machine=ELSEWHERE)
    held = Claims(ann, lease).acquire(KEY, never)
    assert held is not None
    bob.rows("delete from claim")
    bob.rows("update runner set ended = unix_now()")
    with pytest.raises(StoreError, match="permission denied"):
        bob.rows("update runner set buried = unix_now()")
    assert database.rows("select count(*) from claim") == [(1,)]
    held.note(an_intent())
    with pytest.raises(StoreError, match="permission denied"):
        bob.rows("delete from answer")
    lease.close()
    bob.close()


def test_a_hanging_server_is_given_up_and_nothing_is_asked(
    server: PostgresServer, runner: Make
) -> None:
    one = runner("one")
    claim = one.claimed()
    one.database._watchdog.patience = 0.5
    backend = one.database.rows("select pg_backend_pid()")[0][0]
    os.kill(backend, signal.SIGSTOP)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        one.database._dsn += "&connect_timeout=2"
        with pytest.raises(StoreError, match="cannot be reached"):
            claim.note(an_intent())
    finally:
        os.kill(server.pid, signal.SIGCONT)
        os.kill(backend, signal.SIGCONT)
    one.database._watchdog.patience = 30
    claim.note(an_intent())


def test_a_frozen_client_does_not_keep_its_locks(server: PostgresServer) -> None:
    """A process that is stopped in a transaction would keep all others from their slots."""
    frozen, other = Database(server.dsn), Database(server.dsn)
    holds, goes_on = threading.Event(), threading.Event()
    tries = []

    def work(cursor: Cursor) -> None:
        cursor.execute("select pg_advisory_xact_lock(1)")
        tries.append(1)
        if len(tries) == 1:
            holds.set()
            goes_on.wait(20)
        cursor.execute("select 1")

    thread = threading.Thread(target=lambda: frozen.transaction(work))
    thread.start()
    assert holds.wait(10)
    began = time.monotonic()
    other.rows("select pg_advisory_xact_lock(1)")
    assert time.monotonic() - began < 15
    goes_on.set()
    thread.join(20)
    assert len(tries) == 2, "its transaction was rolled back, and is made again"
    frozen.close()
    other.close()


@pytest.mark.parametrize("part", ["/postgres?", "user=owner"])
def test_a_wrong_login_or_database_is_named(server: PostgresServer, part: str) -> None:
    wrong = {"/postgres?": "/nowhere?", "user=owner": "user=nobody"}
    database = Database(server.dsn.replace(part, wrong[part]))
    with pytest.raises(StoreError, match="does not exist") as caught:
        database.rows("select 1")
    assert "correct the database and the login" in (caught.value.hint or "")


def test_calls_of_a_run_share_answers_through_the_database(
    server: PostgresServer, database: Database, tmp_path: Path
) -> None:
    shims = []
    for name in ("one", "two"):
        office = Office(tmp_path / name)
        shim = ScriptedShim(answering())
        shims.append(shim)
        with fleet_store(server.dsn, office.root, office.context.run_dir) as store:
            office.calls = CallHandler(replace(office.context, store=store))
            assert office.call(shim) == 0
        assert office.out() == ANSWER
    assert [len(shim.orders) for shim in shims] == [1, 0]
    assert database.rows("select count(*) from claim") == [(0,)]
    assert database.rows("select count(*) from runner where ended is null") == [(0,)]


def test_machines_share_one_budget(server: PostgresServer, database: Database) -> None:
    """Forty calls of a dollar by four machines at once, with ten dollars for the day."""
    ceilings = {BudgetScope.DAY: Ceiling(cost=Decimal(10))}
    made: list[str] = []
    refused: list[Shortfall] = []

    def spend(machine: int) -> None:
        own = Database(server.dsn)
        runner = runners.Runner(own, machine=Machine(f"m{machine}", "boot"))
        budget = Budget(own, runner)
        for number in range(10):
            name = f"{machine}-{number}"
            request = BudgetRequest(
                reservation=name,
                command="",
                run=f"run-{machine}",
                day="2026-11-17",
                worst=Spending(Decimal(1), 1, 100),
            )
            short = budget.reserve(request, ceilings, UnknownPricePolicy.REFUSE)
            if short is not None:
                refused.append(short)
                continue
            assert budget.open(name)
            budget.settle(name, Spending(Decimal(1), 1, 100))
            budget.settle(name, Spending(Decimal(1), 1, 100))
            made.append(name)
        runner.close()

    threads = [threading.Thread(target=spend, args=(machine,)) for machine in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = Budget(database).ledger()
    assert (len(made), len(refused)) == (10, 30)
    assert sum(one.spent.cost for one in ledger.sums) == Decimal(10)
    assert ledger.reservations == {}


def test_two_inits_at_once(server: PostgresServer) -> None:
    admin = Database(server.dsn)
    admin.transaction(
        lambda cursor: cursor.execute("drop schema public cascade; create schema public")
    )
    found: list[tuple[int, int]] = []

    def init() -> None:
        database = Database(server.dsn)
        found.append(migrate(database))
        database.close()

    threads = [threading.Thread(target=init) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {after for _, after in found} == {SCHEMA_VERSION}
    check_version(admin)
    admin.close()


USER = {"used_plan", "answer_figures", "listing"}
"""Tables that only the store of one user has."""
LEDGER = """{"sha256":"","ledger":{"version":1,"sums":[
{"command":"","run":"","day":"2026-11-16","fleet":"f","spent":{"cost":"0.1","calls":1,"tokens":9}},
{"command":"","run":"x","day":"2026-11-16","fleet":"f","spent":{"cost":"0.25","calls":1,"tokens":9}}
],"reservations":{
"c#1":{"command":"c","run":"r","day":"2026-11-16","at":"","is_open":true,"is_cut_off":false,
"fleet":"","worst":{"cost":"0.75","calls":1,"tokens":100}},
"c#2":{"command":"c","run":"r","day":"2026-11-16","at":"","is_open":false,"is_cut_off":false,
"fleet":"","worst":{"cost":"5","calls":1,"tokens":100}}}}}"""


def columns(database: Database) -> dict[str, set[str]]:
    """The columns of every table."""
    found: dict[str, set[str]] = {}
    for table, column in database.rows(
        "select table_name::text, column_name::text from information_schema.columns"
        " where table_schema = 'public'"
    ):
        found.setdefault(table, set()).add(column)
    return found


def sqlite_columns(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table, column in SqliteDatabase(folder).rows(
        "select one.name, two.name from sqlite_schema as one, pragma_table_info(one.name) as two"
        " where one.type = 'table'"
    ):
        found.setdefault(table, set()).add(column)
    return found


def drop_all(database: Database) -> None:
    database.transaction(
        lambda cursor: cursor.execute("drop schema public cascade; create schema public")
    )


def test_a_store_of_the_first_version_is_upgraded_with_its_rows(
    database: Database, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    first = Path(__file__).with_name("postgres_version_1.sql").read_bytes()
    database.transaction(
        lambda cursor: cursor.execute("drop schema public cascade; create schema public")
    )
    request.addfinalizer(lambda: migrate(database))
    database.transaction(lambda cursor: cursor.execute(first))
    database.rows("insert into schema_version (version) values (1)")
    database.rows("insert into provider values ('openai', 3, null)")
    database.rows(
        "insert into runner (id, host, boot, pid, start_time, version, lease_until)"
        " values ('r', 'h', 'b', 1, '1', '0.2.0', clock_timestamp())"
    )
    intent = canonical_line(an_intent()).decode()
    database.rows(
        "insert into claim (key, token, state, asker, intent, asked)"
        " values (%s, 7, 'asking', 'r', %s, clock_timestamp())",
        (KEY, intent),
    )
    database.rows("insert into budget_ledger (content) values (%s)", (LEDGER,))
    with pytest.raises(StoreError, match=f"has version 1, this oraclepack needs {SCHEMA_VERSION}"):
        check_version(database)

    assert migrate(database) == (1, SCHEMA_VERSION)

    check_version(database)
    assert database.rows("select max_in_flight from provider") == [(3,)]
    runner = runners.Runner(database, machine=ELSEWHERE)
    claim = Claims(database, runner).acquire(KEY, never)
    assert claim is not None
    assert claim.open_call == an_intent()
    ledger = Budget(database).ledger()
    assert [(one.day, one.fleet, one.spent.cost) for one in ledger.sums] == [
        ("2026-11-16", "f", Decimal("0.35"))
    ]
    assert {name: one.worst.cost for name, one in ledger.reservations.items()} == {
        "c#1": Decimal("0.75")
    }
    runner.close()
    upgraded = columns(database)
    drop_all(database)
    migrate(database)
    assert columns(database) == upgraded, "as in a new one"
    own = {name: found - {"owner"} for name, found in upgraded.items()}
    assert (
        own.items()
        >= {name: one for name, one in sqlite_columns(tmp_path).items() if name not in USER}.items()
    )
    database.rows("insert into schema_version (version) values (99)")
    with pytest.raises(StoreError, match="has version 99"):
        check_version(database)
    database.rows("delete from schema_version where version = 99")


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        pytest.param("postgresql:///packs", None, id="local socket"),
        pytest.param("postgresql://127.0.0.1/packs", None, id="loopback"),
        pytest.param("postgresql://db/packs?sslmode=verify-full", None, id="encrypted"),
        pytest.param("postgresql://db/packs", "not encrypted", id="open"),
        pytest.param("postgresql:///packs?hostaddr=10.0.0.9", "not encrypted", id="open by number"),
        pytest.param("postgresql://db?sslmode=prefer", "not encrypted", id="perhaps encrypted"),
        pytest.param("postgresql://a,db/packs", "not encrypted", id="one of several"),
        pytest.param("postgresql://me:pw@127.0.0.1/packs", "password", id="password in it"),
        pytest.param("redis://x", "no connection string", id="another kind of store"),
    ],
)
def test_check_dsn(dsn: str, expected: str | None) -> None:
    if expected is None:
        check_dsn(dsn)
    else:
        with pytest.raises(UsageError, match=expected):
            check_dsn(dsn)


def test_a_malformed_connection_string_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        check_dsn("postgresql://me:hunter2@[::1/packs")
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("is_refused", [False, True], ids=["stored later", "refused later"])
def test_an_answer_that_came_during_an_outage_is_stored_before_its_claim_ends(
    tmp_path: Path, is_refused: bool
) -> None:
    with serving_postgres() as server:
        owner = Database(server.dsn)
        migrate(owner)
        one = Runner(server, ELSEWHERE)
        claim = one.claimed()
        claim.note(an_intent())
        server.crash()
        with pytest.raises(StoreError, match="cannot be reached"):
            answers_of(one, tmp_path).put(an_entry(b"late\n"), b"late\n")
        claim.settle()
        claim.release()
        server.start()
        assert owner.rows("select state from claim") == [("asking",)]
        if is_refused:
            owner.rows("alter table answer rename to hidden_answer")
        one.lease.close()
        if is_refused:
            owner.rows("alter table hidden_answer rename to answer")
        answers = owner.rows("select data from answer")
        claims = owner.rows("select state, holder from claim")
        owner.close()
    assert answers == ([] if is_refused else [(b"late\n",)])
    assert claims == ([("asking", None)] if is_refused else [])


@pytest.mark.parametrize("is_refused", [False, True], ids=["stored", "refused"])
def test_a_claim_ends_only_with_its_answer_in_the_store(
    runner: Make, database: Database, tmp_path: Path, is_refused: bool
) -> None:
    one = runner("one")
    claim = one.claimed()
    claim.note(an_intent())
    if is_refused:
        database.rows("alter table answer rename to hidden_answer")
    try:
        with pytest.raises(StoreError) if is_refused else nullcontext():
            answers_of(one, tmp_path).put(an_entry(b"yes\n"), b"yes\n")
        claim.settle()
        claim.release()
    finally:
        if is_refused:
            database.rows("alter table hidden_answer rename to answer")
    assert len(database.rows("select key from claim")) == int(is_refused)


def test_two_machines_with_one_given_name_are_noticed(
    server: PostgresServer, database: Database
) -> None:
    one = Runner(server, Machine("same", "boot", id="same"))
    twin = Database(server.dsn)
    other = Machine("same", "another boot", id="same")
    with pytest.raises(StoreError, match="another machine that is called same"):
        _ = runners.Runner(twin, machine=other).id
    one.lose_lease()
    again = runners.Runner(twin, machine=other)
    _ = again.id
    again.close()
    one.lease.close()


@pytest.mark.parametrize(
    "machine_id",
    [
        pytest.param("f" * 16, id="a copy of this machine"),
        pytest.param("", id="a machine of this name, recorded by 0.2"),
    ],
)
def test_a_frozen_machine_of_the_same_name_is_not_taken_for_ended(
    server: PostgresServer, runner: Make, database: Database, machine_id: str
) -> None:
    copy = replace(this_machine(), boot="other", namespace="", id=machine_id)
    frozen = Runner(server, copy)
    call = frozen.claimed()
    call.note(an_intent())
    frozen.lose_lease()

    here = runner("here")
    database.transaction(lambda cursor: runners.end_dead_runners(cursor, database))
    taken = here.claimed()

    assert taken.open_call is not None, "it may be paid for, and its end is not known"
    assert database.rows("select ended from runner where id = %s", (frozen.lease.id,)) == [(None,)]
    with pytest.raises(InputError, match="is alive"):
        SharedStore(database).bury(copy.host, "me", "lost")
    if copy.id:
        assert SharedStore(database).bury(copy.id, "me", "the copy was deleted").runners == 1
    taken.release()
    frozen.lease.close()


def test_a_withdrawn_call_leaves_nothing(runner: Make, database: Database) -> None:
    claim = runner("one").claimed()
    claim.note(an_intent())
    claim.withdraw()
    claim.release()
    assert database.rows("select key from claim") == []


def test_a_commit_that_was_lost_on_its_way_is_found_again(
    runner: Make, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server did it, and the client did not hear of it: the second try must not wait."""
    one = runner("one")
    once = Database._once
    lost: list[object] = []

    def losing(self: Database, work: Callable[[Any], Any]) -> Any:
        result = once(self, work)
        if self is one.database and len(lost) < 4 and threading.current_thread().name != "lease":
            lost.append(result)
            if len(lost) % 2:  # each request is made again
                raise psycopg.OperationalError("the connection was lost")
        return result

    monkeypatch.setattr(Database, "_once", losing)
    assert one.claim() is not None
    assert one.limits.acquire("openai", Limit(max_concurrent=1), never) is not None
    assert len(database.rows("select * from slot")) == 1
    assert len(lost) == 4


def test_init_says_which_roles_its_login_may_not_create(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_postgres() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("create role plain login")
            connection.execute("create database plain owner plain")
        dsn = server.dsn.replace("///postgres?", "///plain?").replace("user=owner", "user=plain")
        monkeypatch.setenv("ORACLEPACK_STORE", dsn)

        first = answer(capsys, "fleet", "init")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for role in ROLES:
                connection.execute(sql.SQL("create role {} nologin").format(sql.Identifier(role)))
        second = json.loads(answer(capsys, "fleet", "init", "--json").out)

    assert first.code == 0
    assert f"there is no {', '.join(ROLES)}" in first.err
    assert second["data"]["missing_roles"] == []
    assert second["warnings"] == []
