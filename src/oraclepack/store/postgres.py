"""The store of a fleet: one connection to PostgreSQL, opened when needed, ended when it hangs.

A server that was stopped in the middle of an answer keeps its clients waiting for ever, whatever
`statement_timeout` says; so a watchdog shuts the socket down.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import conninfo

from oraclepack.errors import OraclePackError, UsageError
from oraclepack.store.database import Cursor, Database, Query, Result, Row, StoreError, Values
from oraclepack.system import disk

PATIENCE = 30.0
"""Seconds that one transaction may take."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds between two tries while the server does not answer."""
_CONNECT_TIMEOUT = 10
_IDLE_LIMIT = "set idle_in_transaction_session_timeout = '5s'"
"""A client that is silent for so long in a transaction is frozen, and others need its locks."""
_LOCAL = frozenset({"", "localhost", "127.0.0.1", "::1"})
_ENCRYPTED = frozenset({"require", "verify-ca", "verify-full"})


def check_dsn(dsn: str, *, insecure: bool = False) -> Mapping[str, Any]:
    """The parts of a connection string; refuses passwords in it and open connections."""
    try:
        parts = conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as trouble:
        # The message quotes the text, and with it a password.
        reason = re.sub(r'"[^"]*"', '"…"', str(trouble).strip())
        raise UsageError(
            f"the store is no connection string of PostgreSQL: {reason}",
            hint='for example store = "postgresql://db.example.org/oraclepack?sslmode=verify-full"',
        ) from None
    if parts.get("password"):
        raise UsageError(
            "the store names a password",
            hint="leave it out; PGPASSFILE or a service file holds it",
        )
    named = str(parts.get("host") or os.environ.get("PGHOST", ""))
    numbers = str(parts.get("hostaddr") or os.environ.get("PGHOSTADDR", ""))
    hosts = (numbers or named).split(",")
    is_local = all(map(_is_local, hosts))
    mode = str(parts.get("sslmode") or os.environ.get("PGSSLMODE", ""))
    if not is_local and mode not in _ENCRYPTED and not insecure:
        raise UsageError(
            f"the connection to the store on {hosts[0]} is not encrypted",
            hint="add sslmode=verify-full to the store",
        )
    return parts


def _is_local(host: str) -> bool:
    return host in _LOCAL or host.startswith(("/", "@"))


class _Cursor(psycopg.Cursor[Row]):
    """A cursor whose statements a test can interrupt."""

    def execute(self, query: Query, *given: Values, **options: Values) -> "_Cursor":
        disk.statement(str(query))
        super().execute(query, *given, **options)
        disk.statement(str(query), is_done=True)
        return self

    def fetchall(self) -> list[Row]:
        return super().fetchall() if self.description else []


