"""One run of a real tool: started apart from the step, watched to its end."""

import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from oraclepack.calls import shim
from oraclepack.calls.caller import Caller, Spool
from oraclepack.calls.shim_dir import ShimDir, find_beyond, without
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.errors import SIGNALLED, ExitCode
from oraclepack.shell import orphans, processes
from oraclepack.shell.attempt import Grace, ProcessIdentity, StopLevel
from oraclepack.shell.bash import exit_fd
from oraclepack.shell.stop import KILL_PATIENCE, Stop, Termination, signal_group
from oraclepack.system.environment import MARKER_VARIABLE
from oraclepack.system.machine import this_machine
from oraclepack.tools.oracle_sessions import HEAD_BYTES


class RealTool(msgspec.Struct, frozen=True):
    """A program, and the PATH on which it was found."""

    program: str
    path: str


class Toolbox(msgspec.Struct, frozen=True):
    """Finds the tools as oraclepack sees them first, then as the step does.

    A login profile may put an old Node first on a step's PATH, while the person who started
    oraclepack has a PATH on which the tools work.
    """

    shims: ShimDir
    own: Mapping[str, str]
    """The environment that oraclepack was started with."""
    given: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What the steps get of it, with our changes."""
    chosen: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Programs the user named, by tool."""

    def find(self, name: str, step_path: str) -> RealTool | None:
        """The real program of this name, or None."""
        folder = self.shims.path
        own_path = without(folder, self.own.get("PATH", os.defpath))
        named = self.chosen.get(name)
        for search in (own_path,) if named else (own_path, without(folder, step_path)):
            program = find_beyond(folder, named or name, search)
            if program:
                return RealTool(os.path.abspath(program), search)  # keeps links
        return None

    def restored(self, env: Mapping[str, str]) -> dict[str, str]:
        """A caller's environment without our changes; what the step set itself stays.

        A tool that we start outlives us: without the mark of the attempt, no clean-up after the
        step mistakes a paid call for one of its leftovers.
        """
        here = f"{self.shims.path}/"
        ours = (name for name in self.own if self.given.get(name) == env.get(name))
        theirs = (name for name in env if name == "PATH" or env[name] != self.given.get(name))
        restored = {name: self.own[name] for name in ours} | {name: env[name] for name in theirs}
        if here in restored.get("NODE_OPTIONS", ""):
            restored["NODE_OPTIONS"] = restored["NODE_OPTIONS"].replace(self.shims.node_option, "")
        return {
            name: value
            for name, value in restored.items()
            if name != MARKER_VARIABLE and not (name.startswith("BASH_FUNC_") and here in value)
        }


_PROGRAM = Path(shim.__file__).with_name("gate.py")


