"""Executes the plan of a run: its control socket, the call server, the prelude, the steps.

`run/run.py` loads it where there is something to run: a command that finds all steps done
starts without the call server and what that needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from oraclepack.calls.budget import settle_ended
from oraclepack.calls.context import CallContext, CallOptions
from oraclepack.calls.file_store import user_store
from oraclepack.calls.handler import CallHandler
from oraclepack.calls.server import Gateway
from oraclepack.calls.store import CallStore
from oraclepack.calls.waiting import settle_ended_tools
from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import attempt_name, log_names
from oraclepack.journal.statuses import INTERRUPTED, Status
from oraclepack.pack.model import PRELUDE, Prelude, StepId, plain_text
from oraclepack.run.control import ControlServer, RunControl
from oraclepack.run.planning.edges import only_asks
from oraclepack.run.planning.plan import Plan, PlannedStep
from oraclepack.run.planning.schedule import OnFailure, Progress, ready
from oraclepack.run.request import max_parallel, store_of
from oraclepack.run.step import intercepted, run_step, with_calls
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.call_settings import BATCH, ENGINE
from oraclepack.settings.declaration import Setting
from oraclepack.shell.attempt import (
    Attempt,
    AttemptCallbacks,
    AttemptEnd,
    AttemptOutcome,
    ProcessIdentity,
    StopLevel,
    StopSwitch,
)
from oraclepack.shell.bash import run_attempt
from oraclepack.shell.launch import environment_ahead
from oraclepack.shell.logs import last_lines
from oraclepack.shell.prelude_snapshot import exit_trap, run_prelude
from oraclepack.shell.stop import Stop
from oraclepack.store.database import missing_driver
from oraclepack.system import files
from oraclepack.system.clock import draw
from oraclepack.system.machine import this_machine
from oraclepack.system.path_jail import AllowedPath, jail, read_content
from oraclepack.system.secrets import Redactor
from oraclepack.tools.oracle_attachments import RECORDS, OwnFiles
from oraclepack.tools.providers import BROWSER
from oraclepack.tools.tool_names import ORACLE
from oraclepack.view.legacy_files import all_file_names

if TYPE_CHECKING:
    from oraclepack.run.run import Run

_BUDGET_LIMITS: dict[Setting[Any], str] = {
    cs.MAX_COST: "cost",
    cs.MAX_CALLS: "calls",
    cs.MAX_TOKENS: "tokens",
}
"""The limits of a command that `runs set` may change, and what each is about."""
CONCERNS_ALL = frozenset({"AUTH", "QUOTA", "MODEL_UNAVAILABLE"})
"""Failures that the next question would meet too: nothing new begins, even with --keep-going."""
_MOST_THREADS = 128
"""Threads are made as steps need them; how many steps run is up to the control."""
_LOOK_FOR_STOP = 0.2
"""Seconds, while nothing runs and everything is paused."""


@contextmanager
def open_control(run: Run) -> Iterator[None]:
    """Accept requests of other processes while this is open."""
    run.control = RunControl(
        run.stop,
        max_parallel(run.settings),
        answers_questions=run.request.arguments.detached,
    )
    with ControlServer(run.private, run.control, run.record.append) as server:
        run.record.append(j.ControlOpened(socket=str(server.path)))
        yield


def execute(run: Run, planned: Plan) -> None:
    """Run the steps of a plan, in threads; none begins where the prelude failed."""

    def concerns_all(step_id: str) -> bool:
        error = run.state.step(step_id).error
        return error is not None and error.code in CONCERNS_ALL

    goes_on = run.request.keep_going or run.settings[ENGINE] == BATCH
    policy = OnFailure.KEEP_GOING if goes_on else OnFailure.STOP
    with _ready_for_steps(run) as is_ready:
        if is_ready:
            work = partial(run_step, run)
            run_plan(planned, work, run.stop, run.control, policy, run.record.sync, concerns_all)


@contextmanager
def _ready_for_steps(run: Run) -> Iterator[bool]:
    """The call server runs and so did the prelude; whether steps may follow.

    Its exit trap runs after them.
    """
    out_dir = jail(run.root, f"{run.pack.out_dir}/x")
    if run.request.makes_out_dir and isinstance(out_dir, AllowedPath):
        files.make_directories(out_dir.path.parent)
    # The login profile is asked now, so that the first step need not wait for its answer.
    login_environment = environment_ahead(run.environment, str(run.root))
    with nullcontext() if _logs_in_once(run) else login_environment:
        run.attempts_before = run.dir.attempts_on_disk()
        with _intercepted_calls(run):
            is_ready = _prepare(run) is None
            yield is_ready
            if is_ready and run.stop.level is not StopLevel.AT_ONCE:
                _tidy_up(run)
        if is_ready:
            _warn_if_pack_changed(run)


def _warn_if_pack_changed(run: Run) -> None:
    """Warn when the pack was changed while it ran: the next command would begin another run."""
    now = read_content(Path(run.pack.path))
    if now.data is not None and plain_text(now.data.decode("utf-8", "replace")) == run.pack.text:
        return
    what = "was changed" if now.data is not None else f"is {now.trouble}"
    message = f"{run.pack.path} {what} since this command began; what ran is the older content"
    run.warn(message, "pack")


@contextmanager
def _intercepted_calls(run: Run) -> Iterator[None]:
    """While this is open, every call of a tool in a step is sent to oraclepack."""
    calls = run.request.call_options
    with _store_of(run, calls) as store:
        context = _context(run, calls, store)
        run.calls = CallHandler(context)
        named = run.request.oracle_bin
        run.gateway = Gateway(
            run.calls.answer,
            run.stop,
            run.private,
            run.user_environment or run.environment,
            given=run.environment,
            dotenv=run.dotenv,
            spools=run.dir.logs,
            programs={ORACLE: str(Path(named))} if named else None,
            every_tool=run.request.is_rehearsal,
        )
        with run.gateway:
            yield
        for fault in run.gateway.faults:
            raise fault
        # What could not be settled while the store did not answer.
        settle_ended(context, adopted=frozenset({ORACLE}))


@contextmanager
def _store_of(run: Run, calls: CallOptions) -> Iterator[CallStore]:
    """What the calls share with other runs: the database of the settings, or the user's own."""
    root, run_dir = run.root, run.dir.path
    if not store_of(run.request):
        with user_store(
            root, run_dir, run.clock, use_cache=calls.use_cache, user=calls.user_answers
        ) as store:
            yield store
        return
    try:
        from oraclepack.calls.fleet_store import fleet_store
    except ImportError:
        raise missing_driver() from None
    timeout = calls.call_timeout
    with fleet_store(
        store_of(run.request),
        root,
        run_dir,
        refresh=calls.refresh,
        call_timeout=timeout,
        lease=run.settings[cs.STORE_LEASE],
        gives_up=lambda: run.stop.level is not StopLevel.NONE,
    ) as store:
        yield store


