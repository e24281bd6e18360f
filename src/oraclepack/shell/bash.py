"""Runs one attempt in bash and watches it to the end.

Output goes from the kernel straight to the log files; this process only waits: for the end of
the shell, for a request to stop, for a deadline.
"""

import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from oraclepack.errors import SIGNALLED
from oraclepack.shell import launch, orphans, processes
from oraclepack.shell.anonymous_files import AnonymousFile
from oraclepack.shell.attempt import (
    Attempt,
    AttemptCallbacks,
    AttemptEnd,
    AttemptOutcome,
    Orphan,
    ProcessIdentity,
    StopLevel,
)
from oraclepack.shell.stop import KILL_PATIENCE, Stop, Termination
from oraclepack.system import disk
from oraclepack.system.clock import Clock
from oraclepack.system.machine import this_machine
from oraclepack.system.programs import find_bash


def exit_fd(process: subprocess.Popen[bytes], stack: ExitStack) -> int:
    """For a child of ours; the stack closes it. Where the kernel can, the child stays unreaped."""
    descriptor = processes.open_pidfd(process.pid)
    if descriptor is None:
        descriptor = _exit_pipe(process)
    stack.callback(os.close, descriptor)
    return descriptor


def _exit_pipe(process: subprocess.Popen[bytes]) -> int:
    """Where the kernel has no such descriptor: a thread waits and closes a pipe."""
    readable, held = os.pipe()

    def wait() -> None:
        process.wait()
        os.close(held)

    threading.Thread(target=wait, daemon=True).start()
    return readable


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return -1


_POLL_SECONDS = 0.1
"""How often a request to stop is checked while answers are awaited."""
_LOG_SECONDS = 0.5
"""How often the sizes of the logs are checked."""


class _Running(msgspec.Struct, frozen=True):
    """A shell at work, and the descriptor that becomes readable at its end."""

    process: subprocess.Popen[bytes]
    started: ProcessIdentity
    exit_fd: int


def run_attempt(
    attempt: Attempt,
    stop: Stop,
    watch: AttemptCallbacks,
    clock: Clock,
    *,
    records: AnonymousFile | None = None,
) -> AttemptOutcome:
    """Run a body once. Whatever happens to it is in the outcome; safe in several threads.

    `records` is for the prelude: where its shell writes its variables and functions.
    """
    started_at, begun = clock.now(), clock.monotonic_ns()
    if stop.level is not StopLevel.NONE:
        message = "stopped before it started"
        return _outcome(AttemptEnd.STOPPED, None, (started_at, begun), clock, message=message)
    with ExitStack() as stack:
        try:
            running = _start(attempt, stack, records)
        except OSError as trouble:
            message = f"cannot start bash for {attempt.step}: {_reason(trouble)}"
            return _outcome(
                AttemptEnd.SPAWN_FAILED, None, (started_at, begun), clock, message=message
            )
        if watch.on_started:
            watch.on_started(running.started)
        limits = _Limits(attempt, stop, watch, clock)
        poll = _poll(running.exit_fd, *stop.polite_fds)
        ending: AttemptEnd | None = None
        while ending is None:
            ready = {fd for fd, _ in poll.poll(limits.rest())}
            ending = AttemptEnd.EXITED if running.exit_fd in ready else limits.reached()
        if ending is AttemptEnd.STOPPED and limits.waits_for_calls():
            ending = _let_calls_finish(running, attempt, stop, limits)
        message = ""
        if ending is AttemptEnd.EXITED:
            ending = _await_background(running, attempt, stop, watch, limits)
        else:
            watch.on_ending()
            message = _end_shell(running, attempt, stop)
        left = _end_leftovers(running, attempt, stop, watch)
        code = _exit_code(running.process)
    return _outcome(ending, code, (started_at, begun), clock, orphans=left, message=message)


