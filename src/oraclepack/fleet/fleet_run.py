"""The jobs that manifests and packs mean, and what people see of them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, Refusal
from oraclepack.fleet.fleet_job import (
    FleetJob,
    JobSource,
    make_job,
    read_manifest,
    totals,
)
from oraclepack.fleet.fleet_reports import FleetReport
from oraclepack.fleet.job_store import JobStore
from oraclepack.system import files, git
from oraclepack.system.environment import environment

_REPOSITORIES_AT_ONCE = 8
"""Repositories that are asked for their commits at once: each answer may take a second."""


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