class PostgresDatabase(Database):
    """A `Database` on a server."""

    spans_machines = True
    begin = "begin"

    def __init__(
        self,
        dsn: str,
        *,
        patience: float = PATIENCE,
        outage: float = 0.0,
        gives_up: Callable[[], bool] = lambda: False,
    ) -> None:
        """`outage` is for how many seconds a server that has answered before is tried again.

        With `gives_up` nothing is waited for any more: the command is being stopped.
        """
        check_dsn(dsn)
        self._dsn = dsn
        self._outage = outage
        self._gives_up = gives_up
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Row] | None = None
        self._watchdog = _Watchdog(patience)
        self._has_answered = False

    def _perform(self, work: Callable[[Cursor], Result], *, waits: bool, durable: bool) -> Result:
        """Do `work`, and again while the server does not answer.

        Whether a lost commit took effect is not known, so `work` must be safe to repeat.
        Raises StoreError once the time for an outage is over; without `waits`, after two tries.
        """
        del durable  # the server syncs every commit; `fleet doctor` checks that
        outage = self._outage if waits and self._has_answered else 0.0
        deadline = time.monotonic() + outage
        pause, tries = _FIRST_PAUSE, 0
        while True:
            tries += 1
            try:
                with self._lock:
                    return self._once(work)
            except psycopg.OperationalError as trouble:
                is_over = time.monotonic() + pause > deadline or self._gives_up()
                if tries > 1 and is_over:
                    raise _unusable(trouble, outage) from trouble
            if tries > 1:  # the first one may only have had a stale connection
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def decide_alone(self, cursor: Cursor, about: str) -> None:
        # What is read later sees the decision before, so the lock needs a statement of its own.
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 7215))", (about,))

    def lock_runner(self, runner: str) -> None:
        """Nothing to do: a lease in its row says that it is alive."""

    def unlock_runner(self, runner: str) -> None:
        """Nothing to do."""

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _once(self, work: Callable[[Cursor], Result]) -> Result:
        try:
            connection = self._open()
            with self._watchdog, connection.cursor() as cursor:
                try:
                    result = work(cursor)
                except OraclePackError:
                    connection.rollback()
                    raise
            self._has_answered = True
        except psycopg.OperationalError:
            self._drop()
            raise
        except psycopg.errors.IdleInTransactionSessionTimeout as trouble:
            # We were frozen, and the server ended the transaction: nothing of it took effect.
            self._drop()
            raise psycopg.OperationalError(str(trouble)) from trouble
        except psycopg.Error as trouble:
            self._drop()
            hint = "`oraclepack fleet doctor` says what is missing; `fleet init` creates it"
            if isinstance(trouble, psycopg.errors.InsufficientPrivilege):
                hint = (
                    "this login may not do that; `grant oraclepack_admin to …` allows to submit,"
                    " stop, bury and set limits, and only the owner of the tables runs `fleet init`"
                )
            raise StoreError(
                f"the store refused a request: {_message(trouble)}", hint=hint, retryable=False
            ) from trouble
        else:
            return result

    def _open(self) -> psycopg.Connection[Row]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._dsn,
                autocommit=True,
                connect_timeout=_CONNECT_TIMEOUT,
                application_name="oraclepack",
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                cursor_factory=_Cursor,
            )
            self._refuse_open(self._connection)
            self._watchdog.guard(self._connection)
            with self._watchdog:
                self._connection.execute(_IDLE_LIMIT)
        return self._connection

    def _refuse_open(self, connection: psycopg.Connection[Row]) -> None:
        """A service file may have named another server than the settings say."""
        info = connection.info
        if connection.pgconn.ssl_in_use or _is_local(info.host) or _is_local(info.hostaddr):
            return
        self._drop()
        raise UsageError(
            f"the connection to the store on {info.host} is not encrypted",
            hint="add sslmode=verify-full to the store, or to its service file",
        )

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._watchdog.end()
        if connection is not None:
            with suppress(psycopg.Error, OSError):
                connection.close()


class _Watchdog:
    """Ends a connection whose transaction takes too long, by shutting its socket down.

    One thread for each connection looks several times within the patience: a thread for each
    transaction would cost more than the transaction.
    """

    _LOOKS = 10

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._lock = threading.Lock()
        self._descriptor = -1
        self._ended = threading.Event()
        self._began: float | None = None
        """When the transaction began that is being watched."""

    def guard(self, connection: psycopg.Connection[Row]) -> None:
        """Watch a new connection; the one before is not watched any more."""
        self.end()
        # A descriptor of our own: the connection may close its own meanwhile.
        self._descriptor = os.dup(connection.fileno())
        self._ended = threading.Event()
        threading.Thread(
            target=self._look, args=(self._ended,), name="store-watchdog", daemon=True
        ).start()

    def end(self) -> None:
        self._ended.set()
        with self._lock:
            descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._began = None

    def _look(self, ended: threading.Event) -> None:
        while not ended.wait(self.patience / self._LOOKS):
            began = self._began
            if began is not None and time.monotonic() - began > self.patience:
                self._bite(ended)

    def _bite(self, ended: threading.Event) -> None:
        with self._lock:
            if self._descriptor >= 0 and not ended.is_set():
                copy = socket.socket(fileno=os.dup(self._descriptor))
                with suppress(OSError):
                    copy.shutdown(socket.SHUT_RDWR)
                copy.close()


_REFUSALS = ("does not exist", "authentication failed", "no password supplied", "pg_hba.conf")
"""What a server says to a login or a database that it does not let in."""


def _unusable(trouble: psycopg.Error, outage: float) -> StoreError:
    waited = f" for {outage:g} s" if outage else ""
    text = _message(trouble)
    hint = "nothing is asked without it; run again when the database answers"
    if any(refusal in text for refusal in _REFUSALS):
        hint = (
            "correct the database and the login in the store; PGPASSFILE or a service file holds"
            " the password"
        )
    return StoreError(f"the store cannot be reached{waited}: {text}", hint=hint)


def _message(trouble: psycopg.Error) -> str:
    return " ".join(str(trouble).split()) or type(trouble).__name__
