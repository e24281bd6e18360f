"""A command that works with the shared store: a row there, alive while its lease is renewed.

The lease is by the server's clock. It frees what is merely held, never what may have been paid for.
"""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from oraclepack.calls.postgres.database import Database, StoreError
from oraclepack.shell.processes import start_time
from oraclepack.system.environment import process_id
from oraclepack.system.machine import Machine, this_machine

LEASE_SECONDS = 60.0
_RENEWALS = 3
"""How often a lease is renewed within its time."""


class RunnerLease:
    """The row of this command, renewed by a thread until it is closed."""

    def __init__(
        self,
        database: Database,
        version: str,
        *,
        fingerprint: str = "",
        seconds: float = LEASE_SECONDS,
        machine: Machine | None = None,
    ) -> None:
        here = machine or this_machine()
        self.id = str(uuid.uuid4())
        self.fingerprint = fingerprint
        self._database = database
        self._seconds = seconds
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._unfinished: list[Callable[[], None]] = []
        self.stop_requested = False
        """A stop of this command was requested through the store."""
        pid = process_id()
        database.rows(
            "insert into runner (id, host, boot, namespace, pid, start_time, version, fingerprint,"
            " lease_until) values (%s, %s, %s, %s, %s, %s, %s, %s,"
            " clock_timestamp() + make_interval(secs => %s))",
            (
                *(self.id, here.host, here.boot, here.namespace, pid, start_time(pid)),
                *(version, fingerprint, seconds),
            ),
        )
        self._thread = threading.Thread(target=self._renew, name="store-lease", daemon=True)
        self._thread.start()

    def finish_later(self, work: Callable[[], None]) -> None:
        """Repeat a request that the store did not take, until it does or the command ends."""
        with self._lock:
            self._unfinished.append(work)

    def close(self) -> None:
        """End the row: what this command held is free, what it may have paid for is not."""
        self._ended.set()
        self._thread.join()
        self._finish()
        with suppress(StoreError):
            self._database.rows(
                "update runner set ended = clock_timestamp() where id = %s", (self.id,)
            )
        self._database.close()

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / _RENEWALS):
            with suppress(StoreError):
                rows = self._database.rows(
                    "update runner set lease_until = clock_timestamp()"
                    " + make_interval(secs => %s)"
                    " where id = %s and buried is null returning stop",
                    (self._seconds, self.id),
                )
                # A buried runner may finish what runs, and can open no gate any more.
                self.stop_requested = not rows or bool(rows[0][0])
                self._finish()

    def _finish(self) -> None:
        with self._lock:
            waiting, self._unfinished = self._unfinished, []
        for number, work in enumerate(waiting):
            try:
                work()
            except StoreError:
                with self._lock:
                    self._unfinished = [*waiting[number:], *self._unfinished]
                return
