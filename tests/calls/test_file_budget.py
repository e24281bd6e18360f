"""The ledger of days and months in its file: real processes, kills, machines, locks."""

import fcntl
import os
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from oraclepack.calls import file_budget
from oraclepack.calls.budget import (
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Spending,
    UnknownPricePolicy,
    spent_in,
)
from oraclepack.calls.file_budget import FileBudget, command_name
from oraclepack.errors import MachineError
from oraclepack.system.machine import Machine
from tests.clocks import SteppingClock
from tests.faults import die_at

DAY = "2026-11-16"
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
ROUNDS, PROCESSES = 40, 5


def request(name: str, cost: str = "1", command: str = "", at: datetime = NOON) -> BudgetRequest:
    return BudgetRequest(
        reservation=name,
        command=command or command_name(),
        run="r",
        day=DAY,
        at=at.isoformat(),
        worst=Spending(Decimal(cost), 1, 10),
    )


def limited(limit: str) -> dict[BudgetScope, Ceiling]:
    return {BudgetScope.DAY: Ceiling(cost=Decimal(limit))}


def budget_in(folder: Path, at: datetime = NOON) -> FileBudget:
    return FileBudget(folder, SteppingClock(at))


def totals(folder: Path) -> tuple[Decimal, Decimal]:
    spent, reserved = spent_in(budget_in(folder).ledger(), request("x"), BudgetScope.DAY)
    return spent.cost, reserved.cost


def spend(folder: Path, bill: Path, seed: int, limit: str) -> None:
    """Make calls until one does not fit; the provider writes down what it really takes."""
    random, budget = Random(seed), budget_in(folder)
    for number in range(6):
        name, worst = f"{command_name()}#{number}", random.randint(1, 4)
        policy = UnknownPricePolicy.REFUSE
        if budget.reserve(request(name, str(worst)), limited(limit), policy) is not None:
            return
        if random.random() < 0.1:
            budget.release(name)
            continue
        assert budget.open(name)
        cost = Decimal(worst) * random.choice([0, 1, 2, 4]) / 4
        with bill.open("a") as file:
            file.write(f"{name}|{cost}\n")
        budget.settle(name, Spending(cost, 1, 5) if random.random() < 0.9 else None)


def doomed(folder: Path, bill: Path, seed: int, limit: str, at: int) -> None:
    die_at(at)
    spend(folder, bill, seed, limit)


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


@pytest.mark.slow
def test_processes_that_are_killed_anywhere_never_overspend_leak_or_hang(tmp_path: Path) -> None:
    killed = 0
    for number in range(ROUNDS):
        random = Random(number)
        folder, bill = tmp_path / str(number), tmp_path / f"{number}.bill"
        bill.touch()
        limit = str(random.randint(5, 30))

        children = [
            started(partial(doomed, folder, bill, number * 10 + one, limit, random.randint(1, 90)))
            for one in range(PROCESSES)
        ]
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        killed += sum(end < 0 for end in ends)

        bills = dict(line.split("|") for line in bill.read_text().splitlines())
        billed = sum(map(Decimal, bills.values()), Decimal(0))
        spent, reserved = totals(folder)
        assert billed <= spent + reserved <= Decimal(limit), f"round {number}"
        left = budget_in(folder).ledger().reservations
        assert all(one.is_open and one.is_cut_off for one in left.values()), f"round {number}"
        # The outcomes become known in the end, and nothing stays reserved.
        for name in left:
            known = Decimal(bills.get(name, "0"))
            budget_in(folder).settle(name, Spending(known, 1, 5))
        assert totals(folder)[1] == 0
        assert billed <= totals(folder)[0] <= Decimal(limit)
    assert killed > ROUNDS


@pytest.mark.parametrize(
    ("command", "age", "is_there"),
    [
        pytest.param("", 0, True, id="this process"),
        pytest.param("elsewhere - 1 -", 1, True, id="another machine, just now"),
        pytest.param("elsewhere - 1 -", 11, False, id="another machine, long ago"),
        pytest.param("elsewhere - 1 -", -11, False, id="another machine whose clock is ahead"),
        pytest.param("here other-boot 1 -", 0, False, id="before this machine was started"),
        pytest.param("here/pid:[7] boot {pid} 7", 0, True, id="a container of this machine"),
        pytest.param("here boot 4194000 7", 0, False, id="a process that has ended"),
        pytest.param("here boot {pid} 7", 0, False, id="an earlier process of this number"),
        pytest.param("nonsense", 0, False, id="no name of a process"),
    ],
)
def test_what_is_dropped_of_a_reservation_that_was_not_opened(
    command: str, age: int, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_budget, "this_machine", lambda: Machine("here", "boot"))
    name = command.format(pid=command_name().split()[2])
    budget, at = budget_in(tmp_path), NOON - timedelta(minutes=age)
    for each in ("opened", "waiting"):
        asked = replace(request(each, "1", name, at), is_open=each == "opened")
        assert budget.reserve(asked, {}, UnknownPricePolicy.ALLOW) is None

    assert budget.open("waiting") is is_there, "who was taken for dead must not begin"
    assert "opened" in budget.ledger().reservations, "money is freed by nothing but a known end"


def test_waiting_for_a_lock_that_is_held_for_ever_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_budget, "_PATIENCE", 0.05)
    with (tmp_path / "ledger.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(MachineError, match=r"another process has held .*ledger\.lock") as error:
            budget_in(tmp_path).settle("x", None)
    assert "fuser" in error.value.hint
    budget_in(tmp_path).settle("x", None)


def test_the_file_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    budget = budget_in(tmp_path)
    budget.reserve(request("a"), {}, UnknownPricePolicy.ALLOW)
    newer = budget.path.read_bytes().replace(b'"version":1', b'"version":2')
    budget.path.write_bytes(newer)

    with pytest.raises(MachineError, match="is damaged"):
        budget.settle("a", None)

    assert budget.path.read_bytes() == newer