class Gate:
    """A process that waits and becomes a tool on `open`: start `argv`, passing `fd` on."""

    def __init__(self) -> None:
        self._local, self._remote = socket.socketpair()
        self.fd = self._remote.fileno()
        self.argv = (sys.executable, "-IS", str(_PROGRAM), str(self.fd))

    def open(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Let the tool begin, and check that it did. Raises OSError."""
        self._remote.close()
        words = [os.fsencode(word) for word in argv]
        variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
        order = b"\0".join((words[0], b"%d" % len(words), *words, *variables))
        self._local.sendall(len(order).to_bytes(8, "big") + order)
        if error := self._local.recv(16):
            raise OSError(int(error), os.strerror(int(error)), argv[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._remote.close()
        self._local.close()


_FASTEST, _SLOWEST = 0.01, 0.2
"""Seconds between two checks for output; they grow while the tool prints nothing."""


class ToolProcess:
    """One run of a real tool, whose output is passed on and which is watched to its end.

    It has a session of its own and is our child, not the step's: if the step, its shell or we
    are killed, a paid call goes on and can be adopted. A signal that reaches its caller, a stop of
    the run or its own time limit end it, and the caller's death. A paid one outlives its caller,
    whether that is killed or sent a signal by the step (`timeout 60 oracle`), and is ended by an
    immediate stop, its time limit and the end of an attempt that oraclepack itself cuts off.
    """

    def __init__(
        self,
        order: ToolRun,
        caller: Caller,
        stop: Stop,
        grace: Grace,
        streams: tuple[Spool, Spool],
        is_cut_off: Callable[[], bool],
    ) -> None:
        """`streams` are its stdout and stderr, perhaps one; `is_cut_off`: we end the attempt."""
        self._order = order
        self._caller = caller
        self._stop = stop
        self._grace = grace
        self._out, self._err = streams
        self._spools = frozenset(streams)
        self._is_cut_off = is_cut_off
        self._on_output = order.on_output
        self._head = 0
        self._timed_out = self._stopped = False

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        umask: int,
        stdin: int,
        on_started: Callable[[ProcessIdentity], None],
    ) -> ToolEnd:
        """Start it and stay with it. Raises OSError.

        It does nothing before `on_started` has returned: a kill before that has cost nothing.
        """
        with ExitStack() as stack:
            gate = stack.enter_context(Gate())
            with orphans.starting():
                process = subprocess.Popen(
                    gate.argv,
                    stdin=stdin,
                    stdout=self._out.fd,
                    stderr=self._err.fd,
                    cwd=self._order.cwd,
                    umask=umask,
                    start_new_session=True,
                    pass_fds=(gate.fd,),
                )
                orphans.await_child(process.pid)
            stack.callback(orphans.forget_child, process.pid)
            started = ProcessIdentity(
                pid=process.pid,
                pgid=process.pid,
                start_time=processes.start_time(process.pid),
                machine=this_machine(),
            )
            stack.callback(_abandon, process, started)
            # Before the tool begins: afterwards nothing may fail that would end it.
            exited = exit_fd(process, stack)
            on_started(started)
            if self._stop.level is not StopLevel.NONE:
                return ToolEnd(int(ExitCode.INTERRUPTED), stopped=True)
            gate.open(argv, env)
            self._watch(process.pid, exited)
            # What it left in its own session; a worker that detached itself is not there.
            if orphans.may_have_orphans(started):
                hurry = self._is_urgent
                orphans.linger(started, self._grace, None, lambda: hurry)
                patience = orphans.OrphanTimeouts(self._grace.orphan, lambda: hurry)
                orphans.end_leftovers(started, patience)
            self._drain()
            code = process.wait(KILL_PATIENCE)
        out, out_cut = self._out.tail(self._order.keep)
        err, err_cut = ("", False) if self._err is self._out else self._err.tail(self._order.keep)
        return ToolEnd(
            exit_code=code if code >= 0 else SIGNALLED - code,
            out=out,
            err=err,
            cut=out_cut or err_cut,
            timed_out=self._timed_out,
            stopped=self._stopped,
        )

    def _watch(self, group: int, exited: int) -> None:
        """Forward the tool's output until it has ended; end it when its time is up."""
        order, caller, stop = self._order, self._caller, self._stop
        ending, pace = Termination(group, self._grace), _FASTEST
        ends_at = StopLevel.AT_ONCE if order.is_paid else StopLevel.POLITE
        deadline = None if order.timeout is None else time.monotonic() + order.timeout
        while True:
            self._read_head()
            pace = _FASTEST if self._pump() else min(pace * 2, _SLOWEST)
            polite, urgent = stop.lasting_fds
            signal_fd = urgent if order.is_paid else polite
            waiting = {exited, *caller.fds, *(() if stop.level >= ends_at else (signal_fd,))}
            if exited in self._wait(waiting, _rest(pace, deadline, ending.due)):
                self._read_head()
                return
            for number in caller.read_signals():
                if order.outlives_caller and not self._is_cut_off():
                    caller.let_go(number)
                    continue
                self._stopped = True
                if ending.due is None:
                    signal_group(group, number)
            abandoned = caller.is_gone and not (order.outlives_caller and not self._stopped)
            if abandoned or stop.level >= ends_at:
                self._stopped = True
                ending.begin()
            elif deadline is not None and time.monotonic() >= deadline:
                self._timed_out = True
                ending.begin()
            ending.go_on(hurry=self._is_urgent)

    @property
    def _is_urgent(self) -> bool:
        return self._stop.level is StopLevel.AT_ONCE

    def _read_head(self) -> None:
        """Hand the beginning of its stdout to who is interested in it."""
        size = min(self._out.size, HEAD_BYTES)
        if self._on_output is not None and size > self._head:
            self._head = size
            if not self._on_output(self._out.head(size)):
                self._on_output = None

    def _drain(self) -> None:
        """Forward the remaining output while the step still reads it."""
        while True:
            self._pump()
            over = self._caller.is_gone or self._is_urgent
            if over or all(spool.waiting_for is None for spool in self._spools):
                return
            self._wait({*self._caller.fds, self._stop.lasting_fds[1]}, _SLOWEST)
            self._caller.read_signals()

    def _pump(self) -> bool:
        return any([spool.pump() for spool in self._spools])  # noqa: C419  all, not up to the first

    def _wait(self, readable: Iterable[int], seconds: float) -> set[int]:
        poll = select.poll()
        for descriptor in readable:
            poll.register(descriptor, select.POLLIN)
        for spool in self._spools:
            if (target := spool.waiting_for) is not None:
                poll.register(target, select.POLLOUT)
        return {descriptor for descriptor, _ in poll.poll(int(seconds * 1000) + 1)}


def _rest(pace: float, *moments: float | None) -> float:
    """Until the next thing to do."""
    now = time.monotonic()
    return max(0.0, min([pace, *(one - now for one in moments if one is not None)]))


def _abandon(process: subprocess.Popen[bytes], started: ProcessIdentity) -> None:
    """After an internal error, end the tool: none may run unattended. Else nothing to do."""
    if process.returncode is None:
        orphans.end_leftovers(started, orphans.OrphanTimeouts(hurry=lambda: True))
        with suppress(subprocess.TimeoutExpired):
            process.wait(KILL_PATIENCE)
