"""One job on one machine: check the repository out, run the pack, publish the run.

The worker is a process of its own. It outlives the Dask worker that started it and reports to the
store by itself; nothing depends on another process waiting for it.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from oraclepack.calls.context import CallOptions
from oraclepack.errors import ExitCode, InputError, OraclePackError
from oraclepack.fleet.fleet_job import (
    FleetJob,
    FleetPolicy,
    JobState,
    JobSummary,
    generate_options,
    settings_fault,
)
from oraclepack.fleet.fleet_reports import JobResult
from oraclepack.fleet.job_store import JobReport, JobStore, TakenJob
from oraclepack.fleet.run_archive import pack_directory, unpack_directory
from oraclepack.journal import events as j
from oraclepack.journal import run_dir as journal_run_dir
from oraclepack.journal.costs import total_cost
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import UNDECIDED, Cache, Status
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.run.request import RunRequest, read_request
from oraclepack.run.run import run_pack
from oraclepack.run.run_display import RunPreview
from oraclepack.run.trust import find_candidate, trust_run
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import TRUST_KEY_FILE, SettingValue
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop
from oraclepack.store.spending import BudgetScope, Ceiling
from oraclepack.system import files, git
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.environment import environment
from oraclepack.system.machine import this_machine
from oraclepack.system.path_jail import AllowedPath, jail
from oraclepack.system.trust_key import use_file

REPORT_SECONDS = 2.0
"""The longest pause between a change and its report."""


class MovePolicy(StrEnum):
    """Whether a job that another machine began may go on here."""

    SAFE = "safe"
    NEVER = "never"


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker runs its jobs."""

    work_dir: Path
    move: MovePolicy = MovePolicy.SAFE
    settings: Mapping[str, Any] = {}
    """On top of those of the job, by name."""
    publishes: bool = False
    """The store is read by other machines, so the run directory goes there too."""


def run_job(
    store: JobStore, fleet: str, job_id: str, options: WorkerOptions, stop: Stop
) -> JobResult:
    """Run a job, or go on with it; its end is in the store."""
    if store.is_stopping(fleet):
        why = "the fleet is stopped; `fleet run` lifts that"
        return JobResult(job=_job(store, fleet, job_id), ran=False, message=why)
    taken = store.take(fleet, job_id)
    if taken is None:
        job = _job(store, fleet, job_id)
        why = "it is done" if job.state is JobState.DONE else "another worker runs it"
        return JobResult(job=job, ran=False, message=why)
    try:
        root = workspace(options.work_dir, taken.job)
        refused = _bring_run(taken, root, options)
        if refused:
            return JobResult(job=taken.job, ran=False, message=refused)
        return _run(store, taken, root, options, stop)
    except OraclePackError as trouble:
        summary = JobSummary(message=trouble.message, host=this_machine().host)
        code = int(ExitCode.INTERNAL if trouble.retryable else ExitCode.INVALID)
        taken.report(JobReport(summary=summary, state=JobState.FAILED, exit_code=code))
        return JobResult(job=taken.job, ran=True, message=trouble.message)
    finally:
        taken.release()


def _job(store: JobStore, fleet: str, job_id: str) -> FleetJob:
    return next(one for one in store.jobs(fleet) if one.id == job_id)


def workspace(work_dir: Path, job: FleetJob) -> Path:
    """The directory of a job, the same on every machine: the sessions of oracle name paths.

    No two jobs share it: they run at the same time.
    """
    return work_dir / sha256_bytes(job.source.repo.encode())[:12] / job.commit / job.id


