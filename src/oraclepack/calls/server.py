"""The private socket the shims talk to: every call of a tool in a step arrives here."""

import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from oraclepack.calls.caller import Caller
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.shim_dir import ShimDir
from oraclepack.calls.shim_side import ShimCall, ShimContext
from oraclepack.calls.tool_process import Toolbox
from oraclepack.errors import MachineError, OraclePackError
from oraclepack.shell.attempt import Attempt, Grace, StopLevel
from oraclepack.shell.stop import Stop
from oraclepack.system.environment import MARKER_VARIABLE
from oraclepack.system.local_sockets import SocketListener
from oraclepack.tools.providers import may_cost
from oraclepack.tools.tool_names import SPELLINGS
from oraclepack.tools.wrappers import runs_a_package, unwrap


class ArrivedCall(msgspec.Struct):
    """A call of an attempt, from its arrival on."""

    tool: str
    argv: tuple[str, ...]
    number: int
    is_open: bool = True
    exit_code: int | None = None
    """None until it has ended, and where it ended by a fault of ours."""


class ExpectedAttempt(msgspec.Struct):
    """An attempt that may make calls, and those that it has made."""

    step: str
    attempt: int
    stop: Stop
    """That of its step, or of the whole run."""
    calls: list[ArrivedCall] = msgspec.field(default_factory=list)
    numbers: Iterator[int] = msgspec.field(default_factory=lambda: itertools.count(1))
    """Of its calls; one that asks several models has several."""
    ends_calls: bool = False
    """It is being ended by us: signals that reach its shims are for the tools as well."""
    cut_short: bool = False
    """One of its calls ended without success when the attempt was already being stopped."""

    @property
    def asking(self) -> int:
        """How many of its calls may be paid for and are not at their end."""
        return sum(call.is_open and may_cost(call.tool, call.argv) for call in self.calls)


class ExpectedAttempts:
    """All attempts that may make calls now. Steps and calls are at work in threads of their own."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._answered = threading.Condition(self._lock)
        self._expected: dict[str, ExpectedAttempt] = {}
        self._announced: set[str] = set()

    def expect(self, attempt: Attempt, stop: Stop | None = None) -> None:
        """Before an attempt starts: calls with its token are its own from now on.

        `stop` is that of its step, where it has one.
        """
        expected = ExpectedAttempt(attempt.step, attempt.number, stop or self._stop)
        with self._lock:
            self._expected[attempt.token] = expected

    def asking(self, attempt: Attempt | None = None) -> int:
        """How many calls are being asked that may be paid for: of an attempt, or of all."""
        with self._lock:
            mine = [self._expected.get(attempt.token)] if attempt else [*self._expected.values()]
            return sum(one.asking for one in mine if one is not None)

    def is_unannounced(self, attempt: Attempt | None = None) -> bool:
        """Whether this is asked for the first time about the stop of an attempt, or of the run."""
        token = attempt.token if attempt else ""
        with self._lock:
            is_new = token not in self._announced
            self._announced.add(token)
            return is_new

    def await_answers(self, attempt: Attempt, seconds: float) -> bool:
        """Wait a while for the questions an attempt has asked, since they may be paid for.

        False while one is not answered; for ever, if a stop kept it from being answered.
        """
        with self._answered:
            expected = self._expected.get(attempt.token)
            if expected is None:
                return True
            if expected.asking and not expected.cut_short:
                self._answered.wait(seconds)
            return not expected.asking and not expected.cut_short

    def end_calls(self, attempt: Attempt) -> None:
        """The attempt is ended by us, and its calls with it."""
        with self._lock:
            if attempt.token in self._expected:
                self._expected[attempt.token].ends_calls = True

    def arrived(self, attempt: Attempt) -> tuple[ArrivedCall, ...]:
        """The calls that an attempt has made so far."""
        with self._lock:
            expected = self._expected.get(attempt.token)
            return tuple(expected.calls) if expected else ()

    def forget(self, attempt: Attempt) -> None:
        """The attempt is over: what still calls in its name is refused."""
        with self._lock:
            self._expected.pop(attempt.token, None)

    def caller_in(self, env: Mapping[str, str]) -> ExpectedAttempt | None:
        """Whose call it is that comes from this environment."""
        with self._lock:
            if MARKER_VARIABLE in env:
                return self._expected.get(env[MARKER_VARIABLE])
            # `env -i PATH="$PATH" oracle …`: if only one step is running, the call is its own.
            return next(iter(self._expected.values())) if len(self._expected) == 1 else None

    @contextmanager
    def counted(
        self, expected: ExpectedAttempt, tool: str, argv: tuple[str, ...]
    ) -> Iterator[ArrivedCall]:
        """A call of the attempt; its exit code is to be noted there."""
        with self._lock:
            call = ArrivedCall(tool, argv, next(expected.numbers))
            expected.calls.append(call)
        try:
            yield call
        finally:
            with self._answered:
                call.is_open = False
                is_stopped = expected.stop.level is not StopLevel.NONE
                expected.cut_short |= is_stopped and call.exit_code != 0
                self._answered.notify_all()


_PROTOCOL = b"1"
_STREAMS = 3
_LONGEST = 1 << 26
"""The kernel gives a program a few megabytes of arguments and environment at most."""


class ProtocolError(Exception):
    """A client sent something that is no call of a shim of this run."""


class CallMessage(msgspec.Struct, frozen=True):
    """A call as the shim sent it."""

    name: str
    """The name it was called by."""
    argv: tuple[str, ...]
    cwd: str
    """Empty when the directory was removed while the caller was in it."""
    umask: int
    env: Mapping[str, str]


def receive(connection: socket.socket) -> tuple[CallMessage, Caller]:
    """Read a call, with the caller's streams. Raises ProtocolError or OSError."""
    # Without the flag a tool that another thread starts right now would inherit them.
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    head, streams, _, _ = socket.recv_fds(connection, 4, _STREAMS, flags)
    try:
        stdin, stdout, stderr = streams
        message = _parse(_read(connection, int.from_bytes(head, "big")))
        return message, Caller(connection, stdin, stdout, stderr)
    except ValueError as trouble:
        _close(streams)
        raise ProtocolError from trouble
    except (OSError, ProtocolError):
        _close(streams)
        raise


