"""The calls of a run on a shared PostgreSQL database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from oraclepack import __version__
from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_cache import FileAnswerCache
from oraclepack.calls.file_store import project_cache, run_answers
from oraclepack.calls.postgres.database import PATIENCE, Database
from oraclepack.calls.postgres.migrations import check_version
from oraclepack.calls.postgres.postgres_answers import PostgresAnswers
from oraclepack.calls.postgres.postgres_budget import PostgresBudget
from oraclepack.calls.postgres.postgres_claims import PostgresClaims
from oraclepack.calls.postgres.postgres_limits import PostgresLimits
from oraclepack.calls.postgres.runner_lease import LEASE_SECONDS, RunnerLease
from oraclepack.calls.store import CallStore, StoreError
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import canonical_line, sha256_bytes
from oraclepack.system.environment import environment
from oraclepack.tools.oracle_config import around_call


@contextmanager
def postgres_store(
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
    database = Database(dsn, patience=min(PATIENCE, lease), outage=lease, gives_up=gives_up)
    check_version(database)
    runner = RunnerLease(database, __version__, fingerprint=fingerprint_of(root), seconds=lease)
    try:
        own = run_answers(root, run_dir)
        answers = PostgresAnswers(database, project_cache(root), runner, refresh=refresh)
        push_answers(own, answers)
        yield CallStore(
            answers,
            own,
            None,
            PostgresClaims(database, runner),
            PostgresLimits(database, runner, call_timeout),
            PostgresBudget(database, SystemClock()),
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


def push_answers(own: FileAnswerCache, shared: PostgresAnswers) -> None:
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
