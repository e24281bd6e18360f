"""The calls of a run on a PostgreSQL database that machines share, its answers included."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from oraclepack.calls.cache import CHANGED, GOOD, CacheEntry, CacheLookup, ListedEntry
from oraclepack.calls.file_cache import FileAnswerCache
from oraclepack.calls.file_store import project_cache, run_answers
from oraclepack.calls.store import AnswerCache, CallStore
from oraclepack.store.budget import Budget
from oraclepack.store.claims import Claims
from oraclepack.store.database import Database, Row, StoreError
from oraclepack.store.history import note_answer
from oraclepack.store.limits import Limits
from oraclepack.store.postgres import PATIENCE, PostgresDatabase
from oraclepack.store.runner import LEASE_SECONDS, Runner
from oraclepack.store.schema import check_version
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.digests import canonical_line, sha256_bytes
from oraclepack.system.environment import environment
from oraclepack.tools.oracle_config import around_call


class SharedAnswers:
    """An `AnswerCache` that machines share. Its access control says who may write answers.

    The first answer of a generation stays.
    """

    foreign = None

    def __init__(
        self, database: Database, local: AnswerCache, runner: Runner, *, refresh: bool
    ) -> None:
        """`local` remembers the runs of this project, which other machines do not have."""
        self._database = database
        self._local = local
        self._runner = runner
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
            *(canonical_line(entry).decode(), self._runner.id, entry.key),
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
                    self._runner.unstored.add(entry.key)
                raise

        try:
            work(waits=True)
        except StoreError as trouble:
            if trouble.retryable:
                self._runner.finish(work)
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


@contextmanager
def fleet_store(
    dsn: str,
    root: Path,
    run_dir: Path,
    *,
    refresh: bool = False,
    call_timeout: float | None = None,
    lease: float = LEASE_SECONDS,
    gives_up: Callable[[], bool] = lambda: False,
) -> Iterator[CallStore]:
    """What the calls of a run share with every machine. Raises StoreError.

    A server that stops answering is waited for as long as the lease lasts: after that another
    runner may go on with the work.
    """
    database = PostgresDatabase(dsn, patience=min(PATIENCE, lease), outage=lease, gives_up=gives_up)
    check_version(database)
    runner = Runner(database, fingerprint=fingerprint_of(root), seconds=lease)
    try:
        _ = runner.id  # its row shows that it is here, before it asks anything
        own = run_answers(root, run_dir)
        answers = SharedAnswers(database, project_cache(root), runner, refresh=refresh)
        push_answers(own, answers)
        yield CallStore(
            answers,
            own,
            Claims(database, runner),
            Limits(database, runner, call_timeout),
            Budget(database, runner),
            partial(note_answer, SqliteDatabase()),
        )
        push_answers(own, answers)
    finally:
        runner.close()


def fingerprint_of(folder: Path) -> str:
    """What decides about the keys of questions on this machine: runners of one kind share it.

    Whether a key is set decides which engine oracle chooses; its value is not part of it.
    """
    around = around_call(str(folder), environment())
    content = {
        "variables": dict(around.variables),
        "has_key": around.has_key,
        "configs": list(around.configs),
    }
    return sha256_bytes(canonical_line(content))[:16]


def push_answers(own: FileAnswerCache, shared: SharedAnswers) -> None:
    """Bring the answers that the run kept while the store did not answer. Failing is no error."""
    try:
        for listed in own.entries():
            if listed.state != GOOD or shared.get(listed.entry.key) is not None:
                continue
            own_answer = own.get(listed.entry.key)
            if own_answer is not None and own_answer.state == GOOD:
                shared.put(own_answer.entry, own_answer.data)
        shared.settle_answered()
    except StoreError:
        return