def check_out_pack(job: FleetJob, root: Path) -> Path:
    """The pack of a job, in its workspace."""
    source = job.source
    try:
        # `generate` also asks about the history.
        with_history = source.generate is not None
        git.check_out(source.repo, job.commit, root, environment(), with_history=with_history)
    except git.GitError as trouble:
        raise InputError(
            f"{source.repo} at {job.commit[:12]} cannot be fetched: {trouble}",
            hint="see that this machine can reach the repository",
        ) from None
    if source.generate is not None:
        return _generated(job, root)
    assert source.pack is not None
    place = jail(root, source.pack)
    if not isinstance(place, AllowedPath):
        raise InputError(f"the pack {source.pack} is refused: {place}")
    if source.pack_text is not None:
        files.make_directories(place.path.parent)
        files.write_atomic(place.path, source.pack_text.encode())
    elif not place.path.exists():
        raise InputError(
            f"{source.repo} has no {source.pack} at commit {job.commit[:12]}",
            hint="commit the pack, or correct `pack` or `ref` in the manifest",
        )
    return place.path


def _generated(job: FleetJob, root: Path) -> Path:
    # Most jobs have a pack, and loading this takes as long as loading the engine.
    from oraclepack.authoring import generate as authoring

    options = msgspec.structs.asdict(generate_options(job.source.generate or {}))
    given = {name: value for name, value in options.items() if value is not None}
    request = authoring.GenerateRequest(root=root, force=True, **given)
    return root / authoring.generate(request).data.path


def _bring_run(taken: TakenJob, root: Path, options: WorkerOptions) -> str:
    """Unpack the run that another machine began; why not, if it must stay there."""
    archive, run_id = taken.archive, taken.job.summary.run_id
    if archive is None or run_id is None:
        return ""
    run = RunDir(root, run_id)
    if run.path.is_dir():
        return ""  # this machine has more of it than the store
    if options.move is MovePolicy.NEVER:
        return f"it was begun on {taken.job.host}, and --move never keeps it there"
    unpack_directory(archive, run.path)
    state = journal_run_dir.examine(run).state
    reason = may_move(state)
    if reason:
        files.remove_tree(run.path)
        return f"it was begun on {taken.job.host} and stays there: {reason}"
    if journal_run_dir.examine(run).foreign is not None:
        # The store is the user's own, and its access control says who may publish runs.
        trust_run(find_candidate(root, run_id))
    return ""


def may_move(state: RunState) -> str:
    """Why a run cannot go on in another work tree; empty when it can."""
    if state.created is not None and state.created.mutating:
        return "its steps change the work tree"
    open_calls = [
        call
        for step in state.steps.values()
        for call in step.invocations
        if call.is_open and call.intent is not None and call.intent.key is None
    ]
    return "a call without a key has no known end" if open_calls else ""


class _Reporter:
    """A display that publishes how far a run is, from a thread of its own."""

    def __init__(
        self, taken: TakenJob, options: WorkerOptions, stop: Stop, store: JobStore
    ) -> None:
        self._taken, self._options, self._stop, self._store = taken, options, stop, store
        self._changed = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._state: RunState | None = None
        self.preview: RunPreview | None = None
        self._finished_steps = False
        self._is_lost = False
        self._thread = threading.Thread(target=self._publish, name="job-report", daemon=True)
        self._thread.start()

    def begin(self, preview: RunPreview) -> None:
        self.preview = preview

    def event(self, event: j.KnownEvent, state: RunState) -> None:
        with self._lock:
            self._state = state
            self._finished_steps |= isinstance(event, j.StepFinished)
        self._changed.set()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def report(self, state: JobState | None = None, exit_code: int | None = None) -> None:
        """What is known now; with a state, for the last time."""
        with self._lock:
            current, packs = self._state, self._finished_steps or state is not None
            self._finished_steps = False
        run_dir = self.preview.run_dir if self.preview else None
        archive = None
        if packs and run_dir is not None and self._options.publishes:
            archive = pack_directory(run_dir)
        is_ours = self._taken.report(
            JobReport(
                summary=summary_of(current, self.preview),
                run_dir=None if run_dir is None else str(run_dir),
                archive=archive,
                state=state,
                exit_code=exit_code,
            )
        )
        if not is_ours:
            self._is_lost = True  # another worker has the job

    def _publish(self) -> None:
        while True:
            try:
                if self._is_lost or self._store.is_stopping(self._taken.job.fleet):
                    # Nothing more starts; running calls bring their answers first.
                    self._stop.ask(StopLevel.POLITE)
                if self._changed.is_set() and not self._is_lost:
                    self._changed.clear()
                    self.report()
            except OraclePackError:
                self._changed.set()  # the store does not answer; the run goes on
            if self._over.wait(REPORT_SECONDS):
                return


