"""Slots of providers and requests per minute, for all runners of a store together."""

from collections.abc import Callable
from typing import Self

import psycopg

from oraclepack.calls.limits import MINUTE, Limit
from oraclepack.calls.postgres.database import Database, Row
from oraclepack.calls.postgres.runner_lease import RunnerLease, is_dead_process
from oraclepack.system.machine import this_machine

_POLL_SECONDS = 0.25
_PATIENCE = 2.0
_LONGEST_CALL = 7200.0


class PostgresSlot:
    """A `Slot`: a row, given back by `release`, by the runner's end, or when its time is over."""

    def __init__(self, limits: "PostgresLimits", number: int | None) -> None:
        self._limits = limits
        self._number = number

    def release(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            self._limits.give_back(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class PostgresLimits:
    """`Limits` by the server's clock."""

    def __init__(
        self, database: Database, lease: RunnerLease, longest_call: float | None = None
    ) -> None:
        self._database = database
        self._lease = lease
        self._longest = longest_call or _LONGEST_CALL

    def acquire(
        self, name: str, limit: Limit, pause: Callable[[float], bool]
    ) -> PostgresSlot | None:
        """A slot of a provider, after waiting for it. Raises StoreError."""
        number = int(
            self._database.rows("select nextval(pg_get_serial_sequence('slot', 'id'))")[0][0]
        )
        while True:
            slot = self._database.transaction(lambda cursor: self._try(cursor, name, limit, number))
            if isinstance(slot, PostgresSlot):
                return slot
            if not pause(min(slot, _PATIENCE)):
                return None

    def give_back(self, number: int) -> None:
        def work(cursor: psycopg.Cursor[Row]) -> None:
            cursor.execute("delete from slot where id = %s returning provider", (number,))
            row = cursor.fetchone()
            if row is not None:
                _free_dead_slots(cursor, row[0])

        self._lease.finish(lambda: self._database.transaction(work, waits=False))

    def _try(
        self, cursor: psycopg.Cursor[Row], name: str, limit: Limit, number: int
    ) -> PostgresSlot | float:
        """A slot, or how long it takes until looking again makes sense."""
        # One decision per provider at a time, in all processes. What is read later sees the
        # decision before, so the lock needs a statement of its own.
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 7215))", (name,))
        cursor.execute(
            "select exists (select 1 from slot where id = %s),"
            " (select count(*) from slot where provider = %s), max_in_flight, per_minute"
            " from (values (1)) as one left join provider on name = %s",
            (number, name, name),
        )
        is_taken, in_flight, *shared = cursor.fetchone() or (False, 0, None, None)
        if is_taken:
            return PostgresSlot(self, number)  # a commit that was lost on its way
        most = _stricter(limit.max_concurrent, shared[0])
        per_minute = _stricter(limit.requests_per_minute, shared[1])
        if most is None and per_minute is None:
            return PostgresSlot(self, None)
        if per_minute is not None and (wait := _until_next(cursor, name, per_minute)) > 0:
            return wait
        if most is not None and in_flight >= most:
            _free_dead_slots(cursor, name)
            cursor.execute("select count(*) from slot where provider = %s", (name,))
            if (cursor.fetchone() or (0,))[0] >= most:
                return _POLL_SECONDS
        if per_minute is not None:
            cursor.execute("insert into request_start (provider) values (%s)", (name,))
        cursor.execute(
            "insert into slot (id, provider, runner, until) overriding system value"
            " values (%s, %s, %s, clock_timestamp() + make_interval(secs => %s))",
            (number, name, self._lease.id, self._longest),
        )
        return PostgresSlot(self, number)


def _until_next(cursor: psycopg.Cursor[Row], name: str, per_minute: int) -> float:
    """Seconds until one more request may begin, so that no minute exceeds the limit."""
    cursor.execute(
        "delete from request_start where provider = %s"
        " and at < clock_timestamp() - make_interval(secs => %s)",
        (name, MINUTE),
    )
    cursor.execute(
        "select extract(epoch from at - clock_timestamp())::float8 + %s from request_start"
        " where provider = %s order by at desc offset %s limit 1",
        (MINUTE, name, per_minute - 1),
    )
    row = cursor.fetchone()
    return 0.0 if row is None else max(float(row[0]), 0.001)


def _free_dead_slots(cursor: psycopg.Cursor[Row], name: str) -> None:
    """Free the slots whose call is over for certain: the runner ended or is dead, or time is up.

    An expired lease alone frees nothing: the runner may be frozen while its call goes on. Nor is it
    needed on the machine of the runner, where its process shows whether it is dead.
    """
    cursor.execute(
        "delete from slot using runner where slot.runner = runner.id and slot.provider = %s"
        " and (runner.ended is not null or runner.buried is not null"
        " or (runner.lease_until < clock_timestamp() and slot.until < clock_timestamp()))",
        (name,),
    )
    here = this_machine()
    cursor.execute(
        "select slot.id, host, boot, namespace, machine, pid, start_time from slot"
        " join runner on runner.id = slot.runner"
        " where slot.provider = %s"
        " and (lease_until < clock_timestamp() or boot = %s)",
        (name, here.boot),
    )
    for number, *process in cursor.fetchall():
        if is_dead_process(*process):
            cursor.execute("delete from slot where id = %s", (number,))


def _stricter(one: int | None, other: int | None) -> int | None:
    known = [limit for limit in (one, other) if limit is not None]
    return min(known, default=None)
