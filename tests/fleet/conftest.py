"""A real PostgreSQL server and machines for the scenarios of fleets."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import oraclepack
from tests.fleet.fleet_world import FleetWorld
from tests.postgres_server import PostgresServer, migrated_server


@pytest.fixture
def fresh_server() -> Iterator[PostgresServer]:
    """A server of this test alone: it may be frozen and killed."""
    with migrated_server() as running:
        yield running


MakeWorld = Callable[..., FleetWorld]


@pytest.fixture
def make_world(fresh_server: PostgresServer, tmp_path: Path) -> Iterator[MakeWorld]:
    """Machines that share the server; `changes` are texts of the program and what replaces them."""
    made: list[FleetWorld] = []

    def make(
        changes: tuple[tuple[str, str, str], ...] = (), lease: float = 3.0, **more: str
    ) -> FleetWorld:
        if changes:
            more["PYTHONPATH"] = str(changed_program(tmp_path / "changed", changes))
        made.append(FleetWorld(tmp_path, fresh_server.dsn, lease, more))
        return made[-1]

    yield make
    fresh_server.thaw()
    for world in made:
        world.close()


def changed_program(folder: Path, changes: tuple[tuple[str, str, str], ...]) -> Path:
    """A copy of the program with a bug in it."""
    source = Path(oraclepack.__file__).parent
    shutil.copytree(source, folder / "oraclepack", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text, instead in changes:
        path = folder / "oraclepack" / name
        content = path.read_text()
        assert content.count(text) == 1, f"{name} has {content.count(text)} times {text!r}"
        path.write_text(content.replace(text, instead))
    return folder
