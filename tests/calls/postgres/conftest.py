"""A real PostgreSQL server, started once for these tests."""

from collections.abc import Iterator

import pytest

from oraclepack.calls.postgres.database import Database
from oraclepack.calls.postgres.migrations import migrate
from tests.postgres_server import NoServerError, PostgresServer, serving_postgres


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    try:
        with serving_postgres() as running:
            database = Database(running.dsn)
            migrate(database)
            database.close()
            yield running
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be had here: {reason}")


@pytest.fixture
def database(server: PostgresServer) -> Iterator[Database]:
    """The schema without rows."""
    made = Database(server.dsn)
    made.rows(
        "truncate runner, claim, verdict, answer, provider, slot, request_start, job,"
        " fleet_request, budget_ledger cascade"
    )
    yield made
    made.close()
