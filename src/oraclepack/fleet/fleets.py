"""Everything a front end does with fleets, on the store that the settings name."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from oraclepack.errors import UsageError
from oraclepack.fleet.dask_cluster import WorkerStarter, check_dask, connected
from oraclepack.fleet.fleet_job import (
    OVER,
    FleetJob,
    FleetPolicy,
    FleetTotals,
    JobState,
    check_name,
    to_submit,
    totals,
)
from oraclepack.fleet.fleet_reports import FleetCollection, FleetReport, JobResult
from oraclepack.fleet.fleet_run import fleet_report, jobs_of, sources_of
from oraclepack.fleet.job_store import FileJobStore, JobStore
from oraclepack.fleet.job_worker import MovePolicy, WorkerOptions, run_job
from oraclepack.settings import call_settings
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.loading import set_variable
from oraclepack.settings.registry import Settings
from oraclepack.store.database import missing_driver
from oraclepack.system import files
from oraclepack.system.environment import state_directory

if TYPE_CHECKING:
    from oraclepack.fleet.shared_store import SharedStore
    from oraclepack.shell.stop import Stop


_WINDOW = 3
"""Jobs handed to Dask at once, as a multiple of what runs at once."""
_POLL_SECONDS = 1.0
HEAD_LOG = "head.log"
"""What `fleet run --detach` prints in the background."""


class Fleets:
    """The fleets of a store: the database of the settings, or files of this machine."""

    def __init__(self, dsn: str, lease_seconds: float = 60.0) -> None:
        self._dsn = dsn
        self._lease_seconds = lease_seconds

    @property
    def work_dir(self) -> Path:
        """Where workers check repositories out, unless configured otherwise."""
        return state_directory() / "fleet-work"

    def run(  # noqa: PLR0913 - each is optional and given by name
        self,
        arguments: Sequence[str],
        name: str,
        *,
        scheduler: str = "local",
        at_once: int = 2,
        insecure: bool = False,
        max_cost: Decimal | Literal["unchanged"] | None = "unchanged",
        unknown_after: float | Literal["unchanged"] | None = "unchanged",
        worker_words: Sequence[str] = (),
        detach: Sequence[str] | None = None,
        is_detached: bool = False,
        progress: Callable[[FleetTotals], None] = lambda _: None,
    ) -> FleetReport:
        """Run the packs of a manifest, or packs; what is done already is not run again.

        `detach` are the words of the command for a process in the background, which then runs
        them; `is_detached` holds in that process.
        """
        sources = sources_of(arguments)
        check_name(name)
        check_dask(scheduler, insecure=insecure)
        if scheduler != "local" and not self._dsn:
            raise UsageError(
                f"--scheduler {scheduler} reaches other machines, which cannot read local files",
                hint="add --store postgresql://…, or set `store` in your own config file",
            )
        logs = state_directory() / "fleet-logs" / name
        with self._jobs() as store:
            wanted = jobs_of(name, sources)
            store.add(wanted)
            if not is_detached:
                # A stop between `--detach` and the process behind it was meant for that.
                store.request_stop(name, "", stop=False)
            known = store.policy(name)
            policy = FleetPolicy(
                max_cost=known.max_cost if max_cost == "unchanged" else max_cost,
                unknown_after=known.unknown_after
                if unknown_after == "unchanged"
                else unknown_after,
            )
            if policy != known:
                store.set_policy(name, policy)
            due = to_submit(wanted, {job.id: job for job in store.jobs(name)})
            head = _in_background(detach, logs / HEAD_LOG) if detach is not None else None
            if head is None and due:
                with connected(scheduler, at_once, insecure=insecure) as starter:
                    _start_all(starter, store, due, at_once, logs, worker_words, progress)
            report = fleet_report(store, name, {job.id for job in wanted}, len(due))
            return replace(report, head=head)

    def status(self, name: str) -> FleetReport:
        with self._jobs() as store:
            return fleet_report(store, check_name(name))

    def names(self) -> tuple[str, ...]:
        with self._jobs() as store:
            return store.fleets()

    def watch(
        self, name: str, progress: Callable[[FleetTotals], None], every: float
    ) -> FleetReport:
        """Look at a fleet again and again until every job is over, or stopped while it waits."""
        with self._jobs() as store:
            while True:
                report = fleet_report(store, check_name(name))
                progress(report.totals)
                at_rest = OVER
                if store.is_stopping(name):
                    at_rest |= {JobState.QUEUED}  # nothing starts them before the next `fleet run`
                if all(job.state in at_rest for job in report.jobs):
                    return report
                time.sleep(every)

    def collect(self, name: str, target: Path) -> FleetCollection:
        """Bring the runs of a fleet, and write one backlog and one site over all of them."""
        # It loads everything that reads answers, which takes a worker longer than its run.
        from oraclepack.fleet.collect_runs import collect

        with self._jobs() as store:
            fleet_report(store, check_name(name))
            return collect(store, name, target)

    def stop(self, name: str, asked_by: str) -> FleetReport:
        """Ask every worker of a fleet to end politely."""
        with self._jobs() as store:
            report = fleet_report(store, check_name(name))
            store.request_stop(name, asked_by)
            return report

    def work(
        self,
        name: str,
        job_id: str,
        stop: Stop,
        *,
        move: str = MovePolicy.SAFE,
        on_unknown: str = "fail",
        work_dir: str = "",
    ) -> JobResult:
        """Run one job here, as a worker."""
        options = WorkerOptions(
            work_dir=Path(work_dir) if work_dir else self.work_dir,
            move=MovePolicy(move),
            settings={"on_unknown": on_unknown},
            publishes=bool(self._dsn),
        )
        with self._jobs(takes=True) as store:
            return run_job(store, check_name(name), job_id, options, stop)

    def archive(self, name: str, job_id: str) -> bytes | None:
        """The run directory of a job, packed."""
        with self._jobs() as store:
            return store.archive(check_name(name), job_id)

    @contextmanager
    def _jobs(self, *, takes: bool = False) -> Iterator[JobStore]:
        if not self._dsn:
            yield FileJobStore()
            return
        try:
            from oraclepack.fleet.postgres_jobs import opened_jobs
        except ImportError:
            raise missing_driver() from None
        with opened_jobs(self._dsn, self._lease_seconds, takes=takes) as store:
            yield store


def _in_background(words: Sequence[str], log: Path) -> int:
    """Let another process run a fleet; its number."""
    files.make_private(log.parent)
    with log.open("ab") as output:
        process = subprocess.Popen(
            # -P: what lies in the current directory is the project's, and must not be imported.
            [sys.executable, "-P", "-m", "oraclepack", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return process.pid


def _start_all(
    starter: WorkerStarter,
    store: JobStore,
    due: Sequence[FleetJob],
    at_once: int,
    logs: Path,
    worker_words: Sequence[str],
    progress: Callable[[FleetTotals], None],
) -> None:
    """Start jobs where there is room, until all are over."""
    waiting, ids, name = list(due), {job.id for job in due}, due[0].fleet
    is_elsewhere = False  # another `fleet run` started some of them, and they still run
    while waiting or starter.count() or is_elsewhere:
        if store.is_stopping(name):
            waiting.clear()
        while waiting and starter.count() < _WINDOW * at_once:
            job = waiting.pop(0)
            words = ("fleet", "worker", "--name", name, "--job", job.id, *worker_words)
            starter.start(job.id, words, f"{logs}/{job.id}.log")
        starter.pause(_POLL_SECONDS)
        jobs = store.jobs(name)
        is_elsewhere = any(job.id in ids and job.state is JobState.RUNNING for job in jobs)
        progress(totals(jobs))


def open_fleets(settings: Settings) -> Fleets:
    """Many packs on many machines: run, status, stop, work."""
    store = settings[call_settings.STORE]
    if settings.origin(call_settings.STORE).source is ValueSource.FLAG:
        # The workers of this machine, and the runs in them, take it from the environment.
        set_variable(call_settings.STORE.variable, store)
    return Fleets(store, settings[call_settings.STORE_LEASE])


@contextmanager
def open_shared_store(settings: Settings) -> Iterator[SharedStore]:
    """The database that machines share: init, examine, unknown, bury, limits."""
    dsn = settings[call_settings.STORE]
    if not dsn:
        raise UsageError(
            "there is no shared store",
            hint="add --store postgresql://…, or set `store` in your own config file or"
            " ORACLEPACK_STORE",
        )
    try:
        from oraclepack.fleet.shared_store import SharedStore
        from oraclepack.store.postgres import PostgresDatabase
    except ImportError:
        raise missing_driver() from None
    with closing(PostgresDatabase(dsn)) as database:
        yield SharedStore(database)
