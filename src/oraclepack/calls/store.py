"""What calls share with other runs: answers, claims, limits, budget.

An answer is verified before it is put. Any command may put one, even one that has lost its claim;
so where claims can be lost, the first answer stays until a refresh is requested.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from oraclepack.calls.cache import CacheEntry, CacheLookup, ListedEntry
from oraclepack.store.budget import Budget
from oraclepack.store.claims import Claims
from oraclepack.store.history import AnswerFigures
from oraclepack.store.limits import Limits
from oraclepack.system.ownership import Foreign


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


class CallStore(msgspec.Struct, frozen=True):
    """Everything that calls share with other runs."""

    cache: AnswerCache
    """Shared by the runs of a project."""
    own: AnswerCache
    """Of this run alone: where the cache is not to be used, and for what is not to be shared."""
    claims: Claims
    limits: Limits
    budget: Budget
    note_answer: Callable[[AnswerFigures], None]
    """Remembers what an answer was like, for forecasts."""
