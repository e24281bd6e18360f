"""A command that works with the shared store: a row there, alive while its lease is renewed.

The lease is by the server's clock. It frees what is merely held, never what may have been paid for.
"""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

import psycopg

from oraclepack.calls.postgres.database import Database, Row
from oraclepack.calls.store import StoreError
from oraclepack.shell import processes
from oraclepack.system.environment import process_id
from oraclepack.system.machine import Machine, ProcessLocation, process_location, this_machine

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
        self._order = threading.RLock()
        self._unfinished: list[Callable[[], None]] = []
        self.unstored: set[str] = set()
        """Questions whose answers the store refused: their claims stay, so that they are not paid
        for again."""
        self.stop_requested = False
        """A stop of this command was requested through the store."""
        pid = process_id()
        _refuse_shared_name(database, here)
        if machine is None:
            end_dead_runners(database)
        database.rows(
            "insert into runner (id, host, boot, namespace, machine, pid, start_time, version,"
            " fingerprint, lease_until) values (%s, %s, %s, %s, %s, %s, %s, %s, %s,"
            " clock_timestamp() + make_interval(secs => %s)) on conflict do nothing",
            (
                *(self.id, here.host, here.boot, here.namespace, here.id),
                *(pid, processes.start_time(pid), version, fingerprint, seconds),
            ),
        )
        self._thread = threading.Thread(target=self._renew, name="store-lease", daemon=True)
        self._thread.start()

    def finish(self, work: Callable[[], None]) -> None:
        """Do what ends something, now or as soon as the store answers, in the order of the calls.

        An answer that waits here is stored before its claim is settled, so nothing is asked twice.
        """
        with self._order:
            self._unfinished.append(work)
            self._finish()

    def renew_in(self, cursor: psycopg.Cursor[Row]) -> None:
        """Renew the lease in a transaction that needs it, after an outage perhaps.

        A claim that was taken meanwhile has another token, so a lost claim stays lost.
        """
        cursor.execute(
            "update runner set lease_until = clock_timestamp() + make_interval(secs => %s)"
            " where id = %s and ended is null and buried is null",
            (self._seconds, self.id),
        )

    def close(self) -> None:
        """End the row: what this command held is free, what it may have paid for is not."""
        self._ended.set()
        self._thread.join()
        with suppress(StoreError):
            self._database.rows("select 1")  # waits for the end of an outage
        with self._order:
            self._finish()
        with suppress(StoreError):
            end_runner(self._database, self.id)
        self._database.close()

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / _RENEWALS):
            with suppress(StoreError):
                rows = self._database.rows(
                    "update runner set lease_until = clock_timestamp()"
                    " + make_interval(secs => %s)"
                    " where id = %s and buried is null returning stop",
                    (self._seconds, self.id),
                    waits=False,
                )
                # A buried runner may finish what runs, and can open no gate any more.
                self.stop_requested = not rows or bool(rows[0][0])
                with self._order:
                    self._finish()

    def _finish(self) -> None:
        while self._unfinished:
            try:
                self._unfinished[0]()
            except StoreError as trouble:
                if trouble.retryable:
                    return
            self._unfinished.pop(0)


def _refuse_shared_name(database: Database, here: Machine) -> None:
    """Refuse a machine whose id another one has, which only ORACLEPACK_MACHINE can give.

    Each of them would take the other for itself before it was started again.
    """
    rows = database.rows(
        "select 1 from runner where machine = %s and boot <> %s and boot <> ''"
        " and runner_is_alive(id) limit 1",
        (here.id, here.boot),
    )
    if rows and here.id and here.boot:
        raise StoreError(
            f"another machine that is called {here.id} works with this store, or this one was"
            " just started again",
            hint="give each machine a name of its own (ORACLEPACK_MACHINE=NAME/BOOT), or wait"
            " until the lease has run out (store_lease)",
        )


def end_dead_runners(database: Database) -> None:
    """Mark the runners of this machine that are proved to be dead; their leases need not run out.

    Proof is another start of the machine, or a process number that is free or reused.
    """
    here = this_machine()
    rows = database.rows(
        "select id, host, boot, namespace, machine, pid, start_time from runner"
        " where ended is null and buried is null"
        " and (boot = %s or (host = %s and not runner_is_alive(id)))",
        (here.boot, here.host),
    )
    for runner, *process in rows:
        if is_dead_process(*process):
            end_runner(database, runner)


def end_runner(database: Database, runner: str) -> None:
    """A runner has ended: what it held is free, what it may have paid for is not."""

    def work(cursor: psycopg.Cursor[Row]) -> None:
        cursor.execute(
            "update runner set ended = clock_timestamp() where id = %s and ended is null", (runner,)
        )
        cursor.execute("delete from slot where runner = %s", (runner,))
        cursor.execute("delete from claim where holder = %s and state = 'held'", (runner,))

    database.transaction(work, waits=False)


def is_dead_process(
    host: str, boot: str, namespace: str, machine: str, pid: int, began: str
) -> bool:
    """Whether a runner is proved to have ended; of another machine nothing is known."""
    match process_location(Machine(host, boot, namespace, machine)):
        case ProcessLocation.GONE:
            return True
        case ProcessLocation.ELSEWHERE:
            return False
    if not processes.has_proc():
        return not processes.exists(pid)
    info = processes.process_info(pid)
    return info is None or info.is_dead or info.start_time != began
