"""The private socket the shims talk to: every call of a tool in a step arrives here."""

import os
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from oraclepack.adapters.call_message import CallMessage, Garbled, receive
from oraclepack.adapters.caller import Caller
from oraclepack.adapters.real_tool import Toolbox
from oraclepack.adapters.shim_call import ShimCall, World
from oraclepack.adapters.shim_dir import ShimDir
from oraclepack.adapters.stop import Stop
from oraclepack.core.attempt import MARKER_VARIABLE, Attempt, Grace, StopLevel
from oraclepack.core.call import SPELLINGS
from oraclepack.core.invocation import LiveCall, Shim
from oraclepack.core.wrappers import unwrap

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Answer = Callable[[LiveCall, Shim], int]
"""What to do with a call: the exit code it ends with. Called in a thread per call."""

REFUSED = 125
"""The exit code of a call that could not even be looked at."""

_MOST_AT_ONCE = 256
"""Calls beyond that wait their turn."""
_HANDSHAKE = 30.0
"""A shim says everything at once; one that does not is not one."""


class _Expected(msgspec.Struct):
    """An attempt that may make calls, and how many it has made."""

    step: str
    attempt: int
    calls: int = 0
    asking: int = 0
    """How many of them have asked what may be paid for, and are not at their end."""
    cut_short: bool = False
    """One of those came to its end only when the run was already being stopped."""