def _close(streams: list[int]) -> None:
    for descriptor in streams:
        os.close(descriptor)


def _read(connection: socket.socket, size: int) -> bytes:
    if size > _LONGEST:
        raise ProtocolError
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise ProtocolError
        data += part
    return bytes(data)


def _parse(data: bytes) -> CallMessage:
    """The fields of the message; ValueError when they are not there."""
    protocol, name, cwd, mask, count, *rest = data.split(b"\0")
    words, pairs = rest[: int(count)], rest[int(count) :]
    if protocol != _PROTOCOL or len(words) != int(count):
        raise ProtocolError
    named = (pair.partition(b"=") for pair in pairs if pair)
    return CallMessage(
        name=os.fsdecode(name),
        argv=tuple(map(os.fsdecode, words)),
        cwd=os.fsdecode(cwd),
        umask=int(mask, 8),
        env={os.fsdecode(key): os.fsdecode(value) for key, _, value in named},
    )


Answer = Callable[[LiveCall, Shim], int]
"""What to do with a call: the exit code it ends with. Called in a thread per call."""

REFUSED = 125
"""The exit code of a call that could not be read."""

_NOT_STARTED = 126

_MOST_AT_ONCE = 256
"""Calls beyond that wait their turn."""
_HANDSHAKE = 30.0
"""Seconds: a shim sends its message at once; a slower client is not a shim."""


def _called_tool(message: CallMessage) -> tuple[str, tuple[str, ...], str | None, tuple[str, ...]]:
    """The program called, its own words before the tool's, the tool, the tool's words."""
    if message.name in SPELLINGS:
        return message.name, (), SPELLINGS[message.name], message.argv
    words = (message.name, *message.argv)
    command = unwrap(words)
    if command is None or command.tool is None or command.at is None:
        return message.name, (), None, message.argv
    end = command.at + 1
    return message.name, words[1:end], command.tool, words[end:]


def _exit(code: int) -> bytes:
    return b"x" + bytes((code & 0xFF,))