def _start(attempt: Attempt, stack: ExitStack, records: AnonymousFile | None) -> _Running:
    launch.ask_profile(attempt, records)  # first, so that no other step waits for a slow profile
    # One after the other: steps that got ready together would all start as late as the last.
    with (
        orphans.starting(),
        _log(attempt.stdout_log) as stdout,
        _log(attempt.stderr_log) as stderr,
    ):
        call = launch.prepare(attempt, stack, records)
        orphans.become_subreaper()
        # A session of its own: the terminal's Ctrl-C does not reach it past us, a program that
        # asks /dev/tty fails instead of hanging, and one signal reaches the whole group.
        process = subprocess.Popen(
            call.argv,
            executable=find_bash(call.env.get("PATH", os.defpath)),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=attempt.cwd,
            env=call.env,
            start_new_session=True,
            pass_fds=call.fds,
        )
        orphans.await_child(process.pid)
    stack.callback(orphans.forget_child, process.pid)
    begun = processes.start_time(process.pid)
    started = ProcessIdentity(
        pid=process.pid,
        pgid=process.pid,
        start_time=begun,
        token=attempt.token,
        machine=this_machine(),
    )
    stack.callback(_abandon, process, started)
    return _Running(process, started, exit_fd(process, stack))


def _abandon(process: subprocess.Popen[bytes], started: ProcessIdentity) -> None:
    """After an internal error, end the shell: none may run unattended. Else nothing to do."""
    if process.returncode is None:
        orphans.end_leftovers(started, orphans.OrphanTimeouts(hurry=lambda: True))
        _exit_code(process)


@contextmanager
def _log(path: str) -> Iterator[int]:
    """A new log file. Appending, so that a step that truncates /dev/stdout leaves no hole in it."""
    descriptor = disk.create(path, 0o600, append=True)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Limits:
    """What ends an attempt before its time, and whether it has become silent."""

    def __init__(self, attempt: Attempt, stop: Stop, watch: AttemptCallbacks, clock: Clock) -> None:
        self._attempt, self._stop, self._watch, self._clock = attempt, stop, watch, clock
        self._logs = (attempt.stdout_log, attempt.stderr_log)
        self._begun = self._changed = clock.monotonic_ns()
        self._sizes = tuple(map(_size, self._logs))
        self._idle_reported = False

    def _since(self, moment: int) -> float:
        return (self._clock.monotonic_ns() - moment) / 1e9

    def rest(self) -> int:
        """Milliseconds until it is worth looking again."""
        waits, idle = [_LOG_SECONDS], self._attempt.idle_timeout
        if self._attempt.step_timeout is not None:
            waits.append(self._attempt.step_timeout - self._since(self._begun))
        if idle and not self._idle_reported:
            waits.append(idle - self._since(self._changed))
        return _milliseconds(max(0.0, min(waits)))

    def reached(self) -> AttemptEnd | None:
        """Why the attempt has to end now, if it has to. Idleness is only reported."""
        if self._stop.level is not StopLevel.NONE:
            return AttemptEnd.STOPPED
        if self.is_late():
            return AttemptEnd.TIMEOUT
        sizes = tuple(map(_size, self._logs))
        if max(sizes) > self._attempt.log_limit:
            return AttemptEnd.FLOODED
        if sizes != self._sizes:
            self._sizes, self._changed = sizes, self._clock.monotonic_ns()
            self._idle_reported = False
        silent, idle = self._since(self._changed), self._attempt.idle_timeout
        if idle and silent >= idle and not self._idle_reported:
            self._idle_reported = True
            if self._watch.on_idle:
                self._watch.on_idle(silent)
        return None

    def is_late(self) -> bool:
        """Whether its own time limit has passed."""
        limit = self._attempt.step_timeout
        return limit is not None and self._since(self._begun) >= limit

    def waits_for_calls(self) -> bool:
        """Whether a request to stop has to wait for calls that may be paid for."""
        waits = self._stop.level is StopLevel.POLITE and self._watch.asking() > 0
        if waits:
            self._watch.on_stop_waits()
        return waits


