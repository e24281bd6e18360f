"""What surrounds the steps of a run: the call server, the prelude and the clean-up."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import attempt_name, log_names
from oraclepack.journal.statuses import INTERRUPTED
from oraclepack.pack.model import PRELUDE, Prelude, plain_text
from oraclepack.run.call_service import intercepted_calls
from oraclepack.run.run_session import RunSession
from oraclepack.run.step import intercepted, with_calls
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


def needs_running(prelude: Prelude | None, *, login_once: bool) -> bool:
    """There is something in it besides comments, or the profile is to be kept with it."""
    code = prelude.code if prelude is not None else ""
    lines = (line.strip() for line in code.splitlines())
    return login_once or any(line and not line.startswith("#") for line in lines)


def _logs_in_once(session: RunSession) -> bool:
    return session.settings[rs.LOGIN] == "once"


def prepare(session: RunSession) -> StepError | None:
    """Run the prelude and keep its state for the steps; its failure, if it fails."""
    prelude = session.pack.prelude
    if not needs_running(prelude, login_once=_logs_in_once(session)):
        return None
    number = session.record.state.prelude_attempts + 1
    while attempt_name(PRELUDE, number) in session.attempts_before:
        number += 1
    stdout, stderr = log_names(PRELUDE, number)
    snapshot = session.private / "prelude.snapshot"
    attempt = _attempt(session, PRELUDE, number, prelude.code if prelude else "", str(snapshot))
    session.record.append(
        j.PreludeStarted(
            attempt=number,
            stdout_log=stdout,
            stderr_log=stderr,
            # Its number is not known yet; the mark is enough to find what a crash leaves of it.
            process=ProcessIdentity(pid=0, token=attempt.token, machine=this_machine()),
        )
    )
    watch = with_calls(
        session, attempt, AttemptCallbacks(on_started=lambda _: session.record.sync())
    )
    with intercepted(session, attempt) as guarded:
        outcome = run_prelude(guarded, session.stop, watch, session.clock)
    error = _error(session, outcome, stderr)
    session.record.append(
        j.PreludeFinished(
            attempt=number,
            exit_code=outcome.exit_code,
            duration_ms=round(outcome.duration * 1000),
            error=error,
        )
    )
    for warning in outcome.warnings:
        session.record.append(j.WarningRecorded(code="prelude", message=warning))
    if error is None:
        session.snapshot = snapshot
    return error


def tidy_up(session: RunSession) -> None:
    """Run the prelude's EXIT trap, if it set one, now that no step needs its state any more."""
    if session.snapshot is None:
        return
    script = exit_trap(session.snapshot)
    if script is None:
        return
    number = 1
    while attempt_name(f"{PRELUDE}-exit", number) in session.attempts_before:
        number += 1
    attempt = _attempt(session, f"{PRELUDE}-exit", number, script.read_text(), None)
    # A stop of its own: after Ctrl-C there is still something to tidy up.
    with Stop() as stop, intercepted(session, attempt, stop) as guarded:
        watch = with_calls(session, attempt, AttemptCallbacks())
        outcome = run_attempt(guarded, stop, watch, session.clock)
    if not outcome.ok:
        message = f"the prelude's EXIT trap ended with exit code {outcome.exit_code}"
        session.record.append(j.WarningRecorded(code="prelude", message=message))


def _attempt(
    session: RunSession, name: str, number: int, code: str, capture: str | None
) -> Attempt:
    stdout, stderr = (session.run.path / log for log in log_names(name, number))
    return Attempt(
        step=name,
        number=number,
        code=code,
        cwd=str(session.root),
        env=session.environment,
        stdout_log=str(stdout),
        stderr_log=str(stderr),
        token=session.token(name, number),
        restore=str(session.snapshot) if session.snapshot else None,
        capture=capture,
        login=not _logs_in_once(session),
        step_timeout=session.settings[rs.STEP_TIMEOUT] or None,
    )


def _error(session: RunSession, outcome: AttemptOutcome, stderr: str) -> StepError | None:
    if outcome.ok:
        return None
    if outcome.reason is AttemptEnd.STOPPED:
        return StepError(code=INTERRUPTED, message="stopped before its end", transient=True)
    last = last_lines(session.run.path / stderr, 1)
    message = outcome.message or f"exit code {outcome.exit_code}"
    if last and last[0].strip():
        message = f"{message}: {last[0].strip()[:300]}"
    return StepError(code="PRELUDE_FAILED", message=message)


@contextmanager
def ready_for_steps(session: RunSession) -> Iterator[bool]:
    """The call server runs and so did the prelude; whether steps may follow.

    Its exit trap runs after them.
    """
    out_dir = jail(session.root, f"{session.pack.out_dir}/x")
    if session.request.makes_out_dir and isinstance(out_dir, AllowedPath):
        files.make_directories(out_dir.path.parent)
    # The login profile is asked now, so that the first step need not wait for its answer.
    login_environment = environment_ahead(session.environment, str(session.root))
    with nullcontext() if _logs_in_once(session) else login_environment:
        session.attempts_before = session.run.attempts_on_disk()
        with intercepted_calls(session):
            is_ready = prepare(session) is None
            yield is_ready
            if is_ready and session.stop.level is not StopLevel.AT_ONCE:
                tidy_up(session)
        if is_ready:
            _warn_if_pack_changed(session)


def _warn_if_pack_changed(session: RunSession) -> None:
    """Warn when the pack was changed while it ran: the next command would begin another run."""
    now = read_content(Path(session.pack.path))
    if (
        now.data is not None
        and plain_text(now.data.decode("utf-8", "replace")) == session.pack.text
    ):
        return
    what = "was changed" if now.data is not None else f"is {now.trouble}"
    message = f"{session.pack.path} {what} since this command began; what ran is the older content"
    session.record.append(j.WarningRecorded(code="pack", message=message))
