"""Rate limits: how many calls of a provider run at once, and how many start per minute.

All commands that use the store share them. No wait blocks in the database, so every wait can be
interrupted.
"""

import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import msgspec

from oraclepack.store.database import Cursor, Database
from oraclepack.store.runner import Runner, end_dead_runners

MINUTE = 60.0
_LONGEST_CALL = 7200.0
_LONGEST_PAUSE = 1.0


class Limit(msgspec.Struct, frozen=True):
    """`[providers.<name>]`. None: no limit of ours."""

    max_concurrent: int | None = None
    requests_per_minute: int | None = None

    @property
    def is_none(self) -> bool:
        return self.max_concurrent is None and self.requests_per_minute is None


DEFAULTS: Mapping[str, Limit] = {"browser": Limit(max_concurrent=1)}
"""A browser profile can be used by one call at a time."""


def limit_for(name: str, given: Mapping[str, Limit]) -> Limit:
    """The limit of a provider, or of one browser profile (`browser-…`)."""
    family = "browser" if name.startswith("browser") else name
    return given.get(family) or DEFAULTS.get(family) or Limit()


def slot_reason(name: str, limit: Limit) -> str:
    """What a call waits for: `slot of browser, 1 at a time`."""
    words = [f"slot of {'browser' if name.startswith('browser') else name}"]
    words += [f"{limit.max_concurrent} at a time"] if limit.max_concurrent is not None else []
    per_minute = limit.requests_per_minute
    words += [f"{per_minute} per minute"] if per_minute is not None else []
    return ", ".join(words)


def lanes(parallel: int, limits: Sequence[Limit]) -> int | None:
    """How many steps make progress at once; None where a limit per minute decides."""
    if any(limit.requests_per_minute is not None for limit in limits):
        return None
    caps = [limit.max_concurrent for limit in limits if limit.max_concurrent is not None]
    return max(min([parallel, *caps]), 1)


def lanes_for(parallel: int, given: Mapping[str, Limit], providers: Sequence[str]) -> int | None:
    """`lanes` for calls of these providers, each with its own limit."""
    return lanes(parallel, [limit_for(name, given) for name in providers])


class Slot:
    """The right to make one call of a provider. Freed by `release`, or when the process dies."""

    def __init__(self, release: Callable[[], None] | None = None) -> None:
        self._release = release

    def release(self) -> None:
        """Let another call have it."""
        release, self._release = self._release, None
        if release is not None:
            release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Limits:
    """Hands out the slots of providers, in the order they were asked for within this process."""

    def __init__(
        self, database: Database, runner: Runner, longest_call: float | None = None
    ) -> None:
        self._database = database
        self._runner = runner
        self._longest = longest_call or _LONGEST_CALL
        self._poll = 0.25 if database.spans_machines else 0.05
        """Seconds between two checks. Only one waiter per provider and process asks the store."""
        self._lock = threading.Lock()
        self._queues: dict[str, deque[str]] = {}

    def acquire(self, name: str, limit: Limit, pause: Callable[[float], bool]) -> Slot | None:
        """A slot of a provider, after waiting for it; None when `pause` says to give up.

        A call without a limit waits for nothing, and takes no place of a call with one.
        """
        if limit.is_none and not self._database.spans_machines:
            return Slot()
        number, runner = uuid.uuid4().hex, self._runner.id
        with self._lock:
            queue = self._queues.setdefault(name, deque())
            queue.append(number)
        try:
            while True:
                slot: Slot | float = self._poll
                if queue[0] == number:
                    slot = self._database.transaction(
                        lambda cursor: self._try(cursor, name, limit, (number, runner))
                    )
                if isinstance(slot, Slot):
                    return slot
                if not pause(min(slot, _LONGEST_PAUSE)):
                    return None
        finally:
            with self._lock:
                queue.remove(number)

    def _try(self, cursor: Cursor, name: str, limit: Limit, slot: tuple[str, str]) -> Slot | float:
        """A slot, or the seconds until the next check."""
        number, runner = slot
        self._database.decide_alone(cursor, name)
        cursor.execute(
            "select (select count(*) from slot where id = %s),"
            " (select count(*) from slot where provider = %s), max_in_flight, per_minute"
            " from (select 1) as one left join provider on name = %s",
            (number, name, name),
        )
        is_taken, in_flight, *shared = cursor.fetchone() or (0, 0, None, None)
        if is_taken:
            return self._slot(number)  # a commit that was lost on its way
        most = _stricter(limit.max_concurrent, shared[0])
        per_minute = _stricter(limit.requests_per_minute, shared[1])
        if most is None and per_minute is None:
            return Slot()
        if per_minute is not None and (wait := _until_next(cursor, name, per_minute)) > 0:
            return wait
        if most is not None and in_flight >= most:
            self._free_dead_slots(cursor, name)
            cursor.execute("select count(*) from slot where provider = %s", (name,))
            if (cursor.fetchone() or (0,))[0] >= most:
                return self._poll
        if per_minute is not None:
            cursor.execute(
                "insert into request_start (provider, at) values (%s, unix_now())", (name,)
            )
        if most is None:
            return Slot()
        cursor.execute(
            "insert into slot (id, provider, runner, until) values (%s, %s, %s, unix_now() + %s)",
            (number, name, runner, self._longest),
        )
        return self._slot(number)

    def _slot(self, number: str) -> Slot:
        def give_back() -> None:
            self._database.rows("delete from slot where id = %s", (number,), waits=False)

        return Slot(lambda: self._runner.finish(give_back))

    def _free_dead_slots(self, cursor: Cursor, name: str) -> None:
        """Free the slots whose call is over for certain: the runner is dead, or time is up.

        An expired lease alone frees nothing: the runner may be frozen while its call goes on.
        """
        end_dead_runners(cursor, self._database)
        cursor.execute(
            "delete from slot where provider = %s and runner in (select id from runner"
            " where ended is not null or buried is not null"
            " or (not runner_is_alive(runner.id) and slot.until < unix_now()))",
            (name,),
        )


def _until_next(cursor: Cursor, name: str, per_minute: int) -> float:
    """Seconds until one more call may start, so that no minute exceeds the limit.

    A start in the future, of a clock that was set back, is forgotten.
    """
    cursor.execute(
        "delete from request_start where provider = %s"
        " and (at <= unix_now() - %s or at > unix_now())",
        (name, MINUTE),
    )
    cursor.execute(
        "select at - unix_now() + %s from request_start"
        " where provider = %s order by at desc limit 1 offset %s",
        (MINUTE, name, per_minute - 1),
    )
    row = cursor.fetchone()
    return 0.0 if row is None else max(float(row[0]), 0.001)


def _stricter(one: int | None, other: int | None) -> int | None:
    known = [limit for limit in (one, other) if limit is not None]
    return min(known, default=None)
