"""The step's side of one call: its streams and its real tool."""

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import msgspec

from oraclepack.calls.caller import Caller, Spool, is_same, make_spool
from oraclepack.calls.tool_process import RealTool, Toolbox, ToolProcess
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.errors import ExitCode
from oraclepack.shell.anonymous_files import file_on_disk
from oraclepack.shell.attempt import Grace, ProcessIdentity, StopLevel
from oraclepack.shell.stop import Stop

_NOT_FOUND, _NOT_STARTED, _INTERRUPTED = 127, 126, int(ExitCode.INTERRUPTED)
_LOOK_FOR_STOP = 0.5
"""Seconds between two looks whether the step of a waiting call is to stop."""


class ShimContext(msgspec.Struct, frozen=True):
    """What all calls of a run share."""

    tools: Toolbox
    grace: Grace
    spools: Path
    """A directory for the output of running tools."""


class CallingAttempt(Protocol):
    """The attempt that makes a call, as far as that ends with it."""

    stop: Stop
    ends_calls: bool
    numbers: Iterator[int]


class ShimCall:
    """A `Shim`: the caller's streams, its real tool, its interrupts. Used by one thread."""

    def __init__(
        self,
        caller: Caller,
        context: ShimContext,
        program: str,
        prefix: tuple[str, ...],
        umask: int,
        attempt: CallingAttempt,
    ) -> None:
        """`program` is the name that was called, `prefix` what is before the tool's words.

        With `npx -y @steipete/oracle …` the program is npx, the prefix its own two words.
        """
        self._caller = caller
        self._context = context
        self._program = program
        self._prefix = prefix
        self._umask = umask
        self._attempt = attempt
        self._stop = attempt.stop
        self._stdin: bytes | None = None

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        """Start the real tool and wait for its end. Starts nothing once the caller gave up."""
        if self._is_over():
            return ToolEnd(_INTERRUPTED, stopped=True)
        path = order.env.get("PATH", "")
        if order.program is not None:
            tool: RealTool | None = RealTool(order.program, path)
        else:
            tool = self._context.tools.find(self._program, path)
        if tool is None:
            return ToolEnd(_NOT_FOUND, trouble=f"{self._program} is not on PATH")
        argv = (tool.program, *(() if order.program else self._prefix), *order.argv)
        attempt = self._attempt
        with ExitStack() as stack:
            process = ToolProcess(
                order,
                self._caller,
                attempt.stop,
                self._context.grace,
                self._spools(order, stack),
                lambda: attempt.ends_calls,
            )
            env, stdin = {**order.env, "PATH": tool.path}, self._stdin_for(stack)
            try:
                return process.run(argv, env, self._umask, stdin, on_started)
            except OSError as trouble:
                return ToolEnd(_NOT_STARTED, trouble=_reason(tool.program, order.cwd, trouble))

    def write_stdout(self, text: str) -> None:
        """Write to the step's stdout."""
        self._caller.say(self._caller.stdout, os.fsencode(text))

    def write_stderr(self, text: str) -> None:
        """Write to the step's stderr."""
        self._caller.say(self._caller.stderr, os.fsencode(text))

    def read_stdin(self) -> bytes:
        """All of the call's stdin; the tool reads the same afterwards. Short if given up."""
        if self._stdin is None:
            parts = []
            while self._await(self._caller.stdin) and (
                part := os.read(self._caller.stdin, 1 << 16)
            ):
                parts.append(part)
            self._stdin = b"".join(parts)
        return self._stdin

    def pause(self, seconds: float) -> bool:
        """Wait; False as soon as the call is to be given up."""
        end = time.monotonic() + seconds
        while not self._is_over() and (rest := end - time.monotonic()) > 0:
            self._poll((), rest)
        return not self._is_over()

    def next_call(self) -> int:
        """The number of one more call of the same attempt."""
        return next(self._attempt.numbers)

    def _is_over(self) -> bool:
        self._caller.read_signals()
        return self._caller.gives_up or self._stop.level is not StopLevel.NONE

    def _await(self, descriptor: int) -> bool:
        """Wait until it can be read; False when the call is given up first."""
        while not self._is_over():
            if descriptor in self._poll((descriptor,), None):
                return True
        return False

    def _poll(self, more: tuple[int, ...], seconds: float | None) -> set[int]:
        poll = select.poll()
        for source in (*self._caller.fds, self._stop.lasting_fds[0], *more):
            poll.register(source, select.POLLIN)
        # Not longer: the stop of a single step is no descriptor here, it may be closed before us.
        rest = _LOOK_FOR_STOP if seconds is None else min(seconds, _LOOK_FOR_STOP)
        ready = poll.poll(int(rest * 1000) + 1)
        return {descriptor for descriptor, _ in ready}

    def _spools(self, order: ToolRun, stack: ExitStack) -> tuple[Spool, Spool]:
        folder, caller = order.folder or self._context.spools, self._caller
        names = ("stdout", "stderr") if order.folder else ("", "")
        if order.hidden:
            return make_spool(folder, None, stack), make_spool(folder, None, stack)
        out = make_spool(folder, caller.stdout, stack, names[0])
        if is_same(caller.stdout, caller.stderr):
            return out, out  # one file keeps the order of the output
        return out, make_spool(folder, caller.stderr, stack, names[1])

    def _stdin_for(self, stack: ExitStack) -> int:
        if self._stdin is None:
            return self._caller.stdin
        return file_on_disk(self._context.spools, stack, self._stdin).fd


def _reason(program: str, cwd: str, trouble: OSError) -> str:
    if not os.path.isdir(cwd):  # an empty path is no directory, Path("") is one
        return f"the step's current directory is gone: {cwd or '(removed)'}"
    return f"cannot start {program}: {trouble.strerror or trouble}"
