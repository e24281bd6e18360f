"""The jobs of fleets in the shared database, with fencing tokens."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import psycopg

from oraclepack.calls.fleet_store import fingerprint_of
from oraclepack.errors import InputError
from oraclepack.fleet.fleet_job import FleetJob, FleetPolicy
from oraclepack.fleet.fleet_reports import FleetStanding
from oraclepack.fleet.job_store import JobReport
from oraclepack.fleet.shared_store import SharedStore
from oraclepack.store.budget import Budget
from oraclepack.store.database import Database, Row, StoreError
from oraclepack.store.postgres import PostgresDatabase
from oraclepack.store.runner import Runner
from oraclepack.store.schema import check_version
from oraclepack.store.spending import fleet_spending
from oraclepack.system.digests import canonical_line
from oraclepack.system.machine import this_machine

_COLUMNS = (
    *("id", "fleet", "commit", "source", "state", "takes", "host", "exit_code", "summary"),
    "run_dir",
)
"""Of a job, as statements select them."""


class PostgresJobStore:
    """The jobs that every machine reads and writes, as `FileJobStore` has them for one.

    `runner` is needed to take jobs.
    """

    def __init__(self, database: Database, runner: Runner | None = None) -> None:
        check_version(database)
        self.database = database
        self._runner = runner

    def add(self, jobs: Iterable[FleetJob]) -> None:
        added = list(jobs)
        self.database.rows(
            "insert into job (id, fleet, commit_id, source) select id, fleet, commit, source::jsonb"
            " from unnest(%s::text[], %s::text[], %s::text[], %s::text[])"
            " as added(id, fleet, commit, source) on conflict do nothing",
            (
                [job.id for job in added],
                [job.fleet for job in added],
                [job.commit for job in added],
                [canonical_line(job.source).decode() for job in added],
            ),
        )

    def jobs(self, fleet: str) -> tuple[FleetJob, ...]:
        rows = self.database.rows(
            "select id, fleet, commit_id, source,"
            " case when state = 'running' and not runner_is_alive(runner) then 'queued'"
            " else state end, takes, host, exit_code, summary, run_dir"
            " from job where fleet = %s order by number",
            (fleet,),
        )
        return tuple(map(_job, rows))

    def fleets(self) -> tuple[str, ...]:
        return tuple(
            row[0] for row in self.database.rows("select distinct fleet from job order by 1")
        )

    def take(self, fleet: str, job_id: str) -> "PostgresTakenJob | None":
        assert self._runner is not None, "only a runner takes jobs"
        self._refuse_mixture(fleet, self._runner.fingerprint)
        rows = self.database.rows(
            "update job set state = 'running', token = nextval('job_token'), runner = %s,"
            " host = %s, takes = takes + 1, changed = clock_timestamp()"
            " where fleet = %s and id = %s"
            " and state <> 'done' and (state <> 'running' or not runner_is_alive(runner))"
            " returning id, fleet, commit_id, source, state, takes, host, exit_code, summary,"
            " run_dir, token, archive",
            (self._runner.id, this_machine().host, fleet, job_id),
        )
        if rows:
            *job, token, archive = rows[0]
            held = bytes(archive) if archive is not None else None
            return PostgresTakenJob(self.database, self._runner.id, _job(job), int(token), held)
        if not self.database.rows(
            "select 1 from job where fleet = %s and id = %s", (fleet, job_id)
        ):
            raise InputError(f"fleet {fleet} has no job {job_id}", hint="see `fleet status`")
        return None

    def _refuse_mixture(self, fleet: str, fingerprint: str) -> None:
        """Refuse a worker that would give the same question another key, and pay twice."""
        others = self.database.rows(
            "select distinct runner.host from job join runner on runner.id = job.runner"
            " where job.fleet = %s and job.state = 'running' and runner.fingerprint <> %s"
            " and runner_is_alive(runner.id)",
            (fleet, fingerprint),
        )
        if others:
            raise StoreError(
                f"this worker is set up differently from {', '.join(row[0] for row in others)}",
                hint="give every worker the same API keys, base URLs and configuration of oracle",
                retryable=False,
            )

    def archive(self, fleet: str, job_id: str) -> bytes | None:
        try:
            rows = self.database.rows(
                "select archive from job where fleet = %s and id = %s", (fleet, job_id)
            )
        except StoreError as trouble:
            if not isinstance(trouble.__cause__, psycopg.errors.InsufficientPrivilege):
                raise
            raise StoreError(
                "this login may not read answers, as an observer may not",
                hint="use a login with the role oraclepack_admin or oraclepack_worker",
                retryable=False,
            ) from trouble
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def request_stop(self, fleet: str, asked_by: str, *, stop: bool = True) -> None:
        self.database.rows(
            "insert into fleet_request (fleet, stop, asked_by) values (%s, %s, %s)"
            " on conflict (fleet) do update set stop = excluded.stop,"
            " asked_by = excluded.asked_by, at = clock_timestamp()",
            (fleet, stop, asked_by),
        )

    def set_policy(self, fleet: str, policy: FleetPolicy) -> None:
        self.database.rows(
            "insert into fleet_request (fleet, asked_by, max_cost, unknown_after)"
            " values (%s, '', %s, %s) on conflict (fleet) do update"
            " set max_cost = excluded.max_cost, unknown_after = excluded.unknown_after",
            (fleet, policy.max_cost, policy.unknown_after),
        )

    def policy(self, fleet: str) -> FleetPolicy:
        rows = self.database.rows(
            "select max_cost, unknown_after from fleet_request where fleet = %s", (fleet,)
        )
        return FleetPolicy(max_cost=rows[0][0], unknown_after=rows[0][1]) if rows else FleetPolicy()

    def standing(self, fleet: str) -> FleetStanding:
        ledger = Budget(self.database).ledger()
        spent, reserved = fleet_spending(ledger, fleet)
        return FleetStanding(
            spent=str(spent.cost),
            reserved=str(reserved.cost),
            providers=SharedStore(self.database).limits().providers,
            unknown=SharedStore(self.database).unknown().calls,
        )

    def is_stopping(self, fleet: str) -> bool:
        rows = self.database.rows("select stop from fleet_request where fleet = %s", (fleet,))
        return bool(rows and rows[0][0])


class PostgresTakenJob:
    """The right to run a job, valid as long as its token is the newest; as `FileTakenJob`."""

    def __init__(
        self, database: Database, runner: str, job: FleetJob, token: int, archive: bytes | None
    ) -> None:
        self._database = database
        self._runner = runner
        self.job = job
        self._token = token
        self.archive = archive

    def report(self, report: JobReport) -> bool:
        rows = self._database.rows(
            "update job set state = coalesce(%s, state), exit_code = coalesce(%s, exit_code),"
            " summary = %s, run_dir = coalesce(%s, run_dir), archive = coalesce(%s, archive),"
            " runner = case when %s then null else runner end, changed = clock_timestamp()"
            " where fleet = %s and id = %s and token = %s returning 1",
            (
                *(report.state, report.exit_code, canonical_line(report.summary).decode()),
                *(report.run_dir, report.archive, report.state is not None),
                *(self.job.fleet, self.job.id, self._token),
            ),
        )
        return bool(rows)

    def release(self) -> None:
        self._database.rows(
            "update job set state = case when state = 'running' then 'queued' else state end,"
            " runner = null where fleet = %s and id = %s and token = %s",
            (self.job.fleet, self.job.id, self._token),
        )


def _job(row: Row | list[object]) -> FleetJob:
    return msgspec.convert(dict(zip(_COLUMNS, row, strict=True)), FleetJob)


@contextmanager
def opened_jobs(dsn: str, lease_seconds: float, *, takes: bool) -> Iterator[PostgresJobStore]:
    """The jobs of a database; with `takes` also the right to run them."""
    with closing(PostgresDatabase(dsn, outage=lease_seconds if takes else 0.0)) as database:
        check_version(database)
        runner = None
        if takes:
            runner = Runner(database, fingerprint=fingerprint_of(Path("/")), seconds=lease_seconds)
            _ = runner.id
        try:
            yield PostgresJobStore(database, runner)
        finally:
            if runner is not None:
                runner.close()