class Gateway:
    """Receives calls while it is open, and answers each in a thread of its own."""

    def __init__(
        self,
        answer: Answer,
        stop: Stop,
        folder: Path,
        env: Mapping[str, str],
        *,
        spools: Path | None = None,
        programs: Mapping[str, str] | None = None,
        grace: Grace | None = None,
    ) -> None:
        """Lay out the shim directory. Raises WorldError.

        `folder` is a directory of ours alone, `env` oraclepack's own environment, `spools` a
        directory on disk for what tools say while they run (`folder`, if none is given),
        `programs` are tools the user named by a path. Calls are taken once it is entered.
        """
        self.shims = ShimDir.make(folder, env.get("PATH", os.defpath), env.get("BASH_ENV"))
        tools = Toolbox(self.shims.path, dict(env), programs or {})
        self._world = World(tools, stop, grace or Grace(), spools or folder)
        self._answer = answer
        self._lock = threading.Lock()
        self._answered = threading.Condition(self._lock)
        self._expected: dict[str, _Expected] = {}
        self._calls: set[socket.socket] = set()
        self.faults: list[BaseException] = []
        """What went wrong inside of us while a call was answered."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._accept, name="gateway", daemon=True)
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._listener.bind(str(self.shims.socket))
        self._listener.listen(128)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take no more calls, wait for questions whose callers died, end other calls, tidy up."""
        os.write(self._wake[1], b"!")
        self._thread.join()
        self._listener.close()
        with self._lock:
            for connection in self._calls:
                # Its thread then finds the caller gone: it ends the tool, unless that outlives it.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        if self._threads is not None:
            self._threads.shutdown()
        for descriptor in self._wake:
            os.close(descriptor)
        self.shims.remove()

    def expect(self, attempt: Attempt) -> None:
        """From now on calls with this attempt's token are its own. To be said before it starts."""
        with self._lock:
            self._expected[attempt.token] = _Expected(attempt.step, attempt.number)

    def await_answers(self, attempt: Attempt, seconds: float) -> bool:
        """Wait a while for the questions an attempt has asked, since they may be paid for.

        False while one is not answered; for ever, if it was under way when the run was stopped.
        """
        with self._answered:
            expected = self._expected.get(attempt.token)
            if expected is None:
                return True
            if expected.asking and not expected.cut_short:
                self._answered.wait(seconds)
            return not expected.asking and not expected.cut_short

    def forget(self, attempt: Attempt) -> None:
        """The attempt is over: what still calls in its name is refused."""
        with self._lock:
            self._expected.pop(attempt.token, None)

    def _accept(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._wake[0], select.POLLIN)
        while self._wake[0] not in {ready for ready, _ in poll.poll()}:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                continue  # the shim was gone before we came, or we are out of descriptors
            with self._lock:
                self._calls.add(connection)
            self._pool().submit(self._serve, connection)

    def _pool(self) -> "ThreadPoolExecutor":
        """Threads that stay, because one that ends hides its children from whoever lists ours."""
        if self._threads is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  loads logging

            self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, "call")
        return self._threads

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._converse(connection)
        finally:
            with self._lock:
                self._calls.discard(connection)
            connection.close()

    def _converse(self, connection: socket.socket) -> None:
        connection.settimeout(_HANDSHAKE)
        try:
            message, caller = receive(connection)
        except (OSError, Garbled):
            return
        connection.settimeout(None)
        try:
            caller.reply(self._reply(message, caller))
        finally:
            caller.close()

    def _reply(self, message: CallMessage, caller: Caller) -> bytes:
        try:
            program, prefix, tool, argv = _meant(message)
            if tool is None:
                return self._let_through(message, caller)
            expected = self._caller_of(message)
            if expected is None:
                said = f"{program}: oraclepack knows of no step that is running and calls it\n"
                caller.say(caller.stderr, os.fsencode(said))
                return _exit(REFUSED)
            where = (expected.step, expected.attempt, self._next_number(expected))
            call = LiveCall(tool, argv, message.cwd, message.env, *where)
            with self._counted(expected) as asks:
                shim = ShimCall(caller, self._world, program, prefix, message.umask, asks)
                return _exit(self._answer(call, shim))
        except Exception as fault:  # noqa: BLE001  the step must hear of it, whatever it is
            self.faults.append(fault)
            said = f"{message.name}: oraclepack failed to answer this call: {fault!r}\n"
            caller.say(caller.stderr, os.fsencode(said))
            return _exit(REFUSED)

    def _caller_of(self, message: CallMessage) -> _Expected | None:
        with self._lock:
            if MARKER_VARIABLE in message.env:
                return self._expected.get(message.env[MARKER_VARIABLE])
            # `env -i PATH="$PATH" oracle …`: with one step at work, it must be that one's.
            return next(iter(self._expected.values())) if len(self._expected) == 1 else None

    def _next_number(self, expected: _Expected) -> int:
        with self._lock:
            expected.calls += 1
            return expected.calls

    @contextmanager
    def _counted(self, expected: _Expected) -> Iterator[Callable[[], None]]:
        """Gives what a call says when it asks: from then on to its end the attempt is asking."""
        asks = False

        def ask() -> None:
            nonlocal asks
            with self._lock:
                expected.asking += not asks
                asks = True

        try:
            yield ask
        finally:
            with self._answered:
                expected.asking -= asks
                expected.cut_short |= asks and self._world.stop.level is not StopLevel.NONE
                self._answered.notify_all()

    def _let_through(self, message: CallMessage, caller: Caller) -> bytes:
        """Npx runs more than our tools; the shim becomes the real one for those."""
        found = self._world.tools.find(message.name, message.env.get("PATH", ""))
        if found is None:
            caller.say(caller.stderr, os.fsencode(f"{message.name}: command not found\n"))
            return _exit(127)
        return b"e" + os.fsencode(found.program)


def _meant(message: CallMessage) -> tuple[str, tuple[str, ...], str | None, tuple[str, ...]]:
    """The program called, its own words before the tool's, the tool, the tool's words."""
    if message.name in SPELLINGS:
        return message.name, (), SPELLINGS[message.name], message.argv
    words = (message.name, *message.argv)
    found = unwrap(words)
    if found is None or found.tool is None or found.at is None:
        return message.name, (), None, message.argv
    end = found.at + 1
    return message.name, words[1:end], found.tool, words[end:]


def _exit(code: int) -> bytes:
    return b"x" + bytes((code & 0xFF,))
