"""`fleet collect`: the runs of all jobs in one directory, their work, one backlog and one site."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from oraclepack.errors import OraclePackError
from oraclepack.fleet.combined_backlog import SharedTask, combined_page, merge_across
from oraclepack.fleet.fleet_job import FleetJob
from oraclepack.fleet.fleet_reports import CollectedRun, FleetCollection
from oraclepack.fleet.job_store import JobStore
from oraclepack.fleet.job_worker import check_out_pack
from oraclepack.fleet.run_archive import unpack_directory
from oraclepack.journal import run_dir as journal_run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.run.trust import find_candidate, trust_run
from oraclepack.store.database import StoreError
from oraclepack.system import files
from oraclepack.view.report.site import write_site
from oraclepack.work.actionize import ActionizeRequest, actionize_request
from oraclepack.work.backlog import Record

BACKLOG = "backlog.md"
SITE = "site"


def collect(store: JobStore, fleet: str, target: Path) -> FleetCollection:
    """Bring every published run, actionize it, and write the backlog and the site over all."""
    collected: list[CollectedRun] = []
    tasks: list[SharedTask] = []
    roots: list[str] = []
    for job in store.jobs(fleet):
        root = target / project_name(job)
        try:
            run_id = bring_run(store, job, root)
            if run_id is None:
                collected.append(_row(job, root, "has no run yet"))
                continue
            records = _actionized(root, run_id)
        except StoreError:
            raise  # no run can be brought now: a backlog without them would look like the whole
        except OraclePackError as trouble:
            collected.append(_row(job, root, trouble.message))
            continue
        roots.append(str(root))
        tasks += [SharedTask(root.name, record, job.source.repo) for record in records]
        collected.append(_row(job, root, "", run_id, len(records)))
    merged = merge_across(tasks)
    files.make_directories(target)
    files.write_atomic(target / BACKLOG, combined_page(fleet, merged, collected).encode())
    if roots:
        write_site(target, str(target / SITE), roots)
    return FleetCollection(
        name=fleet,
        directory=str(target),
        runs=tuple(collected),
        tasks=len(tasks),
        merged=len(merged),
        backlog=str(target / BACKLOG),
        site=str(target / SITE / "index.html") if roots else None,
    )


def project_name(job: FleetJob) -> str:
    """The directory of a job's project, readable and different for every job."""
    repository = Path(job.source.repo.rstrip("/")).name.removesuffix(".git") or "repository"
    return f"{repository}-{job.id[:8]}"


def bring_run(store: JobStore, job: FleetJob, root: Path) -> str | None:
    """The run of a job in its project, with the repository around it; None when it has none."""
    run_id, archive = job.summary.run_id, store.archive(job.fleet, job.id)
    if run_id is None or archive is None:
        return None
    check_out_pack(job, root)
    run = RunDir(root, run_id)
    if run.path.is_dir():
        files.remove_tree(run.path)  # an earlier state of the same run, brought by this command
    unpack_directory(archive, run.path)
    if journal_run_dir.examine(run).foreign is not None:
        # The store is the user's own, and its access control says who may publish runs.
        trust_run(find_candidate(root, run_id))
    return run_id


def _actionized(root: Path, run_id: str) -> Sequence[Record]:
    run = RunDir(root, run_id)
    request = ActionizeRequest(
        run_dir=str(run.path),
        answers="",
        pack="",
        out_dir="",
        exports=(),
        rollback_on_failure=False,
    )
    actionize_request(request, root)
    return tuple(read_records(files.read(run.path / "actionizer/normalized.jsonl") or b""))


def read_records(data: bytes) -> Iterable[Record]:
    for line in data.splitlines():
        yield msgspec.json.decode(line, type=Record)


def _row(
    job: FleetJob, root: Path, problem: str, run_id: str | None = None, tasks: int = 0
) -> CollectedRun:
    return CollectedRun(
        job=job.id,
        project=root.name,
        state=job.state,
        run_id=run_id,
        tasks=tasks,
        problem=problem,
    )
