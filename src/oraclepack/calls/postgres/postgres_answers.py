"""Verified answers in the shared database. The first one of a generation stays."""

from collections.abc import Iterator

import msgspec

from oraclepack.calls.cache import CHANGED, GOOD, CacheEntry, CacheLookup, ListedEntry
from oraclepack.calls.postgres.database import Database, Row
from oraclepack.calls.postgres.runner_lease import RunnerLease
from oraclepack.calls.store import AnswerCache, StoreError
from oraclepack.system.digests import canonical_line, sha256_bytes


class PostgresAnswers:
    """An `AnswerCache` that machines share. Its access control says who may write answers."""

    foreign = None

    def __init__(
        self, database: Database, local: AnswerCache, lease: RunnerLease, *, refresh: bool
    ) -> None:
        """`local` remembers the runs of this project, which other machines do not have."""
        self._database = database
        self._local = local
        self._lease = lease
        self._refresh = refresh

    def get(self, key: str) -> CacheLookup | None:
        rows = self._database.rows(
            "select entry, data from answer where key = %s order by generation desc limit 1",
            (key,),
        )
        return _lookup(rows[0]) if rows else None

    def put(self, entry: CacheEntry, data: bytes) -> None:
        """Store a verified answer of any runner, later if the store is out of reach.

        Raises StoreError where it is not stored yet.
        """
        # The answer is valid even if the runner has lost its claim.
        next_generation = 1 if self._refresh else 0
        values = (
            *(entry.key, next_generation, entry.sha256, entry.bytes, data),
            *(canonical_line(entry).decode(), self._lease.id, entry.key),
        )

        def work(*, waits: bool = False) -> None:
            try:
                self._database.rows(
                    "insert into answer (key, generation, sha256, bytes, data, entry, runner)"
                    " select %s, greatest(coalesce(max(generation), 0) + %s, 1), %s, %s, %s, %s,"
                    " %s from answer where key = %s"
                    " on conflict (key, generation) do nothing",
                    values,
                    waits=waits,
                )
            except StoreError as trouble:
                if not trouble.retryable:
                    self._lease.unstored.add(entry.key)
                raise

        try:
            work(waits=True)
        except StoreError as trouble:
            if trouble.retryable:
                self._lease.finish(work)
            raise

    def settle_answered(self) -> None:
        """Remove the claims of calls whose answer came, but whose runner could not say so."""
        self._database.rows(
            "delete from claim using answer where claim.key = answer.key"
            " and claim.state = 'asking' and answer.stored >= claim.asked"
            " and (claim.holder is null or not runner_is_alive(claim.holder))"
        )

    def entries(self) -> Iterator[ListedEntry]:
        for entry, is_whole in self._database.rows(
            "select distinct on (key) entry, encode(sha256(data), 'hex') = entry->>'sha256'"
            " from answer order by key, generation desc"
        ):
            yield ListedEntry(msgspec.convert(entry, CacheEntry), GOOD if is_whole else CHANGED)

    @property
    def unmet(self) -> AnswerCache:
        """Those of this project: other machines do not need them."""
        return self._local.unmet


def _lookup(row: Row) -> CacheLookup:
    entry, data = msgspec.convert(row[0], CacheEntry), bytes(row[1])
    state = GOOD if sha256_bytes(data) == entry.sha256 else CHANGED
    return CacheLookup(entry, data, state)
