"""What calls share with other runs, as ports: answers, claims, limits, budget.

The files of one machine are the first implementation (`file_store` puts them together). A store
that several machines share must keep the same promises:

* An answer is verified before it is put. Any process may put one, even one that has lost its
  claim; so where claims can be lost, the first answer stays until a refresh is requested.
* A claim is *held* (nothing is paid for yet; the death of its holder frees it) or *asking* (a tool
  was started; only an answer, a known end or a decision of the user frees it). `note` moves it from
  one to the other, so it is the gate: a store that can lose a claim compares its fencing token
  there and raises where the claim is no longer ours. Then nothing has been paid for.
* Settling and releasing a claim that is no longer ours changes nothing.
* Money that is reserved is freed by nothing but the known end of its call: settling it, or
  releasing it before `open`. A reservation that was never opened may be dropped, since `open`
  then says that the call must not be made.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, Self

import msgspec

from oraclepack.calls.budget import (
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Shortfall,
    Spending,
    UnknownPricePolicy,
)
from oraclepack.calls.cache import CacheEntry, CacheLookup, ListedEntry
from oraclepack.calls.limits import Limit
from oraclepack.errors import OraclePackError, UsageError
from oraclepack.journal.events import InvocationIntent
from oraclepack.system.ownership import Foreign


class StoreError(OraclePackError):
    """The shared store cannot be used now. Nothing was paid for because of it."""

    code = "STORE"
    retryable = True


def missing_driver() -> UsageError:
    """The settings name a database, and the library for it cannot be imported."""
    return UsageError(
        "the store is a PostgreSQL database, and psycopg is not installed",
        hint='pip install "oraclepack[fleet]"',
    )


class AnswerCache(Protocol):
    """Verified answers by the key of their question."""

    @property
    def foreign(self) -> Foreign | None:
        """Why nothing may be read from it or written to it; None when it is the user's own."""

    def get(self, key: str) -> CacheLookup | None:
        """The answer to a question, changed or foreign too; None when there is none."""

    def put(self, entry: CacheEntry, data: bytes) -> None:
        """Store a verified answer; a foreign or changed one at its place is renamed first."""

    def entries(self) -> Iterator[ListedEntry]:
        """Every entry with its state, in the order of the keys."""

    @property
    def unmet(self) -> "AnswerCache":
        """Whole answers that miss their contract, and those that a person accepted, apart."""


class Claim(Protocol):
    """The right to ask one question, held by one process at a time."""

    @property
    def open_call(self) -> InvocationIntent | None:
        """The open call of an earlier holder that was interrupted."""

    @property
    def is_unsigned(self) -> bool:
        """It names calls that are not signed with the user's key."""

    def note(self, intent: InvocationIntent) -> None:
        """Write down a call that may cost money from here on; the journal has it already.

        Called before the tool may begin. Raises OraclePackError where it must not begin.
        """

    def identify(self, intent: InvocationIntent) -> None:
        """Write down under which names the noted call can be found. Failing is not an error."""

    def withdraw(self) -> None:
        """The tool of the last note did not begin: what was known before holds again."""

    def settle(self) -> None:
        """Everything that was noted has come to a known end."""

    def release(self) -> None:
        """Let the next one ask; what is not settled stays written down."""


class Claims(Protocol):
    """Sees to it that a question is asked by one process at a time."""

    @property
    def spans_machines(self) -> bool:
        """Every machine claims here, so a claim without a call proves that none is open."""

    def acquire(self, key: str, pause: Callable[[float], bool]) -> Claim | None:
        """The right to ask a question, after waiting for it; None when `pause` says to give up.

        Raises OraclePackError where the question must not be asked without a claim.
        """


class Unclaimed:
    """The `Claim` of a question without a key, which needs none."""

    open_call: InvocationIntent | None = None
    is_unsigned = False

    def note(self, intent: InvocationIntent) -> None:
        """Nothing to do: the journal of the run has it."""

    def identify(self, intent: InvocationIntent) -> None:
        """Nothing to do: the journal of the run has it."""

    def withdraw(self) -> None:
        """Nothing to do."""

    def settle(self) -> None:
        """Nothing to do."""

    def release(self) -> None:
        """Nothing to do."""


class Slot(Protocol):
    """The right to make one call of a provider. Freed by `release`, or when the process dies."""

    def release(self) -> None:
        """Let another call have it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Limits(Protocol):
    """Hands out the slots of providers, in the order they were asked for within this process."""

    def acquire(self, name: str, limit: Limit, pause: Callable[[float], bool]) -> Slot | None:
        """A slot of a provider, after waiting for it; None when `pause` says to give up.

        A call without a limit waits for nothing, and takes no place of a call with one.
        """


class Budget(Protocol):
    """What all calls of the user cost on a day and in a month. The rules are in `calls/budget.py`.

    Every method raises OraclePackError where the ledger cannot be read or written.
    """

    def reserve(
        self,
        request: BudgetRequest,
        ceilings: Mapping[BudgetScope, Ceiling],
        unknown_price: UnknownPricePolicy,
    ) -> Shortfall | None:
        """Reserve the worst case of a call before it is made, or return why it does not fit."""

    def open(self, reservation: str) -> bool:
        """The tool may start now; False where the reservation is gone, so that it must not."""

    def settle(self, reservation: str, spent: Spending | None) -> None:
        """The outcome is known: what the call came to, or None for its worst case.

        Any process that learns the outcome may settle; settling twice changes nothing.
        """

    def release(self, reservation: str) -> None:
        """The call was not made; one that was opened stays."""

    def ledger(self) -> BudgetLedger:
        """What is spent and reserved now."""


class CallStore(msgspec.Struct, frozen=True):
    """Everything that calls share with other runs."""

    cache: AnswerCache
    """Shared by the runs of a project."""
    own: AnswerCache
    """Of this run alone: where the cache is not to be used, and for what is not to be shared."""
    user: AnswerCache | None
    """Of the user: found from every checkout; None where answers stay in their project."""
    claims: Claims
    limits: Limits
    budget: Budget