def _own_files(run: Run) -> OwnFiles:
    """What of this run and its pack no pattern of an attachment takes in."""
    quarantine = Path(os.path.relpath(run.failed, run.root)).as_posix()
    declared = (output.path.value for step in run.pack.steps for output in step.outputs)
    return OwnFiles(
        folders=(*RECORDS, quarantine),
        files=all_file_names(run.pack.path),
        outputs=tuple(path for path in declared if path),
    )


def _context(run: Run, calls: CallOptions, store: CallStore) -> CallContext:
    """What the calls of a run share."""
    control = run.control
    context = CallContext(
        root=run.root,
        run_dir=run.dir.path,
        run_id=run.dir.run_id,
        pack=run.pack,
        journal=run.record,
        store=store,
        clock=run.clock,
        chance=draw,
        options=calls,
        redactor=Redactor.of(run.environment),
        ask=run.request.ask,
        decisions=control if control.answers_questions else None,
        is_paused=lambda: control.is_paused,
        cancels=control.is_cancelled,
        only_asks=lambda step_id: (step := run.pack.step(step_id)) is not None and only_asks(step),
        own_files=_own_files(run),
    )
    if run.request.ledger is not None:
        context.shared.budget = run.request.ledger
    if run.request.oracle_bin:
        # What a program in the place of oracle asks without a key is its own affair.
        context.shared.noted.add(BROWSER)
    settle_ended(context, adopted=frozenset({ORACLE}))
    settle_ended_tools(context)
    for setting, what in _BUDGET_LIMITS.items():
        change = partial(context.shared.budget.set_limit, what)
        control.add_settable(setting.name, setting.kind.read, change)
    return context


def needs_running(prelude: Prelude | None, *, login_once: bool) -> bool:
    """There is something in it besides comments, or the profile is to be kept with it."""
    code = prelude.code if prelude is not None else ""
    lines = (line.strip() for line in code.splitlines())
    return login_once or any(line and not line.startswith("#") for line in lines)


def _logs_in_once(run: Run) -> bool:
    return run.settings[rs.LOGIN] == "once"


def _prepare(run: Run) -> StepError | None:
    """Run the prelude and keep its state for the steps; its failure, if it fails."""
    prelude = run.pack.prelude
    if run.snapshot is not None:  # another round of steps in this command
        return None
    if not needs_running(prelude, login_once=_logs_in_once(run)):
        return None
    number = run.state.prelude_attempts + 1
    while attempt_name(PRELUDE, number) in run.attempts_before:
        number += 1
    stdout, stderr = log_names(PRELUDE, number)
    snapshot = run.private / "prelude.snapshot"
    attempt = _attempt(run, PRELUDE, number, prelude.code if prelude else "", str(snapshot))
    run.record.append(
        j.PreludeStarted(
            attempt=number,
            stdout_log=stdout,
            stderr_log=stderr,
            # Its number is not known yet; the mark is enough to find what a crash leaves of it.
            process=ProcessIdentity(pid=0, token=attempt.token, machine=this_machine()),
        )
    )
    watch = with_calls(run, attempt, AttemptCallbacks(on_started=lambda _: run.record.sync()))
    with intercepted(run, attempt) as guarded:
        outcome = run_prelude(guarded, run.stop, watch, run.clock)
    error = _error(run, outcome, stderr)
    run.record.append(
        j.PreludeFinished(
            attempt=number,
            exit_code=outcome.exit_code,
            duration_ms=round(outcome.duration * 1000),
            error=error,
        )
    )
    for warning in outcome.warnings:
        run.warn(warning, "prelude")
    if error is None:
        run.snapshot = snapshot
    return error


