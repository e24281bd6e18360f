"""The promises of the store, on SQLite and on PostgreSQL: the same tests for both."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from oraclepack.calls.cache import GOOD, CacheEntry
from oraclepack.calls.file_store import user_store
from oraclepack.calls.fleet_store import fleet_store
from oraclepack.calls.handler import CallHandler
from oraclepack.calls.store import CallStore
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.errors import OraclePackError
from oraclepack.journal.events import InvocationIntent
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.claims import Claim
from oraclepack.store.limits import Limit, Slot
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.runner import command_name
from oraclepack.store.spending import (
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Spending,
    UnknownPricePolicy,
)
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import sha256_bytes
from tests.calls.office import ANSWER, ASK, OUT, Office, ScriptedShim, answering
from tests.postgres_server import PostgresServer

KEY, OTHER = "a" * 64, "b" * 64
KINDS = ["sqlite", pytest.param("database", marks=pytest.mark.heavy)]
Open = Callable[[], CallStore]
"""One more runner of the same project on the same store."""


def never(_: float) -> bool:
    return False


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def store_at(kind: str, address: str, folder: Path, runner: str) -> Iterator[CallStore]:
    """The store of one runner, also of one in a process of its own."""
    root = folder / "project"
    run_dir = root / f".oraclepack/runs/{runner}"
    place = folder / "state"
    with (
        user_store(root, run_dir, SystemClock(), use_cache=True, folder=place)
        if kind == "sqlite"
        else fleet_store(address, root, run_dir)
    ) as store:
        yield store


@pytest.fixture
def address(kind: str, request: pytest.FixtureRequest) -> str:
    """Where an empty store of the kind is."""
    if kind == "sqlite":
        return ""
    request.getfixturevalue("database")
    server: PostgresServer = request.getfixturevalue("server")
    return server.dsn


@pytest.fixture
def opened(kind: str, address: str, tmp_path: Path) -> Iterator[Open]:
    (tmp_path / "project").mkdir()
    with ExitStack() as leaving:
        runners = count()
        yield lambda: leaving.enter_context(store_at(kind, address, tmp_path, str(next(runners))))


def an_intent(*, started: bool = True, because: str = "") -> InvocationIntent:
    process = ProcessIdentity(pid=4711, start_time="1") if started else None
    return InvocationIntent(
        step="01", attempt=1, call=1, tool="oracle", key=KEY, process=process, because=because
    )


def claimed(store: CallStore, key: str = KEY) -> Claim:
    claim = store.claims.acquire(key, never)
    assert claim is not None
    return claim


def test_a_claim_has_one_holder(opened: Open) -> None:
    one, two = opened(), opened()
    first = claimed(one)
    assert first.open_call is None
    assert not first.is_unsigned
    assert two.claims.acquire(KEY, never) is None
    assert one.claims.acquire(KEY, never) is None, "nor twice in one runner"
    claimed(two, OTHER).release()
    first.release()
    claimed(two).release()


def test_a_waiting_runner_gets_the_claim_as_soon_as_it_is_free(opened: Open) -> None:
    one, two = opened(), opened()
    first = claimed(one)
    waits: list[float] = []

    def pause(seconds: float) -> bool:
        waits.append(seconds)
        first.release()
        return True

    assert two.claims.acquire(KEY, pause) is not None
    assert len(waits) == 1


END = pytest.mark.parametrize(
    ("end", "is_left"),
    [
        pytest.param(lambda claim: claim.note(an_intent(started=False)), False, id="no tool yet"),
        pytest.param(lambda claim: claim.note(an_intent()), True, id="a tool was started"),
        pytest.param(
            lambda claim: (claim.note(an_intent()), claim.settle()), False, id="its end is known"
        ),
    ],
)


@END
def test_only_a_started_call_without_a_known_end_is_left_to_the_next(
    opened: Open, end: Callable[[Claim], object], is_left: bool
) -> None:
    one, two = opened(), opened()
    first = claimed(one)
    end(first)
    first.release()
    for store in (two, one):
        heir = claimed(store)
        assert (heir.open_call is not None and heir.open_call.process is not None) == is_left
        heir.release()


def test_what_was_withdrawn_leaves_the_earlier_call_known(opened: Open) -> None:
    one, two, three = opened(), opened(), opened()
    first = claimed(one)
    first.note(an_intent())
    first.release()
    second = claimed(two)
    second.note(an_intent(because="--on-unknown retry"))
    second.withdraw()
    second.release()
    assert claimed(three).open_call == an_intent()


HOLDER = """
import sys
from pathlib import Path
from tests.store.test_contract import *
kind, address, folder = sys.argv[1:]
with store_at(kind, address, Path(folder), "killed") as store:
    held, asking = claimed(store), claimed(store, OTHER)
    held.note(an_intent(started=False))
    asking.note(an_intent())
    assert slot_of(store, Limit(max_concurrent=1)) is not None
    assert reserved(store, "unopened") and reserved(store, "open") and store.budget.open("open")
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_runner_leaves_what_it_may_have_paid_for_and_nothing_else(
    opened: Open, kind: str, address: str, tmp_path: Path
) -> None:
    heir, limit = opened(), Limit(max_concurrent=1)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, kind, address, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert heir.claims.acquire(KEY, never) is None
        assert heir.claims.acquire(OTHER, never) is None
        assert slot_of(heir, limit) is None
        assert not reserved(heir, "third")
        holder.kill()
    deadline = time.monotonic() + 30

    def pause(seconds: float) -> bool:
        time.sleep(min(seconds, 0.1))
        return time.monotonic() < deadline

    free = heir.claims.acquire(KEY, pause)
    assert free is not None
    assert free.open_call is None or free.open_call.process is None, "nothing was paid for"
    asked = heir.claims.acquire(OTHER, pause)
    assert asked is not None
    assert asked.open_call == an_intent(), "it may have been paid for"
    assert heir.limits.acquire("openai", limit, pause) is not None
    assert reserved(heir, "third"), "what was not opened is free"
    assert not reserved(heir, "fourth"), "what was opened is not"


