"""The jobs of fleets in files of one machine; `postgres_jobs` has them in a shared database.

A job is taken by one worker at a time. Only its last worker may report on it; the reports of an
earlier one, which was taken for dead, change nothing.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from oraclepack.errors import InputError
from oraclepack.fleet.fleet_job import (
    FleetJob,
    FleetPolicy,
    JobState,
    JobSummary,
    check_name,
)
from oraclepack.fleet.fleet_reports import FleetStanding, UnknownCall
from oraclepack.fleet.run_archive import pack_directory
from oraclepack.journal import run_dir as journal_run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import UNDECIDED
from oraclepack.store.budget import Budget
from oraclepack.store.spending import fleet_spending
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system import files, locks
from oraclepack.system.digests import canonical_file
from oraclepack.system.environment import state_directory

_JOB, _LOCK, _STOP, _ORDER, _POLICY = "job.json", "lock", "stop", "order", "policy.json"


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker reports about a job."""

    summary: JobSummary
    run_dir: str | None = None
    archive: bytes | None = None
    """The run directory, packed, for stores that other machines read."""
    state: JobState | None = None
    """How it ended; None while it runs."""
    exit_code: int | None = None


if TYPE_CHECKING:
    from oraclepack.fleet.postgres_jobs import PostgresJobStore, PostgresTakenJob

JobStore: TypeAlias = "FileJobStore | PostgresJobStore"
TakenJob: TypeAlias = "FileTakenJob | PostgresTakenJob"


