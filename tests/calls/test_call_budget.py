"""The budget of calls: reserved before each try, settled after it, whatever dies in between."""

import errno
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Any

import msgspec
import pytest

from oraclepack.calls.budget import BudgetPolicy, settle_ended
from oraclepack.calls.handler import CallHandler
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal import events as j
from oraclepack.journal.journal_file import load
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.budget import Budget
from oraclepack.store.spending import BudgetScope, Ceiling, UnknownPricePolicy
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.tools.prices import TokenPrice
from tests.calls.crashed import KilledError
from tests.calls.office import ASK, OUT, Act, Office, ScriptedShim, failing, output_of
from tests.faults import failing as failing_disk
from tests.faults import killed_at, watched

PRICES = {"gpt-5.2": TokenPrice(Decimal(1), Decimal(10))}
USED = {"inputTokens": 1000, "outputTokens": 9000, "totalTokens": 10000}
COST = Decimal("0.091")
WORST = Decimal(1)
"""About what a call may come to: 100,000 output tokens, and a few of input."""
LIMITED = (*ASK, "--max-output", "100000")


def paying(used: Mapping[str, int] | None = USED, bill: Path | None = None) -> Act:
    """The tool asks, is billed, and writes its session and the answer."""

    def act(order: ToolRun) -> ToolEnd:
        if bill is not None:
            with bill.open("a") as file:
                file.write("paid\n")
        path = output_of(order)
        folder = Path(order.env["ORACLE_HOME_DIR"], "sessions/s")
        folder.mkdir(parents=True, exist_ok=True)
        meta: dict[str, Any] = {
            "id": "s",
            "status": "completed",
            "startedAt": "2026-03-01T11:00:00.000Z",
            "options": {"prompt": "why?", "writeOutputPath": str(path)},
        }
        meta |= {"usage": used} if used else {}
        answer = "## Direct answer\nyes\n"
        said = "1.0s · $0.09 · gpt-5.2 · ↑1000 ↓9000 ↻0 Δ10000 · sid=s\n"
        (folder / "meta.json").write_text(json.dumps(meta))
        (folder / "output.log").write_text(f"\nAnswer:\n{answer}\n{said}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(answer)
        return ToolEnd(0, said)

    return act


def limited(
    folder: Path, scope: BudgetScope = BudgetScope.DAY, limit: str = "5", **more: Any
) -> Office:
    """An office with a limit of cost."""
    policy = BudgetPolicy({scope: Ceiling(cost=Decimal(limit))}, **more)
    return Office(folder, budget=policy, prices=PRICES)


def sharing(office: Office, other: Office) -> Office:
    """The office with the ledger of another one."""
    store = msgspec.structs.replace(office.context.store, budget=other.context.store.budget)
    office.calls = CallHandler(msgspec.structs.replace(office.context, store=store))
    return office


def ledger_of(folder: Path) -> Budget:
    return Budget(SqliteDatabase(folder / "state"))


def spent(folder: Path) -> tuple[Decimal, int]:
    """What the user has spent, and how many reservations there are."""
    found = ledger_of(folder).ledger()
    return sum((one.spent.cost for one in found.sums), Decimal(0)), len(found.reservations)


def test_a_call_costs_what_it_used_and_leaves_no_reservation(tmp_path: Path) -> None:
    office = limited(tmp_path)

    assert office.call(ScriptedShim(paying()), *LIMITED) == 0

    assert spent(tmp_path) == (COST, 0)
    (made,) = office.invocations
    assert made.reserved == ()
    assert [(one.cost, one.calls, one.tokens) for one in made.settled] == [(COST, 1, 10000)]
    events = [
        one
        for one in load(office.run_dir / "journal.jsonl").events
        if isinstance(one, j.BudgetReserved | j.BudgetSettled | j.InvocationIntent)
    ]
    assert [type(one).__name__ for one in events] == [
        "InvocationIntent",
        "BudgetReserved",
        "InvocationIntent",
        "BudgetSettled",
    ]
    assert isinstance(events[1], j.BudgetReserved)
    assert WORST < events[1].cost < WORST + Decimal("0.01")


@pytest.mark.parametrize("scope", list(BudgetScope))
def test_a_call_that_does_not_fit_is_not_made(scope: BudgetScope, tmp_path: Path) -> None:
    office, shim = limited(tmp_path, scope, "0.5"), ScriptedShim(paying())

    assert office.call(shim, *LIMITED) == 7

    assert shim.orders == []
    assert office.last.error is not None
    assert office.last.error.code == "BUDGET"
    assert "it may come to $1.00" in office.last.error.message
    assert "has spent $0.00, left $0.50" in office.last.error.message
    assert office.last.attempts == 0
    assert spent(tmp_path) == (Decimal(0), 0)


def test_an_answer_from_the_cache_reserves_nothing(tmp_path: Path) -> None:
    assert limited(tmp_path).call(ScriptedShim(paying()), *LIMITED) == 0
    office = limited(tmp_path, limit="0.01")

    assert office.call(ScriptedShim(failing("never asked")), *LIMITED) == 0

    assert spent(tmp_path) == (COST, 0)


def test_every_retry_is_reserved(tmp_path: Path) -> None:
    office = limited(tmp_path, limit="2.5")
    shim = ScriptedShim(failing("OpenAI API error: 503 overloaded"))

    assert office.call(shim, *LIMITED) == 7

    # The cost of the two tries is unknown, so that a third one does not fit.
    assert len(shim.orders) == 2
    assert office.last.attempts == 2
    assert office.last.error is not None
    assert "spent $2.00, left $0.50" in office.last.error.message
    assert spent(tmp_path)[1] == 0
    assert 2 < spent(tmp_path)[0] <= Decimal("2.5")


@pytest.mark.parametrize(
    ("act", "cost"),
    [
        pytest.param(paying(None), "worst", id="no session tells what it used"),
        pytest.param(failing("401 invalid api key"), "0", id="refused by the provider"),
        pytest.param(lambda _: ToolEnd(127, trouble="not found"), "0", id="no tool"),
        pytest.param(lambda _: ToolEnd(130, stopped=True), "worst", id="stopped by Ctrl-C"),
    ],
)
def test_what_a_call_comes_to(act: Act, cost: str, tmp_path: Path) -> None:
    class Shim(ScriptedShim):
        def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
            end = act(order)
            if not end.trouble:
                on_started(ProcessIdentity(pid=4_000_000, start_time="1"))
            return end

    office = limited(tmp_path)

    office.call(Shim(act), *LIMITED)

    paid, reserved = spent(tmp_path)
    assert reserved == 0
    assert paid == 0 if cost == "0" else WORST < paid < WORST + Decimal("0.01")


@pytest.mark.parametrize(
    ("policy", "answer", "code"),
    [
        pytest.param(UnknownPricePolicy.REFUSE, None, 7, id="refused"),
        pytest.param(UnknownPricePolicy.ALLOW, None, 0, id="allowed"),
        pytest.param(UnknownPricePolicy.ASK, None, 7, id="no terminal to ask at"),
        pytest.param(UnknownPricePolicy.ASK, False, 7, id="the user says no"),
        pytest.param(UnknownPricePolicy.ASK, True, 0, id="the user says yes"),
    ],
)
def test_an_unknown_price(
    policy: UnknownPricePolicy, answer: bool | None, code: int, tmp_path: Path
) -> None:
    office = limited(tmp_path, on_unknown=policy)
    asked: list[str] = []

    def ask(question: str, _: Callable[[float], bool]) -> bool:
        asked.append(question)
        return bool(answer)

    context = msgspec.structs.replace(office.context, ask=None if answer is None else ask)
    office.calls = CallHandler(context)
    argv = ("-p", "why?", "-e", "api", "-m", "my/model", "--write-output", OUT)

    assert office.call(ScriptedShim(paying()), *argv) == code
    if answer:
        again = ("-p", "why not?", "-e", "api", "-m", "my/model", "--write-output", "out/y.md")
        assert office.call(ScriptedShim(paying()), *again) == 0

    assert len(asked) == (0 if answer is None else 1), "asked once for a model"
    if code:
        assert office.last.error is not None
        assert "the price of my/model is not known" in office.last.error.message


def test_calls_and_tokens_are_limited_too(tmp_path: Path) -> None:
    calls = BudgetPolicy({BudgetScope.COMMAND: Ceiling(calls=1)})
    office = Office(tmp_path, budget=calls)
    assert office.call(ScriptedShim(paying()), *LIMITED) == 0
    assert office.call(ScriptedShim(paying()), *LIMITED, "--models", "a") == 7
    tokens = BudgetPolicy({BudgetScope.COMMAND: Ceiling(tokens=1000)})
    office = Office(tmp_path / "2", budget=tokens)
    assert office.call(ScriptedShim(paying()), *LIMITED) == 7
    assert office.last.error is not None
    assert "--max-tokens of 1,000 has spent 0, left 1,000" in office.last.error.message


def test_another_tool_counts_as_a_call_of_unknown_price(tmp_path: Path) -> None:
    office = limited(tmp_path)
    assert office.call(ScriptedShim(paying()), "exec", "hi", tool="codex") == 1
    assert office.last.error is not None
    assert "the price of codex is not known" in office.last.error.message
    one = BudgetPolicy({BudgetScope.COMMAND: Ceiling(calls=1)})
    office = Office(tmp_path / "2", budget=one)
    ends = ScriptedShim(lambda _: ToolEnd(0))
    assert [office.call(ends, "exec", "hi", tool="codex") for _ in "12"] == [0, 1]


def test_what_the_run_spent_in_earlier_commands_counts(tmp_path: Path) -> None:
    office = limited(tmp_path, BudgetScope.RUN, "1.05")
    assert office.call(ScriptedShim(paying()), *LIMITED) == 0
    office.journal.close()

    office = limited(tmp_path, BudgetScope.RUN, "1.05")

    assert office.call(ScriptedShim(paying()), *LIMITED, "--search", "off") == 7
    assert office.last.error is not None
    assert "budget.per_run of $1.05 has spent $0.09, left $0.96" in office.last.error.message


def test_a_call_that_was_cut_off_counts_until_its_end_is_known(tmp_path: Path) -> None:
    office = limited(tmp_path, limit="1.5")

    def die(order: ToolRun) -> ToolEnd:
        paying()(order)
        raise KilledError

    with pytest.raises(KilledError):
        office.call(ScriptedShim(die), *LIMITED)
    office.journal.close()
    assert spent(tmp_path) == (Decimal(0), 1)
    refused = sharing(limited(tmp_path / "elsewhere", limit="1.5"), office)
    assert refused.call(ScriptedShim(paying()), *LIMITED) == 7

    office = limited(tmp_path, limit="1.5")

    assert office.call(ScriptedShim(failing("never asked")), *LIMITED) == 0
    assert spent(tmp_path) == (COST, 0)


def test_killed_at_any_moment_nothing_leaks_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    def buy(folder: Path) -> int:
        office = limited(folder)
        settle_ended(office.context, frozenset({"oracle"}))
        return office.call(ScriptedShim(paying(bill=folder / "bill")), *LIMITED)

    with watched() as moments:
        buy(tmp_path / "whole")
    leaked = []
    for number in range(1, len(moments) + 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        if killed_at(number, partial(buy, folder)) != -SIGKILL:
            break  # the first one of all also made the user's key
        left = ledger_of(folder).ledger().reservations
        assert all(one.is_open and one.is_cut_off for one in left.values()), number
        billed = len((folder / "bill").read_text().split()) if (folder / "bill").exists() else 0
        cost, reserved = spent(folder)
        assert COST * billed <= cost + WORST * reserved, f"money is lost at {number}"

        assert buy(folder) == 0

        assert (folder / "bill").read_text() == "paid\n", f"paid twice at {number}"
        cost, reserved = spent(folder)
        leaked += [number] * reserved
        assert cost >= COST, number
    assert leaked == []
    assert number > 40


def test_a_damaged_store_stops_every_call_and_says_what_to_do(tmp_path: Path) -> None:
    assert limited(tmp_path).call(ScriptedShim(paying()), *LIMITED) == 0
    path = tmp_path / "state/store.db"
    path.write_bytes(b"{" * 4096)
    argv = (*LIMITED, "--search", "off")

    office, shim = limited(tmp_path), ScriptedShim(paying())

    assert office.call(shim, *argv) != 0
    assert shim.orders == []
    assert office.last.error is not None
    assert f"the store {path} cannot be read" in office.last.error.message
    # The way out works.
    for one in path.parent.glob("store.db*"):
        one.unlink()
    assert limited(tmp_path).call(shim, *argv, "--timeout", "9") == 0


def test_a_full_disk_makes_no_call_without_a_reservation(tmp_path: Path) -> None:
    office, shim = limited(tmp_path), ScriptedShim(paying())

    with failing_disk(1, errno.ENOSPC, only="sql", below="insert into reservation"):
        assert office.call(shim, *LIMITED) == 7

    assert shim.orders == []
    assert office.last.error is not None
    assert "No space left" in office.last.error.message
    assert office.call(shim, *LIMITED, "--search", "off") == 0


def test_what_could_not_be_settled_is_settled_by_the_next_command(tmp_path: Path) -> None:
    office = limited(tmp_path)

    with failing_disk(2, errno.ENOSPC, only="sql", below="delete from reservation"):
        assert office.call(ScriptedShim(paying()), *LIMITED) == 0
    office.journal.close()
    assert spent(tmp_path) == (Decimal(0), 1)
    assert [one.code for one in office.journal.state.warnings] == ["budget"]

    settle_ended(limited(tmp_path).context, frozenset({"oracle"}))

    assert spent(tmp_path) == (COST, 0)
