"""The store of one user: how it is made, refused, damaged, and what kills leave of it."""

import os
import sqlite3
import stat
import threading
import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random

import pytest

from oraclepack.errors import OraclePackError
from oraclepack.store import sqlite
from oraclepack.store.budget import Budget
from oraclepack.store.database import StoreError
from oraclepack.store.runner import Runner
from oraclepack.store.spending import (
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Spending,
    UnknownPricePolicy,
)
from oraclepack.store.sqlite import SqliteDatabase, StoreDamagedError, is_on_network
from tests.faults import die_at, failing_once, watched

DAY = "2026-11-16"
ROUNDS, PROCESSES = 40, 5


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path).rows("select 1")

    mode = (tmp_path / "store.db").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    (tmp_path / "store.db").chmod(0o644)
    with pytest.raises(StoreDamagedError, match="others may read or write it"):
        SqliteDatabase(tmp_path).rows("select 1")


def test_processes_that_make_it_at_once_have_one(tmp_path: Path) -> None:
    def begin() -> None:
        Runner(SqliteDatabase(tmp_path)).id  # noqa: B018 - its row is made

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert SqliteDatabase(tmp_path).rows("select count(*) from runner") == [(6,)]
    assert sorted(path.name for path in tmp_path.glob("*.tmp*")) == []


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(lambda path: path.write_bytes(b"x" * 8192), "not a database", id="no SQLite"),
        pytest.param(lambda path: path.write_bytes(b""), "it is empty", id="nothing"),
        pytest.param(
            lambda path: path.write_bytes(path.read_bytes()[:4096]), "malformed", id="cut"
        ),
    ],
)
def test_a_damaged_store_is_an_error_and_never_a_new_one(
    tmp_path: Path, damage: Callable[[Path], object], reason: str
) -> None:
    database = SqliteDatabase(tmp_path)
    Budget(database).ledger()
    database.close()
    damage(tmp_path / "store.db")
    damaged = (tmp_path / "store.db").read_bytes()

    with pytest.raises(StoreDamagedError, match=reason) as caught:
        Budget(SqliteDatabase(tmp_path)).ledger()

    assert "away" in (caught.value.hint or "")
    assert (tmp_path / "store.db").read_bytes()[:4096] == damaged[:4096]


def test_a_store_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path).rows("select 1")
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("pragma user_version = 99")

    with pytest.raises(StoreDamagedError, match="has version 99, this oraclepack knows"):
        SqliteDatabase(tmp_path).rows("select 1")


def test_a_process_that_keeps_it_busy_is_waited_for_and_named(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path).rows("select 1")
    with sqlite3.connect(tmp_path / "store.db", isolation_level=None) as frozen:
        frozen.execute("begin immediate")
        with pytest.raises(StoreError, match=r"kept .*store\.db busy") as caught:
            Budget(SqliteDatabase(tmp_path, patience=0.05)).settle("x", None)
    assert "fuser" in (caught.value.hint or "")
    assert caught.value.retryable


MOUNTS = """\
1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:5 / /home rw,relatime shared:7 - nfs4 server:/home rw
3 1 0:6 / /home/ann/local rw - tmpfs tmpfs rw
4 1 0:7 / /mnt/far rw - fuse.sshfs me@there: rw
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        pytest.param("/var/lib/state", False, id="a local disk"),
        pytest.param("/home/ann/.local/state", True, id="NFS"),
        pytest.param("/home/ann/local/state", False, id="memory below NFS"),
        pytest.param("/mnt/far/x", True, id="sshfs"),
    ],
)
def test_is_on_network(folder: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)

    assert is_on_network(Path(folder), tmp_path / "mountinfo") is expected


def test_on_a_network_file_system_it_has_a_rollback_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "is_on_network", lambda _: True)

    assert SqliteDatabase(tmp_path).rows("pragma journal_mode") == [("delete",)]
    monkeypatch.setattr(sqlite, "hold", lambda path: os.open(path, os.O_RDWR | os.O_CREAT))
    with pytest.raises(OraclePackError, match="whose locks do not work") as caught:
        SqliteDatabase(tmp_path).rows("select 1")
    assert "XDG_STATE_HOME" in (caught.value.hint or "")


def test_every_statement_can_be_interrupted_before_and_after(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path)
    database.rows("select 1")
    with watched() as seen:
        Budget(database).settle("x", None)
    assert seen == [*["sql", "sql done"] * 3, "sync", "sync"], "begin, delete, commit"


def test_a_store_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with failing_once("sql done"), pytest.raises(OraclePackError):
        SqliteDatabase(tmp_path).rows("select 1")
    assert list(tmp_path.iterdir()) == []


def request(name: str, cost: str = "1") -> BudgetRequest:
    return BudgetRequest(
        reservation=name, command="c", run="r", day=DAY, worst=Spending(Decimal(cost), 1, 10)
    )


def totals(folder: Path) -> tuple[Decimal, Decimal]:
    found = Budget(SqliteDatabase(folder)).ledger()
    spent = sum((one.spent.cost for one in found.sums), Decimal(0))
    return spent, sum((one.worst.cost for one in found.reservations.values()), Decimal(0))


def spend(folder: Path, bill: Path, seed: int, limit: str) -> None:
    """Make calls until one does not fit; the provider writes down what it really takes."""
    random, database = Random(seed), SqliteDatabase(folder)
    budget = Budget(database, Runner(database))
    ceilings = {BudgetScope.DAY: Ceiling(cost=Decimal(limit))}
    for number in range(6):
        name, worst = f"{os.getpid()}#{number}", random.randint(1, 4)
        policy = UnknownPricePolicy.REFUSE
        if budget.reserve(request(name, str(worst)), ceilings, policy) is not None:
            return
        if random.random() < 0.1:
            budget.release(name)
            continue
        assert budget.open(name)
        cost = Decimal(worst) * random.choice([0, 1, 2, 4]) / 4
        with bill.open("a") as file:
            file.write(f"{name}|{cost}\n")
        budget.settle(name, Spending(cost, 1, 5) if random.random() < 0.9 else None)


def started(act: Callable[[], None]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child never returns to threads
        child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    return child


def doomed(folder: Path, bill: Path, seed: int, limit: str, at: int) -> None:
    die_at(at)
    spend(folder, bill, seed, limit)


@pytest.mark.slow
def test_processes_that_are_killed_anywhere_never_overspend_leak_or_hang(tmp_path: Path) -> None:
    killed = 0
    for number in range(ROUNDS):
        random = Random(number)
        folder, bill = tmp_path / str(number), tmp_path / f"{number}.bill"
        bill.touch()
        limit = str(random.randint(5, 30))

        children = [
            started(partial(doomed, folder, bill, number * 10 + one, limit, random.randint(1, 190)))
            for one in range(PROCESSES)
        ]
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        killed += sum(end < 0 for end in ends)

        bills = dict(line.split("|") for line in bill.read_text().splitlines())
        billed = sum(map(Decimal, bills.values()), Decimal(0))
        spent, reserved = totals(folder)
        assert billed <= spent + reserved <= Decimal(limit), f"round {number}"
        left = Budget(SqliteDatabase(folder)).ledger().reservations
        assert all(one.is_open and one.is_cut_off for one in left.values()), f"round {number}"
        # The outcomes become known in the end, and nothing stays reserved.
        for name in left:
            known = Decimal(bills.get(name, "0"))
            Budget(SqliteDatabase(folder)).settle(name, Spending(known, 1, 5))
        assert totals(folder)[1] == 0
        assert billed <= totals(folder)[0] <= Decimal(limit)
    assert killed > ROUNDS