class FileJobStore:
    """The jobs in a directory of the user: one directory per fleet and job."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or state_directory() / "fleets"

    def add(self, jobs: Iterable[FleetJob]) -> None:
        """Remember jobs; those that are known already stay as they are."""
        by_fleet: dict[str, list[FleetJob]] = {}
        for job in jobs:
            by_fleet.setdefault(job.fleet, []).append(job)
        for fleet, members in by_fleet.items():
            files.make_private(self._folder(fleet))
            with locks.turn(self._folder(fleet) / _LOCK):
                self._add(self._folder(fleet), members)

    def _add(self, fleet: Path, jobs: Sequence[FleetJob]) -> None:
        new = [job for job in jobs if not files.read(fleet / job.id / _JOB)]
        if not new:
            return
        # First the order: an id without a job is skipped, a job without a place never listed.
        order = files.read(fleet / _ORDER) or b""
        names = "".join(f"{job.id}\n" for job in new)
        files.write_atomic(fleet / _ORDER, order + names.encode())
        files.make_private(*(fleet / job.id for job in new))
        for job in new:
            # A job that a power cut forgets is missing, and is submitted again.
            _write(fleet / job.id, job, durable=False)

    def jobs(self, fleet: str) -> tuple[FleetJob, ...]:
        """The jobs of a fleet in the order in which they were added."""
        order = files.read(self._folder(fleet) / _ORDER) or b""
        read = (self._read(fleet, name) for name in dict.fromkeys(order.decode().split()))
        return tuple(job for job in read if job is not None)

    def fleets(self) -> tuple[str, ...]:
        with suppress(OSError):
            return tuple(sorted(os.listdir(self._directory)))
        return ()

    def take(self, fleet: str, job_id: str) -> "FileTakenJob | None":
        """The right to run a job; None when it is done, or another worker runs it."""
        folder = self._folder(fleet) / job_id
        if self._read(fleet, job_id) is None:
            raise InputError(f"fleet {fleet} has no job {job_id}", hint="see `fleet status`")
        descriptor = locks.hold(folder / _LOCK)
        if descriptor is None:
            return None
        job = self._read(fleet, job_id)
        assert job is not None
        if job.state is JobState.DONE:  # Dask may start a worker twice
            os.close(descriptor)
            return None
        taken = replace(job, state=JobState.RUNNING, takes=job.takes + 1, host=os.uname().nodename)
        _write(folder, taken)
        return FileTakenJob(folder, taken, descriptor)

    def archive(self, fleet: str, job_id: str) -> bytes | None:
        """The run directory of a job, packed; None when there is none on this machine."""
        job = self._read(fleet, job_id)
        if job is None or job.run_dir is None or not Path(job.run_dir).is_dir():
            return None
        return pack_directory(Path(job.run_dir))

    def request_stop(self, fleet: str, asked_by: str, *, stop: bool = True) -> None:
        """Ask all workers of a fleet to end politely, or take that back."""
        path = self._folder(fleet) / _STOP
        if stop:
            files.write_atomic(path, asked_by.encode(), mode=files.PRIVATE_FILE)
        else:
            files.forget(path)

    def is_stopping(self, fleet: str) -> bool:
        return (self._folder(fleet) / _STOP).exists()

    def set_policy(self, fleet: str, policy: FleetPolicy) -> None:
        """Say what holds for all jobs of a fleet that are taken from now on."""
        path = self._folder(fleet) / _POLICY
        files.write_atomic(path, canonical_file(policy), mode=files.PRIVATE_FILE)

    def policy(self, fleet: str) -> FleetPolicy:
        path = self._folder(fleet) / _POLICY
        data = files.read(path)
        try:
            return FleetPolicy() if data is None else msgspec.json.decode(data, type=FleetPolicy)
        except (msgspec.MsgspecError, UnicodeDecodeError) as trouble:
            raise InputError(
                f"{path} cannot be read: {trouble}",
                hint="remove it, and run the fleet again with its --max-cost",
            ) from None

    def standing(self, fleet: str) -> FleetStanding:
        """What the store knows of a fleet beside its jobs."""
        spent, reserved = fleet_spending(Budget(SqliteDatabase()).ledger(), fleet)
        undecided = (job for job in self.jobs(fleet) if job.state is JobState.UNDECIDED)
        return FleetStanding(
            spent=str(spent.cost),
            reserved=str(reserved.cost),
            unknown=tuple(call for job in undecided for call in unknown_in_run(job)),
        )

    def _folder(self, fleet: str) -> Path:
        return self._directory / check_name(fleet)

    def _read(self, fleet: str, job_id: str) -> FleetJob | None:
        """A job. One that runs and whose lock is free was killed with its worker."""
        folder = self._folder(fleet) / job_id
        data = files.read(folder / _JOB)
        if not data:
            return None
        try:
            job = msgspec.json.decode(data, type=FleetJob)
        except (msgspec.MsgspecError, UnicodeDecodeError) as trouble:
            raise InputError(
                f"{folder / _JOB} cannot be read: {trouble}",
                hint="remove its directory and submit the job again; its answers are kept",
            ) from None
        if job.state is JobState.RUNNING and locks.is_free(folder / _LOCK):
            return replace(job, state=JobState.QUEUED)
        return job


class FileTakenJob:
    """A job that this worker may run and report on: a lock, which the kernel frees when it dies."""

    archive: bytes | None = None

    def __init__(self, folder: Path, job: FleetJob, descriptor: int) -> None:
        self._folder = folder
        self.job = job
        self._descriptor = descriptor

    def report(self, report: JobReport) -> bool:
        """Say how far it is; False when another worker has taken the job meanwhile.

        A report with a state is the last one: the job is free afterwards.
        """
        self.job = replace(
            self.job,
            state=report.state or self.job.state,
            exit_code=report.exit_code,
            summary=report.summary,
            run_dir=report.run_dir or self.job.run_dir,
        )
        _write(self._folder, self.job)
        if report.state is not None:
            self.release()
        return True

    def release(self) -> None:
        """Let others take it; its state stays as it was reported."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def unknown_in_run(job: FleetJob) -> Iterator[UnknownCall]:
    """The undecided calls of a job whose run directory is on this machine."""
    if job.run_dir is None or job.summary.run_id is None:
        return
    run = RunDir(Path(job.run_dir).parents[2], job.summary.run_id)
    for name, step in journal_run_dir.examine(run).state.steps.items():
        calls = step.invocations
        last = calls[-1].outcome if calls else None
        if last is None or last.error is None or last.error.code != UNDECIDED:
            continue
        asked = next((call.intent for call in reversed(calls) if call.intent is not None), None)
        yield UnknownCall(
            key=last.key or "",
            asked_at=asked.at if asked else "",
            host=job.host or "",
            runner=job.id,
            step=name,
            model=last.model,
            output_path=last.output_path,
            resolution=last.error.message or "`--on-unknown retry` asks again",
        )


def _write(folder: Path, job: FleetJob, *, durable: bool = True) -> None:
    data = canonical_file(job)
    files.write_atomic(folder / _JOB, data, mode=files.PRIVATE_FILE, durable=durable)
