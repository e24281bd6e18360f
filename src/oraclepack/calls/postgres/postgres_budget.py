"""The ledger of days and months in the shared database: one budget for all machines."""

from collections.abc import Callable, Iterable
from functools import partial

import msgspec
import psycopg

from oraclepack.calls.budget import BudgetLedger, settle
from oraclepack.calls.file_budget import BudgetLedgerError, LedgerBudget, decoded, encoded
from oraclepack.calls.postgres.database import Database, Row
from oraclepack.system.clock import Clock

_LOCKED = "select content from budget_ledger for update"


class PostgresBudget(LedgerBudget):
    """A `Budget` in one row, which a change locks."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(clock)
        self._database = database

    def ledger(self) -> BudgetLedger:
        rows = self._database.rows("select content from budget_ledger")
        return self._recovered(_read(rows[0][0]) if rows else BudgetLedger())

    def _change(self, change: Callable[[BudgetLedger], BudgetLedger]) -> None:
        # Every change names its reservation, so repeating it after a lost commit changes nothing.
        self._database.transaction(lambda cursor: self._change_in(cursor, change))

    def settle_in(self, cursor: psycopg.Cursor[Row], reservations: Iterable[str]) -> None:
        """Settle reservations at their worst case, in a transaction that has more to do."""
        for name in reservations:
            self._change_in(cursor, partial(settle, reservation=name, spent=None))

    def _change_in(
        self, cursor: psycopg.Cursor[Row], change: Callable[[BudgetLedger], BudgetLedger]
    ) -> None:
        cursor.execute(_LOCKED)
        row = cursor.fetchone()
        if row is None:
            cursor.execute(
                "insert into budget_ledger (content) values (%s) on conflict do nothing",
                (encoded(BudgetLedger()).decode(),),
            )
            cursor.execute(_LOCKED)
            row = cursor.fetchone()
        assert row is not None
        before = _read(row[0])
        after = self._changed(before, change)
        if after != before:
            cursor.execute("update budget_ledger set content = %s", (encoded(after).decode(),))


def _read(content: str) -> BudgetLedger:
    try:
        return decoded(content.encode())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as trouble:
        raise BudgetLedgerError(
            f"the ledger of budgets in the store is damaged: {trouble}",
            hint="delete the row of budget_ledger to begin a new one, and lower your limits until "
            "the month is over",
        ) from trouble
