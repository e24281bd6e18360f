"""The torture on PostgreSQL: a server of its own, and a database for every ground.

`python -m tests.torture --store postgresql` plays the attacks that go through the ports of
`calls/store.py`. The checker then also asks the database what is left in it.
"""

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from oraclepack.calls.postgres.database import Database
from oraclepack.calls.postgres.migrations import migrate
from oraclepack.calls.postgres.postgres_budget import PostgresBudget
from oraclepack.system import disk
from oraclepack.system.clock import SystemClock
from tests.postgres_server import PostgresServer

STORE_VARIABLE = "TORTURE_STORE"
"""The connection string of the server, for the processes that play attacks."""
STORE_ATTACKS = ("kills-", "recovery-", "victim-", "crowd-", "two-runners", "bad-answers")
MORE_STORE_ATTACKS = ("one-at-a-time", "provider-chaos", "detached")
_TEMPLATE = "torture_template"
_NAME = "database"


def goes_through_the_store(attack: str) -> bool:
    return attack.startswith(STORE_ATTACKS) or attack in MORE_STORE_ATTACKS


@contextmanager
def serving_torture(folder: str | None) -> Iterator[None]:
    """A server for all attacks, known to the processes that are started meanwhile."""
    with tempfile.TemporaryDirectory(prefix="tt-pg-", dir=folder) as place:
        server = PostgresServer(Path(place), "-c max_connections=200")
        server.start()
        try:
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute(f"create database {_TEMPLATE}")
            database = Database(_dsn(server.dsn, _TEMPLATE))
            migrate(database)
            database.close()
            os.environ[STORE_VARIABLE] = server.dsn
            yield
        finally:
            os.environ.pop(STORE_VARIABLE, None)
            server.stop()


def _dsn(server: str, name: str) -> str:
    return server.replace("///postgres?", f"///{name}?")


def give_database(folder: Path, source: Path | None = None) -> None:
    """A database for a ground: an empty one, or a copy of another ground's."""
    server = os.environ.get(STORE_VARIABLE)
    if not server:
        return
    template = (source / _NAME).read_text() if source else _TEMPLATE
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        # Its last user may be just about to leave.
        connection.execute(
            "select pg_terminate_backend(pid, 1000) from pg_stat_activity where datname = %s",
            (template,),
        )
        connection.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    (folder / _NAME).write_text(name)


def take_database(folder: Path) -> None:
    """Remove the database of a ground."""
    server = os.environ.get(STORE_VARIABLE)
    if server:
        name = sql.Identifier((folder / _NAME).read_text())
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database {} with (force)").format(name))


def store_of(folder: Path) -> str:
    """The connection string of a ground's database; empty where files are tortured."""
    server = os.environ.get(STORE_VARIABLE)
    return _dsn(server, (folder / _NAME).read_text()) if server else ""


def stored_answers(folder: Path) -> list[bytes]:
    """The verified answers in the database of a ground."""
    rows = _rows(folder, "select data from answer")
    return [bytes(row[0]) for row in rows]


def left_in_store(folder: Path) -> list[str]:
    """What a finished run must not leave in the database.

    The row of a killed runner holds nothing; the next command that needs the store ends it.
    """
    if not store_of(folder):
        return []
    found = [
        f"claim {key[:20]} is left, {state}"
        for key, state in _rows(folder, "select key, state from claim")
    ]
    found += [f"a slot of {row[0]} is left" for row in _rows(folder, "select provider from slot")]
    wrong = "select count(*) from verdict where why not in ('', %s)"
    proof = "the earlier call has ended without an answer"
    if (verdicts := _rows(folder, wrong, proof)) != [(0,)]:
        found.append(f"{verdicts} verdicts of no person")
    database = Database(store_of(folder))
    reservations = PostgresBudget(database, SystemClock()).ledger().reservations
    database.close()
    return found + [f"reservation {name} is left" for name in reservations]


def _rows(folder: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    dsn = store_of(folder)
    if not dsn:
        return []
    with psycopg.connect(dsn) as connection:
        return connection.execute(query.encode(), values).fetchall()


def strike_transactions() -> None:
    """Count every transaction as two operations: before it begins, and after its commit."""
    once = Database._once

    def counted(self: Database, work: Any) -> Any:
        disk._pass("begin", "transaction")
        result = once(self, work)
        disk._pass("commit", "transaction")
        return result

    Database._once = counted  # type: ignore[method-assign]
