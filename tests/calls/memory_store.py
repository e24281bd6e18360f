"""A store without files: what a shared store has to do, and nothing else."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Self

from oraclepack.calls.budget import (
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    UnknownPricePolicy,
    open_reservation,
    release,
    reserve,
    settle,
)
from oraclepack.calls.cache import GOOD, CacheEntry, CacheLookup, ListedEntry
from oraclepack.calls.limits import Limit
from oraclepack.calls.store import CallStore, StoreError
from oraclepack.journal.events import InvocationIntent


class MemoryCache:
    """An `AnswerCache`: the first answer to a question stays."""

    foreign = None

    def __init__(self) -> None:
        self._answers: dict[str, CacheLookup] = {}
        self._unmet: MemoryCache | None = None

    def get(self, key: str) -> CacheLookup | None:
        return self._answers.get(key)

    def put(self, entry: CacheEntry, data: bytes) -> None:
        self._answers.setdefault(entry.key, CacheLookup(entry, data, GOOD))

    def entries(self) -> Iterator[ListedEntry]:
        for _, found in sorted(self._answers.items()):
            yield ListedEntry(found.entry, found.state)

    @property
    def unmet(self) -> "MemoryCache":
        if self._unmet is None:
            self._unmet = MemoryCache()
        return self._unmet


class MemoryClaims:
    """`Claims` with fencing tokens: who has lost a claim can pay for nothing more."""

    def __init__(self, *, spans_machines: bool = False) -> None:
        self.spans_machines = spans_machines
        self._lock = threading.Lock()
        self.tokens: dict[str, int] = {}
        self.noted: dict[str, InvocationIntent] = {}
        self._held: set[str] = set()

    def acquire(self, key: str, pause: Callable[[float], bool]) -> "MemoryClaim | None":
        while True:
            with self._lock:
                if key not in self._held:
                    self._held.add(key)
                    self.tokens[key] = self.tokens.get(key, 0) + 1
                    return MemoryClaim(self, key, self.tokens[key])
            if not pause(0.01):
                return None

    def take_away(self, key: str) -> None:
        """Another runner holds the claim from now on."""
        with self._lock:
            self.tokens[key] += 1

    def give_back(self, key: str) -> None:
        with self._lock:
            self._held.discard(key)


class MemoryClaim:
    """A `Claim`, good for as long as its token is the last one."""

    is_unsigned = False

    def __init__(self, claims: MemoryClaims, key: str, token: int) -> None:
        self._claims, self._key, self._token = claims, key, token
        self.open_call = claims.noted.get(key)

    def note(self, intent: InvocationIntent) -> None:
        if not self._is_ours():
            raise StoreError("another runner has the claim")
        self._claims.noted[self._key] = intent

    def identify(self, intent: InvocationIntent) -> None:
        if self._is_ours():
            self._claims.noted[self._key] = intent

    def withdraw(self) -> None:
        if self._is_ours():
            self._claims.noted.pop(self._key, None)
            if self.open_call is not None:
                self._claims.noted[self._key] = self.open_call

    def settle(self) -> None:
        if self._is_ours():
            self._claims.noted.pop(self._key, None)

    def release(self) -> None:
        if self._is_ours():
            self._claims.give_back(self._key)

    def _is_ours(self) -> bool:
        return self._claims.tokens[self._key] == self._token


class MemoryBudget:
    """A `Budget` in one process: the rules, and a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ledger = BudgetLedger()

    def reserve(
        self,
        request: BudgetRequest,
        ceilings: Mapping[BudgetScope, Ceiling],
        unknown_price: UnknownPricePolicy,
    ) -> Shortfall | None:
        with self._lock:
            made = reserve(self._ledger, request, ceilings, unknown_price)
            if isinstance(made, Shortfall):
                return made
            self._ledger = made
            return None

    def open(self, reservation: str) -> bool:
        with self._lock:
            self._ledger = open_reservation(self._ledger, reservation)
            return reservation in self._ledger.reservations

    def settle(self, reservation: str, spent: Spending | None) -> None:
        with self._lock:
            self._ledger = settle(self._ledger, reservation, spent)

    def release(self, reservation: str) -> None:
        with self._lock:
            self._ledger = release(self._ledger, reservation)

    def ledger(self) -> BudgetLedger:
        return self._ledger


class FreeSlot:
    """A `Slot` of nothing."""

    def release(self) -> None:
        """There is always another one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class NoLimits:
    """`Limits` of a provider that takes everything."""

    def acquire(self, _name: str, _limit: Limit, _pause: Callable[[float], bool]) -> FreeSlot:
        return FreeSlot()


def memory_store(claims: MemoryClaims) -> CallStore:
    return CallStore(MemoryCache(), MemoryCache(), None, claims, NoLimits(), MemoryBudget())