def _let_calls_finish(
    running: _Running, attempt: Attempt, stop: Stop, limits: _Limits
) -> AttemptEnd:
    """A stopped step goes on until its calls are answered, and a little longer: it may end itself.

    No signal is sent meanwhile: its shims would pass it on to the tools.
    """
    poll = _poll(running.exit_fd, *stop.urgent_fds)
    end: float | None = None
    while stop.level is not StopLevel.AT_ONCE:
        if running.exit_fd in {fd for fd, _ in poll.poll(_milliseconds(_POLL_SECONDS))}:
            return AttemptEnd.EXITED
        if limits.is_late():
            break
        if limits.waits_for_calls():
            end = None
        elif end is None:
            end = time.monotonic() + attempt.grace.finish
        elif time.monotonic() >= end:
            break
    return AttemptEnd.STOPPED


def _await_background(
    running: _Running, attempt: Attempt, stop: Stop, watch: AttemptCallbacks, limits: _Limits
) -> AttemptEnd:
    """The shell has ended, its calls may not have: the limits apply to them as well.

    What it left in the background may go on for a moment, and as long as it makes calls.
    """

    def is_over() -> bool:
        return watch.asking() > 0 or stop.level is StopLevel.AT_ONCE

    while True:
        while watch.is_answered and not watch.is_answered(_POLL_SECONDS):
            ending = limits.reached()
            is_waiting = ending is AttemptEnd.STOPPED and limits.waits_for_calls()
            if ending is not None and (not is_waiting or limits.is_late()):
                return ending
        if not orphans.may_have_orphans(running.started):
            return AttemptEnd.EXITED
        grace, shims = attempt.grace, attempt.first_on_path
        orphans.linger(running.started, grace, shims, is_over, watch.spared)
        if not watch.asking():
            return AttemptEnd.EXITED


def _end_shell(running: _Running, attempt: Attempt, stop: Stop) -> str:
    """End the whole group; says how it went."""
    termination = Termination(running.process.pid, attempt.grace)
    termination.begin()
    while True:
        termination.go_on(hurry=stop.level is StopLevel.AT_ONCE)
        poll = _poll(running.exit_fd, *(() if termination.is_last else stop.urgent_fds))
        rest = max(0.0, (termination.due or 0.0) - time.monotonic())
        if running.exit_fd in {fd for fd, _ in poll.poll(_milliseconds(rest))}:
            assert termination.sent is not None
            return f"ended by {termination.sent.name.removeprefix('SIG')}"
        if termination.is_last:
            return "did not end even by KILL"


def _end_leftovers(
    running: _Running, attempt: Attempt, stop: Stop, watch: AttemptCallbacks
) -> tuple[Orphan, ...]:
    if not orphans.may_have_orphans(running.started):
        return ()
    watch.on_ending()
    patience = orphans.OrphanTimeouts(
        obey=attempt.grace.orphan, hurry=lambda: stop.level is StopLevel.AT_ONCE
    )
    return orphans.end_leftovers(running.started, patience, watch.spared)


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Collect the shell at last: until here its number stood for its group and session."""
    try:
        return process.wait(timeout=KILL_PATIENCE)
    except subprocess.TimeoutExpired:
        return None


def _outcome(
    ending: AttemptEnd,
    code: int | None,
    begun: tuple[datetime, int],
    clock: Clock,
    *,
    orphans: tuple[Orphan, ...] = (),
    message: str = "",
) -> AttemptOutcome:
    by_signal = -code if code is not None and code < 0 else None
    return AttemptOutcome(
        reason=ending,
        exit_code=SIGNALLED + by_signal if by_signal else code,
        signal=by_signal,
        started_at=begun[0],
        duration=(clock.monotonic_ns() - begun[1]) / 1e9,
        orphans=orphans,
        message=message,
    )


def _poll(*descriptors: int) -> select.poll:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return poll


def _milliseconds(seconds: float) -> int:
    """For `poll`, rounded up so that the wait is over on waking."""
    return int(seconds * 1000) + 1


def _reason(trouble: OSError) -> str:
    name = trouble.filename
    where = os.fsdecode(name) if isinstance(name, str | bytes) else ""
    return f"{trouble.strerror or trouble}{f': {where}' if where else ''}"