class Gateway:
    """Receives calls while it is open, and answers each in a thread of its own."""

    def __init__(  # noqa: PLR0913 - all but four by name
        self,
        answer: Answer,
        stop: Stop,
        folder: Path,
        env: Mapping[str, str],
        *,
        given: Mapping[str, str] | None = None,
        dotenv: Callable[[str], dict[str, str]] = lambda _: {},
        spools: Path | None = None,
        programs: Mapping[str, str] | None = None,
        grace: Grace | None = None,
        every_tool: bool = False,
    ) -> None:
        """Lay out the shim directory. Raises MachineError.

        `folder` is a directory of ours alone, `env` oraclepack's own environment, `given` what the
        steps get of it (all, if none is given), `dotenv` what a `.env` that they do not see says
        beside a call. `spools` is a directory on disk for what tools say while they run (`folder`,
        if none is given), `programs` are tools the user named by a path. With `every_tool`, no tool
        we know starts and no package is run that we do not know. Calls are taken once it is
        entered.
        """
        self.shims = ShimDir.make(
            folder, env.get("PATH", os.defpath), env.get("BASH_ENV"), every_tool=every_tool
        )
        self.attempts = ExpectedAttempts(stop)
        self.faults: list[BaseException] = []
        """Internal errors while calls were answered."""
        self._no_other_packages = every_tool
        self._answer = answer
        self._dotenv = dotenv
        given = self.shims.environment(env if given is None else given)
        tools = Toolbox(self.shims, dict(env), given, programs or {})
        self._context = ShimContext(tools, grace or Grace(), spools or folder)
        self._lock = threading.Lock()
        self._calls: set[socket.socket] = set()
        # Connections that no thread has taken yet: only these can still be refused.
        self._waiting: set[socket.socket] = set()
        # The threads stay alive: children of an ended thread are missing in our process listing.
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, "call")
        self._listener = SocketListener(self.shims.socket, self._take, "gateway")

    def __enter__(self) -> Self:
        self._listener.open(backlog=128)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take no more calls, wait for questions whose callers died, end other calls, tidy up."""
        self._listener.stop()
        with self._lock:
            for connection in self._calls:
                # Its thread then finds the caller gone: it ends the tool, unless that outlives it.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._threads.shutdown()
        self.shims.remove()

    def _take(self, connection: socket.socket) -> None:
        with self._lock:
            self._calls.add(connection)
            self._waiting.add(connection)
        try:
            self._threads.submit(self._serve, connection)
        except RuntimeError as fault:  # no thread for it
            self._refuse(connection, fault)

    def _refuse(self, connection: socket.socket, fault: RuntimeError) -> None:
        """Refuse a connection, or its shim would wait for an answer that cannot come."""
        with self._lock:
            if connection not in self._waiting:
                return  # a thread that got free has taken it
            self._waiting.discard(connection)
            self._calls.discard(connection)
        self.faults.append(
            MachineError(
                "this machine cannot go on: no thread could be started for a call",
                hint="raise the limit on processes (ulimit -u), or run fewer at once",
                detail=str(fault),
            )
        )
        connection.close()

    def _serve(self, connection: socket.socket) -> None:
        """Answer one call."""
        with self._received(connection) as received:
            if received is None:
                return
            message, caller = received
            try:
                program, prefix, tool, argv = _called_tool(message)
                expected = self.attempts.caller_in(message.env)
                if tool is None:
                    reply = self._let_through(message, caller)
                elif expected is None:
                    reply = _unknown_caller(program, caller)
                else:
                    with self.attempts.counted(expected, tool, argv) as arrived:
                        where = (expected.step, expected.attempt, arrived.number)
                        env = self._dotenv(message.cwd) | self._context.tools.restored(message.env)
                        call = LiveCall(tool, argv, message.cwd, env, *where)
                        named = (program, prefix, message.umask)
                        shim = ShimCall(caller, self._context, *named, expected)
                        arrived.exit_code = self._answer(call, shim)
                        reply = _exit(arrived.exit_code)
            except Exception as fault:  # noqa: BLE001  the step must hear of it, whatever it is
                self.faults.append(fault)
                reason = fault.message if isinstance(fault, OraclePackError) else repr(fault)
                complaint = f"{message.name}: oraclepack failed to answer this call: {reason}\n"
                caller.say(caller.stderr, os.fsencode(complaint))
                reply = _exit(REFUSED)
            caller.reply(reply)

    @contextmanager
    def _received(self, connection: socket.socket) -> Iterator[tuple[CallMessage, Caller] | None]:
        """What a shim asks for; None when it was turned away, or is none. Closed at the end."""
        with self._lock:
            is_ours = connection in self._waiting
            self._waiting.discard(connection)
        if not is_ours:
            yield None
            return
        try:
            connection.settimeout(_HANDSHAKE)
            try:
                message, caller = receive(connection)
            except (OSError, ProtocolError):
                yield None
                return
            connection.settimeout(None)
            try:
                yield message, caller
            finally:
                caller.close()
        finally:
            with self._lock:
                self._calls.discard(connection)
            connection.close()

    def _let_through(self, message: CallMessage, caller: Caller) -> bytes:
        """Npx runs more than our tools; the shim becomes the real one for those."""
        if self._no_other_packages and runs_a_package((message.name, *message.argv)):
            complaint = (
                f"{message.name}: a rehearsal starts no package that oraclepack does not know\n"
            )
            caller.say(caller.stderr, os.fsencode(complaint))
            return _exit(_NOT_STARTED)
        tool = self._context.tools.find(message.name, message.env.get("PATH", ""))
        if tool is None:
            caller.say(caller.stderr, os.fsencode(f"{message.name}: command not found\n"))
            return _exit(127)
        return b"e" + os.fsencode(tool.program)


def _unknown_caller(program: str, caller: Caller) -> bytes:
    complaint = f"{program}: oraclepack knows of no step that is running and calls it\n"
    caller.say(caller.stderr, os.fsencode(complaint))
    return _exit(REFUSED)