def summary_of(state: RunState | None, preview: RunPreview | None) -> JobSummary:
    """How far a run is, in figures."""
    if state is None or preview is None:
        return JobSummary(host=this_machine().host)
    steps = [state.step(step.step_id) for step in preview.steps]
    statuses = [step.status for step in steps]
    calls = [call for step in steps for call in step.invocations if call.outcome is not None]
    cost = total_cost(calls).cost
    # A step that a budget kept from asking is not failed, and has an error.
    errors = [step.error for step in steps if not step.status.is_settled and step.error is not None]
    return JobSummary(
        run_id=preview.run_id,
        steps=len(steps),
        ok=statuses.count(Status.OK),
        failed=statuses.count(Status.FAILED),
        skipped=statuses.count(Status.SKIPPED),
        calls=len(calls),
        from_cache=sum(one.outcome is not None and one.outcome.cache is Cache.HIT for one in calls),
        undecided=sum(_is_undecided(step.invocations) for step in steps),
        in_flight=dict(Counter(_open_providers(steps))),
        cost=None if cost is None else str(cost),
        message=str(errors[0].message) if errors else "",
        host=this_machine().host,
    )


def _open_providers(steps: Iterable[StepState]) -> Iterator[str]:
    for step in steps:
        for call in step.invocations:
            if step.status is Status.RUNNING and call.is_open and call.intent is not None:
                yield call.intent.provider or call.intent.tool


def _is_undecided(calls: Sequence[Invocation]) -> bool:
    last = calls[-1].outcome if calls else None
    return last is not None and last.error is not None and last.error.code == UNDECIDED


def _run(
    store: JobStore, taken: TakenJob, root: Path, options: WorkerOptions, stop: Stop
) -> JobResult:
    pack = check_out_pack(taken.job, root)
    reporter = _Reporter(taken, options, stop, store)
    try:
        given = {**taken.job.source.settings, **options.settings}
        if fault := settings_fault(given):
            raise InputError(f"the job is refused: {fault}", hint="submit it again without this")
        values = {name: SettingValue(value, "the job") for name, value in given.items()}
        settings = load_settings(pack, values)
        use_file(settings[TRUST_KEY_FILE])
        request = read_request(pack, settings, None, reporter, None)
        policy = store.policy(taken.job.fleet)
        result = run_pack(under_policy(request, taken.job.fleet, policy), stop=stop)
    finally:
        reporter.close()
    summary = summary_of(result.state, reporter.preview)
    reporter.report(end_state(result.exit_code, summary), result.exit_code)
    return JobResult(job=taken.job, ran=True)


def under_policy(request: RunRequest, fleet: str, policy: FleetPolicy) -> RunRequest:
    """The request of a job with what holds for its whole fleet."""

    def adjust(options: CallOptions) -> CallOptions:
        ceilings = dict(options.budget.ceilings)
        if policy.max_cost is not None:
            ceilings[BudgetScope.FLEET] = Ceiling(policy.max_cost)
        budget = replace(options.budget, ceilings=ceilings, fleet=fleet)
        return replace(options, budget=budget, unknown_after=policy.unknown_after)

    return replace(request, adjust_calls=adjust)


def end_state(exit_code: int, summary: JobSummary) -> JobState:
    """What a job is after its run ended with this code."""
    if exit_code == ExitCode.DONE:
        return JobState.DONE
    if summary.undecided:
        return JobState.UNDECIDED
    stopped = {ExitCode.INTERRUPTED, ExitCode.TERMINATED}
    return JobState.STOPPED if exit_code in stopped else JobState.FAILED
