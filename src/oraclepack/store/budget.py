"""What all calls of the user, or of a fleet, cost on a day and in a month: rows of the store.

A reservation is made before its call, and opened before the tool may start: from then on it may be
billed, and only its known end removes it. One that was never opened goes with its command.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from oraclepack.store.database import Cursor, Database
from oraclepack.store.runner import Runner
from oraclepack.store.spending import (
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    SpentSum,
    UnknownPricePolicy,
    reserve,
)

_ABOUT = "the budget"


class Budget:
    """Every method raises OraclePackError where the store cannot be read or written."""

    def __init__(self, database: Database, runner: Runner | None = None) -> None:
        """Only a command with a runner can reserve."""
        self._database = database
        self._runner = runner

    def reserve(
        self,
        request: BudgetRequest,
        ceilings: Mapping[BudgetScope, Ceiling],
        unknown_price: UnknownPricePolicy,
    ) -> Shortfall | None:
        """Reserve the worst case of a call before it is made, or return why it does not fit."""
        assert self._runner is not None, "only a runner makes calls"
        runner, worst = self._runner.id, request.worst

        def work(cursor: Cursor) -> Shortfall | None:
            if ceilings:
                self._database.decide_alone(cursor, _ABOUT)
                cursor.execute(
                    "delete from reservation where not is_open and not runner_is_alive(runner)"
                )
                ledger = _read(cursor, request)
                decided = reserve(ledger, request, ceilings, unknown_price)
                if isinstance(decided, Shortfall):
                    return decided
            cursor.execute(
                "insert into reservation values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
                " on conflict do nothing",
                (
                    *(request.reservation, runner, request.run, request.fleet, request.day),
                    *(request.at, str(worst.cost), worst.calls, worst.tokens, request.is_open),
                ),
            )
            return None

        return self._database.transaction(work, durable=request.is_open)

    def open(self, reservation: str) -> bool:
        """The tool may start now; False where the reservation is gone, so that it must not."""
        return bool(
            self._database.rows(
                "update reservation set is_open = true where name = %s returning 1",
                (reservation,),
                durable=True,
            )
        )

    def settle(self, reservation: str, spent: Spending | None) -> None:
        """The outcome is known: what the call came to, or None for its worst case.

        Any command that learns the outcome may settle; settling twice changes nothing.
        """
        # Durable: the journal says next that it is settled, and then no command settles it again.
        self._database.transaction(
            lambda cursor: self.settle_in(cursor, [reservation], spent), durable=True
        )

    def settle_in(
        self, cursor: Cursor, reservations: Iterable[str], spent: Spending | None = None
    ) -> None:
        """Settle in a transaction that has more to do."""
        self._database.decide_alone(cursor, _ABOUT)
        for name in reservations:
            cursor.execute(
                "delete from reservation where name = %s returning day, fleet, cost, calls, tokens",
                (name,),
            )
            for day, fleet, *worst in cursor.fetchall():
                add_spending(cursor, day, fleet, _spending(worst) if spent is None else spent)

    def release(self, reservation: str) -> None:
        """The call was not made; one that was opened stays."""
        self._database.rows(
            "delete from reservation where name = %s and not is_open", (reservation,)
        )

    def ledger(self) -> BudgetLedger:
        """What is spent and reserved now."""
        return self._database.transaction(_read)


def add_spending(cursor: Cursor, day: str, fleet: str, spent: Spending) -> None:
    """Add to what the calls of a day came to. Amounts are decimals, which SQLite cannot add."""
    cursor.execute(
        "select cost, calls, tokens from spending where day = %s and fleet = %s", (day, fleet)
    )
    row = cursor.fetchone()
    total = spent if row is None else _spending(row).plus(spent)
    cursor.execute(
        "insert into spending values (%s, %s, %s, %s, %s) on conflict (day, fleet) do update"
        " set cost = excluded.cost, calls = excluded.calls, tokens = excluded.tokens",
        (day, fleet, str(total.cost), total.calls, total.tokens),
    )


def _read(cursor: Cursor, request: BudgetRequest | None = None) -> BudgetLedger:
    """The rows as a ledger; with a request only those of its month and its fleet."""
    month, fleet = (request.day[:7], request.fleet) if request else ("", "")
    values = (request is None, month, fleet)
    cursor.execute(
        "select day, fleet, cost, calls, tokens from spending"
        " where %s or substr(day, 1, 7) = %s or (fleet <> '' and fleet = %s) order by day, fleet",
        values,
    )
    sums = tuple(
        SpentSum(command="", run="", day=day, fleet=fleet, spent=_spending(spent))
        for day, fleet, *spent in cursor.fetchall()
    )
    cursor.execute(
        "select name, runner, run, fleet, day, at, is_open, runner_is_alive(runner), cost, calls,"
        " tokens from reservation"
        " where %s or substr(day, 1, 7) = %s or (fleet <> '' and fleet = %s) order by name",
        values,
    )
    reservations = {
        name: BudgetRequest(
            reservation=name,
            command=runner,
            run=run,
            day=day,
            at=at,
            worst=_spending(worst),
            is_open=bool(is_open),
            is_cut_off=not is_alive,
            fleet=fleet,
        )
        for name, runner, run, fleet, day, at, is_open, is_alive, *worst in cursor.fetchall()
        if is_open or is_alive
    }
    return BudgetLedger(sums, reservations)


def _spending(row: Iterable[object]) -> Spending:
    cost, calls, tokens = row
    return Spending(Decimal(str(cost)), int(str(calls)), int(str(tokens)))
