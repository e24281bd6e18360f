"""`fleet run`: start the jobs of a manifest where there is room, until all are over."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, Refusal
from oraclepack.fleet.dask_cluster import WorkerStarter, check_dask, connected
from oraclepack.fleet.fleet_job import (
    FleetJob,
    FleetPolicy,
    FleetTotals,
    JobSource,
    JobState,
    make_job,
    read_manifest,
    to_submit,
    totals,
)
from oraclepack.fleet.fleet_reports import FleetReport
from oraclepack.fleet.job_store import JobStore
from oraclepack.system import files, git
from oraclepack.system.environment import environment

_WINDOW = 3
"""Jobs handed to Dask at once, as a multiple of what runs at once."""
_POLL_SECONDS = 1.0
_REPOSITORIES_AT_ONCE = 8
"""Repositories that are asked for their commits at once: each answer may take a second."""
HEAD_LOG = "head.log"
"""What `fleet run --detach` prints in the background."""


class FleetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `fleet run` was asked for."""

    name: str
    sources: tuple[JobSource, ...]
    scheduler: str = "local"
    at_once: int = 2
    worker_words: tuple[str, ...] = ()
    """Options that every worker gets."""
    log_dir: str
    insecure: bool = False
    policy: FleetPolicy | None = None
    """What holds for all jobs; None leaves it as it is."""
    lifts_stop: bool = True
    """An earlier `fleet stop` ends with it. Not with the process behind `--detach`, which begins
    later than its command: a stop in between was meant for it."""


Progress = Callable[[FleetTotals], None]


def sources_of(arguments: Sequence[str]) -> tuple[JobSource, ...]:
    """The jobs that the words of a command line mean: manifests and packs."""
    found: list[JobSource] = []
    for argument in arguments:
        path = Path(argument)
        data = files.read(path)
        if data is None:
            raise InputError(f"{argument} does not exist", hint="name a manifest or packs")
        if path.suffix == ".md":
            found.append(_source_of_pack(path, data))
            continue
        listed = read_manifest(data, argument)
        if isinstance(listed, Refusal):
            raise listed.error()
        found += [_placed(source, path.parent) for source in listed]
    return tuple(found)


def _placed(source: JobSource, folder: Path) -> JobSource:
    """A local repository is named relative to its manifest."""
    local = folder / source.repo
    if "://" not in source.repo and local.is_dir():
        return msgspec.structs.replace(source, repo=str(local.resolve()))
    return source


def _source_of_pack(path: Path, data: bytes) -> JobSource:
    root = git.top_level(path.absolute().parent, environment())
    if root is None:
        raise InputError(
            f"{path} is not in a git repository",
            hint="workers check repositories out; commit the project first",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8", hint="see `oraclepack validate`") from None
    relative = path.absolute().resolve().relative_to(root.resolve()).as_posix()
    return JobSource(repo=str(root), pack=relative, pack_text=text)


def jobs_of(name: str, sources: Sequence[JobSource]) -> tuple[FleetJob, ...]:
    """Jobs with their refs resolved to commits, so that every machine runs the same.

    Raises InputError that names every repository and ref that cannot be resolved.
    """
    commits: dict[tuple[str, str], str] = {}
    faults: list[InputError] = []
    places = tuple(dict.fromkeys((source.repo, source.ref) for source in sources))
    with ThreadPoolExecutor(_REPOSITORIES_AT_ONCE) as pool:
        found = pool.map(_commit_of, places)
        for place, commit in zip(places, found, strict=True):
            if isinstance(commit, InputError):
                faults.append(commit)
            else:
                commits[place] = commit
    if len(faults) > 1:
        lines = "\n".join(fault.message for fault in faults)
        hint = "correct these lines of the manifest; nothing was started"
        raise InputError(f"{len(faults)} repositories cannot be used", detail=lines, hint=hint)
    if faults:
        raise faults[0]
    return tuple(make_job(name, source, commits[source.repo, source.ref]) for source in sources)


def _commit_of(place: tuple[str, str]) -> str | InputError:
    repo, ref = place
    try:
        commit = git.remote_commit(repo, ref, environment())
    except git.GitError as trouble:
        return InputError(f"{repo}: {trouble}", hint="see that git can read this repository")
    if commit is None:
        return InputError(f"{repo} has no commit {ref}", hint="name a branch, tag or commit")
    return commit


def run_fleet(store: JobStore, request: FleetRequest, progress: Progress) -> FleetReport:
    """Submit what is missing and wait until every job is over. Running it again goes on."""
    wanted, due = register(store, request)
    if due:
        with connected(request.scheduler, request.at_once, insecure=request.insecure) as starter:
            _submit_all(starter, store, request, due, progress)
    return fleet_report(store, request.name, {job.id for job in wanted}, len(due))


def register(
    store: JobStore, request: FleetRequest
) -> tuple[tuple[FleetJob, ...], tuple[FleetJob, ...]]:
    """Put the jobs of a request into the store; all of them, and those that are due."""
    wanted = jobs_of(request.name, request.sources)
    store.add(wanted)
    if request.lifts_stop:
        store.request_stop(request.name, "", stop=False)
    if request.policy is not None:
        store.set_policy(request.name, request.policy)
    existing = {job.id: job for job in store.jobs(request.name)}
    return wanted, to_submit(wanted, existing)


def run_in_background(store: JobStore, request: FleetRequest, words: Sequence[str]) -> FleetReport:
    """Check the request, put its jobs into the store, and let another process run them."""
    check_dask(request.scheduler, insecure=request.insecure)
    wanted, due = register(store, request)
    log = Path(request.log_dir) / HEAD_LOG
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
    report = fleet_report(store, request.name, {job.id for job in wanted}, len(due))
    return msgspec.structs.replace(report, head=process.pid)


def _submit_all(
    starter: WorkerStarter,
    store: JobStore,
    request: FleetRequest,
    due: Sequence[FleetJob],
    progress: Progress,
) -> None:
    waiting = list(due)
    wanted = {job.id for job in due}
    is_elsewhere = False  # another `fleet run` started some of them, and they still run
    while waiting or starter.count() or is_elsewhere:
        if store.is_stopping(request.name):
            waiting.clear()
        while waiting and starter.count() < _WINDOW * request.at_once:
            job = waiting.pop(0)
            words = ("fleet", "worker", "--name", request.name, "--job", job.id)
            log = f"{request.log_dir}/{job.id}.log"
            starter.start(job.id, (*words, *request.worker_words), log)
        starter.pause(_POLL_SECONDS)
        jobs = store.jobs(request.name)
        is_elsewhere = any(job.id in wanted and job.state is JobState.RUNNING for job in jobs)
        progress(totals(jobs))


def fleet_report(
    store: JobStore, name: str, wanted: set[str] | None = None, submitted: int = 0
) -> FleetReport:
    """The state of the jobs of a fleet."""
    jobs = store.jobs(name)
    if not jobs:
        raise InputError(
            f"there is no fleet {name}", hint=f"known: {', '.join(store.fleets()) or 'none'}"
        )
    shown = tuple(job for job in jobs if wanted is None or job.id in wanted)
    limit = store.policy(name).max_cost
    return FleetReport(
        name=name,
        totals=totals(shown),
        jobs=shown,
        submitted=submitted,
        max_cost=None if limit is None else str(limit),
        standing=store.standing(name),
    )
