"""A real PostgreSQL server, started once for these tests."""

from collections.abc import Iterator

import pytest

from oraclepack.store.postgres import PostgresDatabase
from tests.postgres_server import PostgresServer, migrated_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with migrated_server() as running:
        yield running


@pytest.fixture
def database(server: PostgresServer) -> Iterator[PostgresDatabase]:
    """The schema without rows."""
    made = PostgresDatabase(server.dsn)
    made.rows(
        "truncate runner, claim, verdict, answer, provider, slot, request_start, job,"
        " fleet_request, reservation, spending cascade"
    )
    yield made
    made.close()