def _tidy_up(run: Run) -> None:
    """Run the prelude's EXIT trap, if it set one, now that no step needs its state any more."""
    if run.snapshot is None:
        return
    script = exit_trap(run.snapshot)
    if script is None:
        return
    number = 1
    while attempt_name(f"{PRELUDE}-exit", number) in run.attempts_before:
        number += 1
    attempt = _attempt(run, f"{PRELUDE}-exit", number, script.read_text(), None)
    # A stop of its own: after Ctrl-C there is still something to tidy up.
    with Stop() as stop, intercepted(run, attempt, stop) as guarded:
        watch = with_calls(run, attempt, AttemptCallbacks())
        outcome = run_attempt(guarded, stop, watch, run.clock)
    if not outcome.ok:
        message = f"the prelude's EXIT trap ended with exit code {outcome.exit_code}"
        run.warn(message, "prelude")


def _attempt(run: Run, name: str, number: int, code: str, capture: str | None) -> Attempt:
    stdout, stderr = (run.dir.path / log for log in log_names(name, number))
    return Attempt(
        step=name,
        number=number,
        code=code,
        cwd=str(run.root),
        env=run.environment,
        stdout_log=str(stdout),
        stderr_log=str(stderr),
        token=run.token(name, number),
        restore=str(run.snapshot) if run.snapshot else None,
        capture=capture,
        login=not _logs_in_once(run),
        step_timeout=run.settings[rs.STEP_TIMEOUT] or None,
    )


def _error(run: Run, outcome: AttemptOutcome, stderr: str) -> StepError | None:
    if outcome.ok:
        return None
    if outcome.reason is AttemptEnd.STOPPED:
        return StepError(code=INTERRUPTED, message="stopped before its end", transient=True)
    last = last_lines(run.dir.path / stderr, 1)
    message = outcome.message or f"exit code {outcome.exit_code}"
    if last and last[0].strip():
        message = f"{message}: {last[0].strip()[:300]}"
    return StepError(code="PRELUDE_FAILED", message=message)


def run_plan(
    plan: Plan,
    work: Callable[[PlannedStep], Status],
    stop: StopSwitch,
    control: RunControl,
    policy: OnFailure,
    between: Callable[[], None] = lambda: None,
    concerns_all: Callable[[StepId], bool] = lambda _: False,
) -> Progress:
    """Run steps as far as that goes: start what is ready, wait for one to end, repeat.

    Nothing begins after `stop` was asked for, and nothing more after a failure that `concerns_all`.
    `between` is called each time steps were started. When it or a step raises, the machine
    itself has failed: the running steps are asked to stop, and the error is raised after they
    have ended.
    """
    progress = Progress()
    trouble: BaseException | None = None
    running: dict[Future[Status], StepId] = {}
    with ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="step") as pool:
        while True:
            changed, limit = control.changed, control.max_parallel
            next_steps: tuple[StepId, ...] = ()
            if trouble is None and stop.level is StopLevel.NONE:
                next_steps = ready(plan, progress, limit, policy)
            is_held = bool(next_steps) and control.is_paused
            for step_id in () if is_held else next_steps:
                planned = plan.step(step_id)
                assert planned is not None
                running[pool.submit(work, planned)] = step_id
                progress = replace(progress, running=progress.running | {step_id})
            trouble = trouble or _trouble_of(between)
            if trouble is not None:
                stop.ask(StopLevel.POLITE)
            if not running and not is_held:
                break
            patience = None if running else _LOOK_FOR_STOP
            awaited: list[Future[Any]] = [*running, changed]
            ended = set(wait(awaited, patience, FIRST_COMPLETED).done)
            for future in sorted(ended & running.keys(), key=lambda one: running[one]):
                step_id = running.pop(future)
                failure = future.exception()
                trouble = trouble or failure
                status = Status.FAILED if failure is not None else future.result()
                # A step that was stopped by a request of its own does not stop the others.
                is_stopped = status is Status.PENDING and control.was_stopped(step_id)
                progress = _ended(progress, step_id, status, is_stopped=is_stopped)
                if status is Status.FAILED and concerns_all(step_id):
                    policy = OnFailure.STOP
    if trouble is not None:
        raise trouble
    return progress


def _trouble_of(action: Callable[[], None]) -> BaseException | None:
    try:
        action()
    except Exception as trouble:  # noqa: BLE001 - raised by the loop once nothing runs any more
        return trouble
    return None


def _ended(progress: Progress, step_id: StepId, status: Status, *, is_stopped: bool) -> Progress:
    running = progress.running - {step_id}
    if is_stopped:
        return replace(progress, running=running, stopped=progress.stopped | {step_id})
    if status in {Status.FAILED, Status.PENDING}:
        return replace(progress, running=running, failed=progress.failed | {step_id})
    return replace(progress, running=running, finished=progress.finished | {step_id})