@pytest.mark.parametrize("kind", KINDS[1:], indirect=True)
def test_the_first_answer_stays(opened: Open) -> None:
    """On one machine a claim cannot be lost, so a second answer comes from a refresh alone."""
    one, two = opened(), opened()
    one.cache.put(an_entry(b"first\n"), b"first\n")
    two.cache.put(an_entry(b"second\n"), b"second\n")
    for store in (one, two):
        stored = store.cache.get(KEY)
        assert stored is not None
        assert (stored.data, stored.state) == (b"first\n", GOOD)


def test_a_claim_that_another_has_is_neither_settled_nor_released(opened: Open) -> None:
    one, two, three = opened(), opened(), opened()
    first = claimed(one)
    first.note(an_intent())
    first.release()
    second = claimed(two)
    with pytest.raises(OraclePackError):
        first.note(an_intent())
    first.settle()
    first.release()
    assert three.claims.acquire(KEY, never) is None, "the second still has it"
    second.release()
    assert claimed(three).open_call == an_intent(), "and the call is still open"


def an_entry(data: bytes, key: str = KEY, session: str | None = None) -> CacheEntry:
    return CacheEntry(
        key=key,
        parts={"prompt": "p"},
        sha256=sha256_bytes(data),
        bytes=len(data),
        stored_at="2026-03-01T00:00:00Z",
        session=session,
    )


def test_every_runner_gets_the_answer_that_one_has_put(opened: Open) -> None:
    one, two = opened(), opened()
    assert two.cache.get(KEY) is None
    one.cache.put(an_entry(b"yes\n"), b"yes\n")
    stored = two.cache.get(KEY)
    assert stored is not None
    assert (stored.data, stored.state, stored.entry.key) == (b"yes\n", GOOD, KEY)
    two.cache.put(an_entry(b"more\n", OTHER), b"more\n")
    assert [(listed.entry.key, listed.state) for listed in one.cache.entries()] == [
        (KEY, GOOD),
        (OTHER, GOOD),
    ]


def test_answers_that_miss_their_contract_lie_apart(opened: Open) -> None:
    one, two = opened(), opened()
    one.cache.unmet.put(an_entry(b"short\n"), b"short\n")
    kept = two.cache.unmet.get(KEY)
    assert kept is not None
    assert (kept.data, kept.state) == (b"short\n", GOOD)
    assert (two.cache.get(KEY), two.cache.unmet.get(OTHER)) == (None, None)


def slot_of(store: CallStore, limit: Limit, name: str = "openai") -> Slot | None:
    return store.limits.acquire(name, limit, never)


def test_no_more_slots_than_allowed(opened: Open) -> None:
    one, two, limit = opened(), opened(), Limit(max_concurrent=2)
    slots = [slot_of(one, limit), slot_of(two, limit)]
    assert None not in slots
    assert slot_of(one, limit) is None
    assert slot_of(one, limit, "xai") is not None
    assert slot_of(two, Limit()) is not None, "no limit, no wait"
    assert slots[0] is not None
    slots[0].release()
    slots[0].release()
    assert slot_of(two, limit) is not None
    assert slot_of(one, limit) is None


def test_no_minute_sees_more_requests_than_allowed(opened: Open) -> None:
    one, two, limit = opened(), opened(), Limit(requests_per_minute=2)
    for store in (one, two):
        slot = slot_of(store, limit)
        assert slot is not None
        slot.release()
    assert slot_of(one, limit) is None
    assert slot_of(two, limit) is None


