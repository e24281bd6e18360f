"""The torture on PostgreSQL: a server of its own, and a database for every ground.

`python -m tests.torture --store postgresql` plays the attacks that go through the store.
The checker asks the store what is left in it, wherever it is.
"""

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from oraclepack.store.budget import Budget
from oraclepack.store.database import Database
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.schema import migrate
from oraclepack.store.sqlite import NAME, SqliteDatabase
from tests.postgres_server import PostgresServer

STORE_VARIABLE = "TORTURE_STORE"
"""The connection string of the server, for the processes that play attacks."""
STORE_ATTACKS = ("kills-", "recovery-", "victim-", "crowd-", "two-runners", "bad-answers")
MORE_STORE_ATTACKS = ("one-at-a-time", "provider-chaos", "detached")
_TEMPLATE = "torture_template"
_NAME = "database"
STATE = ".local/state/oraclepack"


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
            database = PostgresDatabase(_dsn(server.dsn, _TEMPLATE))
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


def database_of(folder: Path) -> Database:
    """The store of a ground."""
    dsn = store_of(folder)
    return PostgresDatabase(dsn) if dsn else SqliteDatabase(folder / "home" / STATE)


def stored_answers(folder: Path) -> list[bytes]:
    """The verified answers in the database of a ground, if machines share it."""
    if not store_of(folder):
        return []
    with closing(database_of(folder)) as database:
        return [bytes(row[0]) for row in database.rows("select data from answer")]


def left_in_store(folder: Path) -> list[str]:
    """What a finished run must not leave in the store.

    What a killed runner merely held is free; the next command that needs the store removes it.
    """
    if not store_of(folder) and not (folder / "home" / STATE / NAME).exists():
        return []
    with closing(database_of(folder)) as database:
        claims = database.rows("select key from claim where state = 'asking'")
        slots = database.rows("select provider from slot where runner_is_alive(runner)")
        verdicts = database.rows(
            "select why from verdict where why not in ('', %s)",
            ("the earlier call has ended without an answer",),
        )
        reservations = Budget(database).ledger().reservations
    return [
        *(f"claim {key[:20]} is left" for (key,) in claims),
        *(f"a slot of {provider} is left" for (provider,) in slots),
        *(f"a verdict of no person: {why}" for (why,) in verdicts),
        *(f"reservation {name} is left" for name in reservations),
    ]
