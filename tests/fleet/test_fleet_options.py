"""The options of `fleet run`, each with a fleet that behaves differently without it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from oraclepack.fleet.fleet_job import JobSource
from oraclepack.fleet.fleet_run import jobs_of, sources_of
from oraclepack.fleet.postgres_jobs import opened_jobs
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.schema import migrate
from tests.fleet.fleet_world import FleetWorld, until
from tests.keep.pages import fences
from tests.postgres_server import NoServerError, PostgresServer, serving_postgres

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    try:
        with serving_postgres() as running:
            yield running
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be had here: {reason}")


@pytest.fixture
def dsn(server: PostgresServer, request: pytest.FixtureRequest) -> str:
    """A database of its own for every test."""
    name = f"t{abs(hash(request.node.nodeid))}"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    own = server.dsn.replace("/postgres?", f"/{name}?")
    database = PostgresDatabase(own)
    migrate(database)
    database.close()
    return own


@pytest.fixture(params=["files", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FleetWorld]:
    store = request.getfixturevalue("dsn") if request.param == "postgresql" else ""
    made = FleetWorld(tmp_path, store)
    yield made
    made.close()


@pytest.fixture
def shared(dsn: str, tmp_path: Path) -> Iterator[FleetWorld]:
    made = FleetWorld(tmp_path, dsn)
    yield made
    made.close()


def status(world: FleetWorld, fleet: str = "default") -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "oraclepack", "fleet", "status", "--name", fleet, "--json"],
        env=world.env(),
        cwd=world.folder,
        capture_output=True,
        check=False,
    )
    return json.loads(done.stdout)["data"]


def states(world: FleetWorld) -> dict[str, int]:
    found = status(world)
    return {} if found is None else dict(found["totals"]["by_state"])


def four_packs(world: FleetWorld, steps: int = 1) -> tuple[str, ...]:
    world.repository("shop", packs=4, steps=steps)
    manifest = world.manifest(*(("shop", f"docs/pack{number}.md") for number in range(1, 5)))
    return ("fleet", "run", str(manifest), "--work-dir", str(world.folder / "work"))


def test_max_cost_holds_for_all_jobs_together(world: FleetWorld) -> None:
    words = four_packs(world)
    world.hold()
    head = world.start(*words, "--at-once", "4", "--max-cost", "2.5")
    until(lambda: states(world) == {"running": 1, "failed": 3}, "three jobs do not fit", 60)
    assert len(world.bill()) == 1, "the worst case of one call fits"
    found = status(world)
    assert found["max_cost"] == "2.5"
    assert 1 < float(found["standing"]["reserved"]) <= 2.5
    messages = {job["summary"].get("message", "") for job in found["jobs"]}
    assert any("--max-cost of the fleet of $2.50" in message for message in messages), messages
    assert {job.get("exit_code") for job in found["jobs"]} == {None, 7}
    world.let_go()
    assert head.wait(60) == 3

    assert world.command(*words, "--at-once", "4", "--max-cost", "100") == 0, world.log()
    assert set(world.bill().values()) == {1}
    assert len(world.bill()) == 4
    found = status(world)
    assert float(found["standing"]["spent"]) > 0
    assert found["standing"]["reserved"] == "0"

    assert world.command(*words) == 0
    assert status(world)["max_cost"] == "100", "it holds until it is changed"


def test_at_once_is_how_many_packs_run(world: FleetWorld) -> None:
    words = four_packs(world)
    world.hold()
    head = world.start(*words, "--at-once", "2")
    until(lambda: len(world.bill()) == 2, "two questions", 60)
    found = status(world)
    assert found["totals"]["by_state"] == {"queued": 2, "running": 2}
    until(lambda: status(world)["totals"]["in_flight"] == {"openai": 2}, "both are reported")
    world.let_go()
    assert head.wait(60) == 0
    assert {int(number) for number in re.findall(r"(\d+) running", world.log())} <= {1, 2}
    assert status(world)["totals"]["in_flight"] == {}


def test_detach_goes_on_in_the_background(world: FleetWorld) -> None:
    words = four_packs(world)
    world.hold()
    assert world.command(*words, "--detach", "--json") == 0, world.log()
    report = json.loads(world.log())["data"]
    assert report["submitted"] == 4
    command = Path(f"/proc/{report['head']}/cmdline").read_bytes().split(b"\0")
    assert b"--detached" in command
    assert b"--detach" not in command
    assert states(world).get("done") is None
    world.let_go()
    assert world.command("fleet", "watch", "--every", "0.2") == 0
    until(lambda: not Path(f"/proc/{report['head']}").exists(), "the head ended")
    assert states(world) == {"done": 4}
    assert set(world.bill().values()) == {1}


def test_after_a_stop_no_waiting_job_begins(world: FleetWorld) -> None:
    words = four_packs(world)
    world.hold()
    head = world.start(*words, "--at-once", "1")
    until(lambda: len(world.bill()) == 1, "a question", 60)
    assert world.command("fleet", "stop") == 0
    world.let_go()
    assert head.wait(60) == 3
    assert len(world.bill()) == 1
    assert states(world)["queued"] == 3

    assert world.command(*words, "--detached") == 3, "it lifts no stop"
    assert len(world.bill()) == 1
    assert world.command(*words) == 0
    assert states(world) == {"done": 4}
    assert set(world.bill().values()) == {1}


def test_a_request_that_cannot_run_does_not_detach(world: FleetWorld) -> None:
    words = four_packs(world)
    assert world.command(*words, "--detach", "--scheduler", "carrier-pigeon") == 2
    assert "no such scheduler" in world.log() or "cannot read local files" in world.log()
    assert status(world) is None, "nothing was submitted"


def lost_machine(world: FleetWorld, steps: int = 1) -> tuple[str, ...]:
    """A job whose machine died in the middle of a call; the command that runs it elsewhere."""
    pack = world.repository("shop", steps=steps) / "docs/pack1.md"
    words = ("fleet", "run", str(pack), "--work-dir", str(world.folder / "work/lost"))
    world.hold()
    head = world.start(*words, machine="lost")
    until(world.bill, "the first question")
    (job,) = world.jobs()
    world.kill_runner(job)
    head.kill()
    head.wait()
    world.kill_tools()
    world.let_go()
    until(lambda: world.jobs()[0].state == "queued", "the lease ran out")
    return ("fleet", "run", str(pack), "--work-dir", str(world.folder / "work/other"))


@pytest.mark.parametrize(
    ("option", "state", "why"),
    [
        pytest.param((), "undecided", None, id="nothing asks again by itself"),
        pytest.param(("--on-unknown", "retry"), "done", "--on-unknown retry", id="on-unknown"),
        pytest.param(("--unknown-after", "0.1s"), "done", "--unknown-after 0.1s", id="old enough"),
        pytest.param(("--unknown-after", "12h"), "undecided", None, id="not old enough"),
    ],
)
def test_unknown_calls(
    shared: FleetWorld, option: tuple[str, ...], state: str, why: str | None
) -> None:
    words = lost_machine(shared)
    shared.command(*words, *option, machine="other")
    assert shared.jobs()[0].state == state, shared.log("other")
    database = PostgresDatabase(shared.dsn)
    verdicts = [row[0] for row in database.rows("select why from verdict")]
    database.close()
    assert list(shared.bill().values()) == [2 if why else 1]
    assert [verdict.startswith(why or "?") for verdict in verdicts] == ([True] if why else [])
    unknown = status(shared)["standing"]["unknown"]
    if why:
        assert unknown == []
    else:
        (call,) = unknown
        assert call["host"] == "lost"
        assert "fleet bury lost" in call["resolution"]


def test_move_never_keeps_a_job_on_its_machine(shared: FleetWorld) -> None:
    pack = shared.repository("shop", steps=2) / "docs/pack1.md"
    words = ("fleet", "run", str(pack), "--work-dir", str(shared.folder / "work/one"))
    assert shared.command(*words, "--max-cost", "0", machine="one") == 3, shared.log("one")
    elsewhere = (*words[:-1], str(shared.folder / "work/two"), "--max-cost", "none")
    shared.command(*elsewhere, "--move", "never", machine="two")
    assert not shared.bill(), "it was begun on machine one"
    assert shared.command(*elsewhere, "--move", "safe", machine="two") == 0, shared.log("two")
    assert len(shared.bill()) == 2


def test_an_observer_sees_how_a_fleet_stands_and_cannot_run_one(shared: FleetWorld) -> None:
    words = four_packs(shared)
    assert shared.command(*words, "--max-cost", "100") == 0, shared.log()
    with psycopg.connect(shared.dsn, autocommit=True) as connection:
        connection.execute("create role board login in role oraclepack_observer")
    shared.dsn = shared.dsn.replace("user=owner", "user=board")
    found = status(shared)
    assert found["totals"]["by_state"] == {"done": 4}
    assert float(found["standing"]["spent"]) > 0
    assert shared.command("fleet", "unknown") == 0
    assert shared.command("fleet", "limits") == 0
    assert shared.command(*words, "--name", "other") == 2
    assert "permission denied" in shared.log()
    results = shared.folder / "results"
    assert shared.command("fleet", "collect", "--to", str(results)) == 2
    assert "may not read answers" in shared.log()
    assert not results.exists(), "run directories hold answers"
    with psycopg.connect(shared.dsn) as connection, pytest.raises(InsufficientPrivilege):
        connection.execute("select archive from job")


def test_the_store_can_be_named_on_the_command_line(shared: FleetWorld) -> None:
    words = four_packs(shared)
    store, shared.dsn = shared.dsn, ""
    assert shared.command(*words, "--store", store) == 0, shared.log()
    assert status(shared) is None, "the files know nothing of it"
    assert shared.command("fleet", "watch", "--store", store) == 0, shared.log()
    assert shared.command("fleet", "doctor", "--store", store) == 0, shared.log()
    shared.dsn = store
    assert status(shared)["totals"]["by_state"] == {"done": 4}
    with psycopg.connect(store) as connection:
        assert connection.execute("select count(*) from answer").fetchone() == (4,)
        jobs = connection.execute("select source::text, summary::text from job").fetchall()
    assert "postgresql://" not in str(jobs)


@pytest.mark.parametrize(
    ("store", "said"),
    [
        pytest.param("postgresql://u:hunter2@127.0.0.1/x", "the store names a password", id="key"),
        pytest.param("postgresql://db.example.org/x", "is not encrypted", id="open"),
        pytest.param("host=hunter2 nonsense", "no connection string", id="nonsense"),
    ],
)
def test_a_store_on_the_command_line_is_checked_as_the_setting_is(
    shared: FleetWorld, store: str, said: str
) -> None:
    for words in (four_packs(shared), ["fleet", "status"], ["fleet", "init"]):
        assert shared.command(*words, "--store", store) == 2, shared.log()
    assert shared.log().count(said) == 3, shared.log()
    assert "hunter2" not in shared.log()
    assert not shared.bill()


def test_a_worker_refuses_a_job_that_names_a_store(shared: FleetWorld) -> None:
    source = JobSource(
        repo=str(shared.repository("shop")), pack="docs/pack1.md", settings={"store": "dbname=x"}
    )
    with opened_jobs(shared.dsn, 60.0, takes=False) as store:
        (job,) = jobs_of("default", [source])
        store.add([job])
    assert shared.worker(job, "one").wait(60) == 0, shared.log("one")
    found = status(shared)["jobs"][0]
    assert found["state"] == "failed"
    assert "store cannot be set here" in found["summary"]["message"]
    assert not shared.bill()


def test_looking_at_a_limit_does_not_change_it(shared: FleetWorld) -> None:
    def limits(*words: str) -> list[tuple[Any, Any]]:
        assert shared.command("fleet", "limits", *words) == 0, shared.log()
        with psycopg.connect(shared.dsn) as connection:
            return connection.execute("select max_in_flight, per_minute from provider").fetchall()

    assert limits("openai") == []
    assert limits("openai", "--max-concurrent", "4", "--requests-per-minute", "9") == [(4, 9)]
    assert limits("openai") == [(4, 9)]
    assert limits("openai", "--max-concurrent", "2") == [(2, 9)]
    assert limits("openai", "--requests-per-minute", "0") == [(2, None)]


def test_watch_ends_when_a_stopped_fleet_has_only_waiting_jobs(shared: FleetWorld) -> None:
    pack = shared.repository("shop") / "docs/pack1.md"
    with opened_jobs(shared.dsn, 60.0, takes=False) as store:
        store.add(jobs_of("default", sources_of([str(pack)])))
    assert shared.command("fleet", "stop") == 0, shared.log()
    assert shared.command("fleet", "watch", "--every", "0.2") == 3, shared.log()


def test_the_statements_of_the_operations_page_remove_what_is_over(shared: FleetWorld) -> None:
    words = four_packs(shared)
    assert shared.command(*words, "--name", "weekly-2026-46") == 0, shared.log()
    (block,) = (
        one.content for one in fences("docs/how-to/run-a-fleet.md") if "update job" in one.content
    )
    with psycopg.connect(shared.dsn, autocommit=True) as connection:
        before = connection.execute("select count(*), sum(length(archive)) from job").fetchone()
        assert before is not None
        assert before[0] == 4
        assert before[1] > 1000
        connection.execute("update runner set ended = ended - 31 * 86400")
        for statement in block.split(";"):
            if statement.strip():
                connection.execute(statement.encode())
        assert connection.execute("select count(archive) from job").fetchone() == (0,)
        assert connection.execute("select count(*) from runner").fetchone() == (0,)
    assert shared.command(*words, "--name", "weekly-2026-46") == 0, "done stays done"
    assert set(shared.bill().values()) == {1}