DOLLAR = Spending(Decimal(1), 1, 100)


def a_request(name: str) -> BudgetRequest:
    return BudgetRequest(
        reservation=name, command=command_name(), run="r", day="2026-03-01", worst=DOLLAR
    )


def reserved(store: CallStore, name: str, dollars: int = 2) -> bool:
    ceilings = {BudgetScope.DAY: Ceiling(cost=Decimal(dollars))}
    short = store.budget.reserve(a_request(name), ceilings, UnknownPricePolicy.REFUSE)
    return short is None


def spent(store: CallStore) -> Decimal:
    return sum((one.spent.cost for one in store.budget.ledger().sums), Decimal())


def test_what_is_reserved_is_freed_by_a_known_end_alone(opened: Open) -> None:
    one, two = opened(), opened()
    assert reserved(one, "a")
    assert reserved(two, "b")
    assert reserved(two, "b"), "reserving the same call again changes nothing"
    assert not reserved(one, "c")
    one.budget.release("a")
    assert not one.budget.open("a"), "it is gone, so the tool must not start"
    assert reserved(one, "c")
    assert one.budget.open("c")
    one.budget.release("c")
    assert not reserved(two, "d"), "an open call may have been paid for"
    for _ in range(2):
        two.budget.settle("c", Spending(Decimal("0.25"), 1, 10))
    assert spent(one) == Decimal("0.25")
    assert not reserved(one, "d")
    assert two.budget.open("b")
    one.budget.settle("b", None)
    assert spent(two) == Decimal("1.25"), "the worst case, where the cost is not known"
    assert two.budget.ledger().reservations == {}


def test_runners_at_once_never_spend_more_than_the_budget(opened: Open) -> None:
    stores = [opened() for _ in range(3)]
    made: list[str] = []

    def spend(number: int) -> None:
        for turn in range(6):
            name = f"{number}-{turn}"
            if reserved(stores[number], name, 7):
                assert stores[number].budget.open(name)
                stores[number].budget.settle(name, DOLLAR)
                made.append(name)

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 7
    assert spent(stores[0]) == Decimal(7)


def an_office(folder: Path, store: CallStore) -> Office:
    office = Office(folder)
    office.calls = CallHandler(replace(office.context, store=store))
    return office


def test_a_question_is_paid_for_once_by_two_runners(opened: Open, tmp_path: Path) -> None:
    shim = ScriptedShim(answering())
    for _ in range(2):
        office = an_office(tmp_path / "office", opened())
        assert office.call(shim) == 0
        assert office.out() == ANSWER
    assert len(shim.orders) == 1


def test_a_call_that_was_cut_off_is_left_to_the_next_runner(opened: Open, tmp_path: Path) -> None:
    def die(_: ToolRun) -> ToolEnd:
        raise KeyboardInterrupt

    store = opened()
    with pytest.raises(KeyboardInterrupt):
        an_office(tmp_path / "office", store).call(ScriptedShim(die))
    entered = opened()
    office = an_office(tmp_path / "office", entered)
    (intent,) = (
        call.intent
        for step in office.context.journal.state.steps.values()
        for call in step.invocations
        if call.intent is not None
    )
    assert intent.process is not None
    assert intent.key is not None
    left = claimed(entered, intent.key).open_call
    assert left is not None
    assert left.process == intent.process


class LosingShim(ScriptedShim):
    """Another runner takes the claims between the intent and the start of the tool."""

    def __init__(self, address: str, folder: Path) -> None:
        super().__init__(answering())
        self._address = address
        self._folder = folder

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        is_shared = bool(self._address)
        database = PostgresDatabase(self._address) if is_shared else SqliteDatabase(self._folder)
        database.rows("update claim set token = 'taken'")
        database.close()
        return super().run(order, on_started)


@pytest.mark.parametrize(
    ("tool", "argv"),
    [
        pytest.param("oracle", ASK, id="a question"),
        pytest.param("codex", ("exec", "hi"), id="codex"),
    ],
)
def test_who_has_lost_the_claim_pays_for_nothing(
    opened: Open, kind: str, address: str, tmp_path: Path, tool: str, argv: tuple[str, ...]
) -> None:
    if kind == "sqlite" and tool != "oracle":
        pytest.skip("calls without a key need no claim on one machine")
    office = an_office(tmp_path / "office", opened())
    shim = LosingShim(address, tmp_path / "state")

    assert office.call(shim, *argv, tool=tool) == 1

    assert shim.orders, "the process waits behind its gate"
    assert office.out(OUT) is None, "and the tool never began"
    error = office.last.error
    assert error is not None
    assert (error.code, error.transient) == ("CLAIM_LOST", True)
    assert "another runner" in error.message
