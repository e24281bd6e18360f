"""Processes that outlive their step: found, asked to end, then killed.

A leftover is a process of the attempt's session, one that carries the attempt's marker in its
environment (it may have started a session of its own), or a descendant of either. A process
that did all of it (new session, cleaned environment, parent gone) cannot be distinguished from a
stranger and is left alone.
"""

import ctypes
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock

import msgspec

from oraclepack.shell import processes
from oraclepack.shell.attempt import Grace, Orphan, ProcessIdentity
from oraclepack.shell.processes import ProcessInfo

_PR_SET_CHILD_SUBREAPER = 36
_ORDER = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL)
_KILL_PATIENCE = 2.0
"""A killed process is gone in no time, unless the kernel itself is stuck with it."""

_awaited: set[int] = set()
"""Children whose exit code a thread of ours waits for; no other code may collect it."""

_looking = Lock()
"""Held while a child is started, and while children are counted."""

_strangers: set[int] = set()
"""Dead children of unknown origin; they are examined only once."""


class OrphanTimeouts(msgspec.Struct, frozen=True):
    """How long leftovers may take."""

    obey: float = 1.0
    """To obey each signal."""
    hurry: Callable[[], bool] = bool
    """True once there is no time left for any of it."""


@contextmanager
def starting() -> Iterator[None]:
    """While a child is started and not yet named by `await_child`, no thread looks for leftovers.

    It would take the new child for one: with four steps at a time that cost more than the steps.
    """
    with _looking:
        yield


def await_child(pid: int) -> None:
    """Register a child that is waited for, so that it is no leftover."""
    _awaited.add(pid)


def forget_child(pid: int) -> None:
    _awaited.discard(pid)


