"""What the parts of the store need of a database, be it SQLite or PostgreSQL.

Statements are written once, with `%s` for values. Both databases know two functions of ours:
`unix_now()`, and `runner_is_alive(id)`. A test may kill the process before and after each statement
(`system/disk.py`), the `begin` and `commit` of a transaction included.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, LiteralString, Protocol, TypeAlias, TypeVar

from oraclepack.errors import OraclePackError, UsageError

Result = TypeVar("Result")
Row = tuple[Any, ...]
Query: TypeAlias = Any
"""A text, or what psycopg composes of several."""
Values: TypeAlias = Any


class StoreError(OraclePackError):
    """The store cannot be used now. Nothing was paid for because of it."""

    code = "STORE"
    retryable = True


def missing_driver() -> UsageError:
    """The settings name a database, and the library for it cannot be imported."""
    return UsageError(
        "the store is a PostgreSQL database, and psycopg is not installed",
        hint='pip install "oraclepack[fleet]"',
    )


class Cursor(Protocol):
    """What `sqlite3` and `psycopg` have in common."""

    @property
    def rowcount(self) -> int: ...

    def execute(self, query: Query, values: Values = ..., /) -> object: ...

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...


class Database(ABC):
    """Runs statements over one connection, one transaction at a time. Safe in several threads."""

    spans_machines: bool
    """Runners of several machines use it, so each has a lease."""

    begin: LiteralString
    """The statement that begins a transaction."""

    def transaction(
        self, work: Callable[[Cursor], Result], *, waits: bool = True, durable: bool = False
    ) -> Result:
        """Do `work` in one transaction; perhaps again, so it must be safe to repeat.

        With `durable` it survives a power cut. Raises StoreError; without `waits` it does so soon.
        """

        def whole(cursor: Cursor) -> Result:
            cursor.execute(self.begin)
            result = work(cursor)
            cursor.execute("commit")
            return result

        return self._perform(whole, waits=waits, durable=durable)

    def rows(
        self,
        query: LiteralString,
        values: Sequence[Any] = (),
        *,
        waits: bool = True,
        durable: bool = False,
    ) -> list[Row]:
        """What a single statement returns; it is a transaction of its own."""

        def work(cursor: Cursor) -> list[Row]:
            cursor.execute(query, values)
            return cursor.fetchall()

        return self._perform(work, waits=waits, durable=durable)

    @abstractmethod
    def _perform(self, work: Callable[[Cursor], Result], *, waits: bool, durable: bool) -> Result:
        """Do `work` with a cursor; where it fails, nothing of an open transaction is left."""

    @abstractmethod
    def decide_alone(self, cursor: Cursor, about: str) -> None:
        """Until the transaction ends, no other one decides about the same thing."""

    @abstractmethod
    def lock_runner(self, runner: str) -> None:
        """Have the kernel say that a runner is alive, where there is one kernel."""

    @abstractmethod
    def unlock_runner(self, runner: str) -> None:
        """A runner has ended."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; the next statement opens it again."""
