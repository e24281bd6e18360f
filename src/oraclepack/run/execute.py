"""Executes the plan of a run: its control socket, the call server, the prelude, the steps.

`run/run.py` loads it where there is something to run: a command that finds all steps done
starts without the call server and what that needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import attempt_name, log_names
from oraclepack.journal.statuses import INTERRUPTED
from oraclepack.pack.model import PRELUDE, Prelude, plain_text
from oraclepack.run.call_service import intercepted_calls
from oraclepack.run.control_server import ControlServer
from oraclepack.run.executor import Executor, FixedThrottle, ThreadExecutor
from oraclepack.run.planning.plan import Plan
from oraclepack.run.planning.schedule import OnFailure
from oraclepack.run.request import max_parallel
from oraclepack.run.run_control import RunControl
from oraclepack.run.step import intercepted, run_step, with_calls
from oraclepack.settings import run_settings as rs
from oraclepack.shell.attempt import (
    Attempt,
    AttemptCallbacks,
    AttemptEnd,
    AttemptOutcome,
    ProcessIdentity,
    StopLevel,
)
from oraclepack.shell.bash import run_attempt
from oraclepack.shell.launch import environment_ahead
from oraclepack.shell.log_files import last_lines
from oraclepack.shell.prelude_snapshot import exit_trap, run_prelude
from oraclepack.shell.stop import Stop
from oraclepack.system import files
from oraclepack.system.machine import this_machine
from oraclepack.system.path_jail import AllowedPath, jail, read_content

if TYPE_CHECKING:
    from oraclepack.run.run import Run


def needs_running(prelude: Prelude | None, *, login_once: bool) -> bool:
    """There is something in it besides comments, or the profile is to be kept with it."""
    code = prelude.code if prelude is not None else ""
    lines = (line.strip() for line in code.splitlines())
    return login_once or any(line and not line.startswith("#") for line in lines)


def _logs_in_once(run: Run) -> bool:
    return run.settings[rs.LOGIN] == "once"


def prepare(run: Run) -> StepError | None:
    """Run the prelude and keep its state for the steps; its failure, if it fails."""
    prelude = run.pack.prelude
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


def tidy_up(run: Run) -> None:
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


@contextmanager
def ready_for_steps(run: Run) -> Iterator[bool]:
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
        with intercepted_calls(run):
            is_ready = prepare(run) is None
            yield is_ready
            if is_ready and run.stop.level is not StopLevel.AT_ONCE:
                tidy_up(run)
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


CONCERNS_ALL = frozenset({"AUTH", "QUOTA", "MODEL_UNAVAILABLE"})
"""Failures that the next question would meet too: nothing new begins, even with --keep-going."""


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
    """Run the steps of a plan, by the given executor or in threads of this process.

    None begins where the prelude failed.
    """
    executor = run.request.executor or _threads(run)
    with ready_for_steps(run) as is_ready:
        if is_ready:
            executor.run(planned, partial(run_step, run), run.stop, run.record.sync)


def _threads(run: Run) -> Executor:
    """The executor of a run that is given none."""
    policy = OnFailure.KEEP_GOING if run.request.keep_going else OnFailure.STOP

    def concerns_all(step_id: str) -> bool:
        error = run.state.step(step_id).error
        return error is not None and error.code in CONCERNS_ALL

    throttle = run.control or FixedThrottle(max_parallel(run.settings))
    return ThreadExecutor(throttle, policy, concerns_all)
