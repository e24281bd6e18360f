"""A command that works with the store: one row that names its process, machine and boot.

On SQLite it is alive while the kernel holds its lock. On PostgreSQL it is alive while its lease is
renewed, by the server's clock. Its death frees what it merely locked, never what may have been paid
for.
"""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from oraclepack import __version__
from oraclepack.shell import processes
from oraclepack.store.database import Cursor, Database, StoreError
from oraclepack.system.environment import process_id
from oraclepack.system.machine import Machine, ProcessLocation, process_location, this_machine

LEASE_SECONDS = 60.0
_RENEWALS = 3
"""How often a lease is renewed within its time."""


class Runner:
    """The row of this command, made when it is first needed, until it is closed."""

    def __init__(
        self,
        database: Database,
        *,
        fingerprint: str = "",
        seconds: float = LEASE_SECONDS,
        machine: Machine | None = None,
    ) -> None:
        self.fingerprint = fingerprint
        self._database = database
        self._id = str(uuid.uuid4())
        self._seconds = seconds
        self._machine = machine
        self._begun = threading.Lock()
        self._has_begun = False
        self._ended = threading.Event()
        self._order = threading.RLock()
        self._unfinished: list[Callable[[], None]] = []
        self.unstored: set[str] = set()
        """Questions whose answers the store refused: their claims stay, so that they are not paid
        for again."""
        self.stop_requested = False
        """A stop of this command was requested through the store."""
        self._thread: threading.Thread | None = None

    @property
    def id(self) -> str:
        """Its name in the store, where it has a row from now on."""
        with self._begun:
            if not self._has_begun:
                self._begin()
                self._has_begun = True
        return self._id

    def _begin(self) -> None:
        here, pid = self._machine or this_machine(), process_id()
        self._database.lock_runner(self._id)

        def work(cursor: Cursor) -> None:
            if self._database.spans_machines:
                _refuse_shared_name(cursor, here)
            if self._machine is None:
                end_dead_runners(cursor, self._database)
            cursor.execute(
                "insert into runner (id, host, boot, namespace, machine, pid, start_time, version,"
                " fingerprint, started, lease_until) values (%s, %s, %s, %s, %s, %s, %s, %s, %s,"
                " unix_now(), unix_now() + %s) on conflict do nothing",
                (
                    *(self._id, here.host, here.boot, here.namespace, here.id),
                    *(pid, processes.start_time(pid) or "", __version__),
                    *(self.fingerprint, self._seconds),
                ),
            )

        try:
            self._database.transaction(work)
        except BaseException:
            self._database.unlock_runner(self._id)
            raise
        if self._database.spans_machines:
            self._thread = threading.Thread(target=self._renew, name="store-lease", daemon=True)
            self._thread.start()

    def finish(self, work: Callable[[], None]) -> None:
        """Do what ends something, now or as soon as the store answers, in the order of the calls.

        An answer that waits here is stored before its claim is settled, so nothing is asked twice.
        """
        with self._order:
            self._unfinished.append(work)
            self._finish()

    def renew_in(self, cursor: Cursor) -> None:
        """Renew the lease in a transaction that needs it, after an outage perhaps.

        A claim that was taken meanwhile has another token, so a lost claim stays lost.
        """
        cursor.execute(
            "update runner set lease_until = unix_now() + %s"
            " where id = %s and ended is null and buried is null",
            (self._seconds, self._id),
        )

    def close(self) -> None:
        """End the row: what this command locked is free, what it may have paid for is not."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            with suppress(StoreError):
                self._database.rows("select 1")  # waits for the end of an outage
        with self._order:
            self._finish()
        if self._has_begun:
            with suppress(StoreError):
                self._database.transaction(
                    lambda cursor: end_runner(cursor, self._database, self._id), waits=False
                )
        self._database.close()

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / _RENEWALS):
            with suppress(StoreError):
                rows = self._database.rows(
                    "update runner set lease_until = unix_now() + %s"
                    " where id = %s and buried is null returning stop",
                    (self._seconds, self._id),
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


def command_name() -> str:
    """The name of this process, which no later one has."""
    here, pid = this_machine(), process_id()
    machine = "".join(f"{here.id or here.host}{here.namespace}".split()) or "-"
    return f"{machine} {here.boot or '-'} {pid} {processes.start_time(pid) or '-'}"


def _refuse_shared_name(cursor: Cursor, here: Machine) -> None:
    """Refuse a machine whose id another one has, which only ORACLEPACK_MACHINE can give.

    Each of them would take the other for itself before it was started again.
    """
    cursor.execute(
        "select 1 from runner where machine = %s and boot <> %s and boot <> ''"
        " and runner_is_alive(id) limit 1",
        (here.id, here.boot),
    )
    if cursor.fetchone() and here.id and here.boot:
        raise StoreError(
            f"another machine that is called {here.id} works with this store, or this one was"
            " just started again",
            hint="give each machine a name of its own (ORACLEPACK_MACHINE=NAME/BOOT), or wait"
            " until the lease has run out (store_lease)",
        )


def end_dead_runners(cursor: Cursor, database: Database) -> None:
    """End the runners that are proved to be dead; their leases need not run out.

    On PostgreSQL those of this machine: proof is another start of the machine, or a process number
    that is free or reused.
    """
    if not database.spans_machines:
        cursor.execute("select id from runner where ended is null and not runner_is_alive(id)")
        for (runner,) in cursor.fetchall():
            end_runner(cursor, database, runner)
        return
    here = this_machine()
    cursor.execute(
        "select id, host, boot, namespace, machine, pid, start_time from runner"
        " where ended is null and buried is null"
        " and (boot = %s or (host = %s and not runner_is_alive(id)))",
        (here.boot, here.host),
    )
    for runner, *process in cursor.fetchall():
        if _is_dead_process(*process):
            end_runner(cursor, database, runner)


def end_runner(cursor: Cursor, database: Database, runner: str) -> None:
    """A runner has ended: what it locked is free, what it may have paid for is not."""
    cursor.execute(
        "update runner set ended = unix_now() where id = %s and ended is null", (runner,)
    )
    cursor.execute("delete from slot where runner = %s", (runner,))
    cursor.execute("delete from claim where holder = %s and state = 'held'", (runner,))
    cursor.execute("delete from reservation where runner = %s and not is_open", (runner,))
    if not database.spans_machines:
        cursor.execute(
            "delete from runner where ended is not null"
            " and not exists (select 1 from claim where asker = runner.id)"
        )
        database.unlock_runner(runner)


def _is_dead_process(
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
