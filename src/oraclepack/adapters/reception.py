"""Where calls are taken once one has come: each is understood and answered in its own thread."""

import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from oraclepack.adapters.call_message import CallMessage, Garbled, receive
from oraclepack.adapters.caller import Caller
from oraclepack.adapters.expected import Attempts
from oraclepack.adapters.shim_call import ShimCall, World
from oraclepack.core.invocation import LiveCall, Shim
from oraclepack.errors import WorldError
from oraclepack.tools.tool_names import SPELLINGS
from oraclepack.tools.wrappers import runs_a_package, unwrap

Answer = Callable[[LiveCall, Shim], int]
"""What to do with a call: the exit code it ends with. Called in a thread per call."""

REFUSED = 125
"""The exit code of a call that could not even be looked at."""

_NOT_STARTED = 126

_MOST_AT_ONCE = 256
"""Calls beyond that wait their turn."""
_HANDSHAKE = 30.0
"""A shim says everything at once; one that does not is not one."""


class Reception:
    """Takes the calls that come through one door."""

    def __init__(
        self,
        door: int,
        answer: Answer,
        attempts: Attempts,
        world: World,
        faults: list[BaseException],
        *,
        no_other_packages: bool = False,
    ) -> None:
        """`door` is the descriptor of a listening socket, `faults` is told what goes wrong.

        With `no_other_packages` a package runner is refused what is no tool of ours.

        The door is closed with the reception; where none can be made, it stays the caller's.
        """
        self._answer = answer
        self._attempts = attempts
        self._world = world
        self._faults = faults
        self._no_other_packages = no_other_packages
        self._lock = threading.Lock()
        self._calls: set[socket.socket] = set()
        # Those of them that no thread has taken yet: only such a one can still be turned away.
        self._waiting: set[socket.socket] = set()
        # They stay, because a thread that ends hides its children from whoever lists ours.
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, "call")
        self._listener = socket.socket(fileno=door)

    def admit(self) -> None:
        """Take the call that is at the door."""
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # the shim was gone before we came, or we are out of descriptors
        with self._lock:
            self._calls.add(connection)
            self._waiting.add(connection)
        try:
            self._threads.submit(self._serve, connection)
        except RuntimeError as fault:  # no thread for it
            self._turn_away(connection, fault)

    def close(self) -> None:
        """Wait for questions whose callers died, end other calls."""
        self._listener.close()
        with self._lock:
            for connection in self._calls:
                # Its thread then finds the caller gone: it ends the tool, unless that outlives it.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._threads.shutdown()

    def _turn_away(self, connection: socket.socket, fault: RuntimeError) -> None:
        """Let the shim fail, which else would wait for an answer that cannot come."""
        with self._lock:
            if connection not in self._waiting:
                return  # a thread that got free has taken it
            self._waiting.discard(connection)
            self._calls.discard(connection)
        self._faults.append(
            WorldError(
                "this machine cannot go on: no thread could be started for a call",
                hint="raise the limit on processes (ulimit -u), or run fewer at once",
                detail=str(fault),
            )
        )
        connection.close()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            if connection not in self._waiting:
                return  # turned away
            self._waiting.discard(connection)
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
            expected = self._attempts.caller_in(message.env)
            if expected is None:
                said = f"{program}: oraclepack knows of no step that is running and calls it\n"
                caller.say(caller.stderr, os.fsencode(said))
                return _exit(REFUSED)
            where = (expected.step, expected.attempt, self._attempts.next_number(expected))
            call = LiveCall(tool, argv, message.cwd, message.env, *where)
            with self._attempts.counted(expected) as asks:
                shim = ShimCall(caller, self._world, program, prefix, message.umask, asks)
                return _exit(self._answer(call, shim))
        except Exception as fault:  # noqa: BLE001  the step must hear of it, whatever it is
            self._faults.append(fault)
            said = f"{message.name}: oraclepack failed to answer this call: {fault!r}\n"
            caller.say(caller.stderr, os.fsencode(said))
            return _exit(REFUSED)

    def _let_through(self, message: CallMessage, caller: Caller) -> bytes:
        """Npx runs more than our tools; the shim becomes the real one for those."""
        if self._no_other_packages and runs_a_package((message.name, *message.argv)):
            said = f"{message.name}: a rehearsal starts no package that oraclepack does not know\n"
            caller.say(caller.stderr, os.fsencode(said))
            return _exit(_NOT_STARTED)
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