@cache
def become_subreaper() -> bool:
    """Have orphans of our descendants handed to us instead of to init (Linux); asked once."""
    if not processes.has_proc():
        return False
    try:
        library = ctypes.CDLL(None)  # the C library of this process
        return bool(library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False  # a C library without prctl


def may_have_orphans(started: ProcessIdentity) -> bool:
    """Whether there may be orphans of a shell that has ended and is not yet reaped.

    Orphans become our children, so a list of children that holds only those that are waited
    for says that there are none.
    """
    if not become_subreaper():
        return True
    with _looking:
        children = processes.children_of_ours()
        return children is None or bool(children - _awaited - _strangers - {started.pid})


def find_leftovers(started: ProcessIdentity, spared: Iterable[int] = ()) -> tuple[ProcessInfo, ...]:
    """The living processes of an attempt, its shell included, by process id."""
    everyone = tuple(processes.all_processes())
    mine = processes.family(_marked(started, everyone), everyone)
    mine -= processes.family(spared, everyone) | (_awaited - {started.pid}) | {os.getpid()}
    living = (process for process in everyone if process.pid in mine and not process.is_dead)
    return tuple(sorted(living, key=lambda process: process.pid))


def linger(
    started: ProcessIdentity,
    grace: Grace,
    shims: str | None,
    is_over: Callable[[], bool],
    spared: Callable[[], frozenset[int]] = frozenset,
) -> None:
    """Let what is left of an attempt end by itself for a while: the `tee` of `> >(tee log)`.

    A call that is only about to arrive has longer; `shims` is the directory of what makes calls.
    """
    if not processes.has_proc():
        _await_group(started.pid, grace.linger, is_over)
        return
    left = find_leftovers(started, spared())
    calls = shims is not None and any(processes.runs_from(one.pid, shims) for one in left)
    _await_end(left, grace.finish if calls else grace.linger, is_over)


def end_leftovers(
    started: ProcessIdentity,
    patience: OrphanTimeouts | None = None,
    spared: Callable[[], frozenset[int]] = frozenset,
) -> tuple[Orphan, ...]:
    """End what is left of an attempt: of ours, or of a runner that was killed.

    INT, TERM, KILL; a signal that everyone ignores is not waited for (bash lets its background
    jobs ignore INT).
    """
    patience = patience or OrphanTimeouts()
    if not processes.has_proc():
        # Of a process that is not ours, a recorded number alone proves nothing.
        return _end_group(started.pid, patience) if started.pid in _awaited else ()
    leftovers: dict[int, ProcessInfo] = {}
    ended_by: dict[int, signal.Signals] = {}
    for number in _ORDER:
        left = find_leftovers(started, spared())
        if not left:
            break
        leftovers.update({process.pid: process for process in left})
        _signal_all(left, number, patience, ended_by)
    alive = {process.pid for process in find_leftovers(started, spared())}
    _reap(started, leftovers)
    return tuple(
        Orphan(pid, process.command, "" if pid in alive else _name(ended_by.get(pid)))
        for pid, process in sorted(leftovers.items())
    )


def _signal_all(
    left: tuple[ProcessInfo, ...],
    number: signal.Signals,
    patience: OrphanTimeouts,
    ended_by: dict[int, signal.Signals],
) -> None:
    is_last = number == signal.SIGKILL
    if not is_last and patience.hurry():
        return
    hearing = left if is_last else [p for p in left if not processes.ignores(p.pid, number)]
    for process in hearing:
        if processes.send(process, number):
            ended_by[process.pid] = number
        if number == signal.SIGTERM:
            processes.send(process, signal.SIGCONT)  # a stopped one cannot obey
    if is_last:
        _await_end(left, _KILL_PATIENCE, bool)
    elif hearing:
        _await_end(hearing, patience.obey, patience.hurry)


def _marked(started: ProcessIdentity, everyone: Iterable[ProcessInfo]) -> set[int]:
    everyone = tuple(everyone)
    # The number of a session is safe to go by only as long as its leader holds on to it.
    holds = any(
        process.pid == started.pid and process.start_time == started.start_time
        for process in everyone
    )
    return {
        process.pid
        for process in everyone
        if (holds and process.session == started.pid)
        or (not process.is_dead and processes.has_token(process.pid, started.token))
    }


def _await_end(left: Iterable[ProcessInfo], seconds: float, hurry: Callable[[], bool]) -> None:
    """Wait until all have ended, or the time is over."""
    deadline = time.monotonic() + seconds
    for process in left:
        while (info := processes.process_info(process.pid)) and not info.is_dead:
            rest = deadline - time.monotonic()
            if info.start_time != process.start_time or rest <= 0 or hurry():
                break
            _sleep_while_running(process.pid, min(rest, 0.1))


def _sleep_while_running(pid: int, seconds: float) -> None:
    """Sleep, but no longer than that process runs."""
    descriptor = processes.open_pidfd(pid)
    if descriptor is None:
        time.sleep(min(seconds, 0.01))
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        os.close(descriptor)


def _reap(started: ProcessIdentity, pids: Iterable[int]) -> None:
    """Collect the dead among them that became our children."""
    dead = {
        process.pid: process.session
        for process in processes.all_processes()
        if process.is_dead and process.parent == os.getpid()
    }
    own = {pid for pid, session in dead.items() if session == started.pid} | set(pids)
    for pid in own - _awaited - {started.pid}:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
    _strangers.clear()
    _strangers.update(dead.keys() - own)


def _name(number: signal.Signals | None) -> str:
    return number.name.removeprefix("SIG") if number else ""


def _end_group(group: int, patience: OrphanTimeouts) -> tuple[Orphan, ...]:
    """The same for a system that does not list its processes: all we can reach is the group."""
    used: signal.Signals | None = None
    for number in _ORDER[:3]:
        if number != signal.SIGKILL and patience.hurry():
            continue
        try:
            os.killpg(group, number)
        except OSError:
            break
        used = number
        _await_group(group, patience.obey, patience.hurry)
    return (Orphan(group, "", _name(used)),) if used else ()


def _await_group(group: int, seconds: float, hurry: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not hurry():
        # Where orphans come to us, the dead ones would make the group look alive for ever.
        with suppress(ChildProcessError):
            os.waitpid(-group, os.WNOHANG)
        try:
            os.killpg(group, 0)
        except OSError:
            return
        time.sleep(0.01)
