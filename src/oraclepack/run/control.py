"""Requests to a running command: stop, pause, resume, set, answer.

The thread of the control server passes them to `RunControl`. The executor, the steps and the calls
read its state. A client in another process makes sure that it talks to that command.
"""

import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from oraclepack.calls.context import PersonAnswer
from oraclepack.errors import OraclePackError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_dir import RunDir
from oraclepack.settings import run_settings as rs
from oraclepack.settings.value_kinds import MaxParallel
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import StepStop, Stop
from oraclepack.system import locks
from oraclepack.system.digests import canonical_line
from oraclepack.system.environment import host
from oraclepack.system.local_sockets import (
    Peer,
    SocketListener,
    is_private_socket,
    peer_of,
    read_line,
)
from oraclepack.system.printable import one_line

MAX_PARALLEL = "max_parallel"
_STOPPING = {
    StopLevel.POLITE: "calls that are being asked finish first (--now cancels them)",
    StopLevel.AT_ONCE: "calls that were being asked are cancelled, and may have to be paid",
}
_NOT_WHILE_STOPPING = frozenset({"pause", "resume", "set"})
"""Actions about work that has not started; a run that is being stopped starts none."""
ACTIONS = ("stop", "pause", "resume", "set", "answer")


class ControlRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to a running command."""

    action: str
    """One of `ACTIONS`."""
    step: str | None = None
    """`stop`: only this step. `answer`: the step that asks."""
    call: int | None = None
    """`answer`: which call of the step, if several ask."""
    now: bool = False
    """`stop`: cancel calls instead of waiting for them."""
    values: dict[str, str] = {}
    """`set`: the new values."""
    answer: str = ""
    by: str = ""
    """Who makes the request, as the client says; the server adds user and process."""


class ControlReply(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a request."""

    ok: bool
    message: str
    hint: str = ""
    paused: bool = False
    max_parallel: MaxParallel = 1


class _Question(msgspec.Struct):
    """A question to a person, for whose answer a call waits."""

    question: str
    options: tuple[str, ...]
    answer: PersonAnswer | None = None


class _Settable(msgspec.Struct, frozen=True):
    """A value that `runs set` may change."""

    read: Callable[[object], Any]
    """Converts the text of a value; raises ValueError."""
    apply: Callable[[Any], None]


class RunControl:
    """The state of one running command that requests change. Thread-safe."""

    def __init__(
        self, stop: Stop, max_parallel: MaxParallel, *, answers_questions: bool = False
    ) -> None:
        self._stop = stop
        self._max_parallel = max_parallel
        self._lock = threading.Lock()
        self._is_paused = False
        self._changed: Future[None] = Future()
        self._steps: dict[str, StepStop] = {}
        self._stopped: set[str] = set()
        self._cancelled: set[str | None] = set()
        """Steps to be stopped with `--now`; None stands for all."""
        self._questions: dict[tuple[str, int], _Question] = {}
        self._settable: dict[str, _Settable] = {
            MAX_PARALLEL: _Settable(rs.MAX_PARALLEL.kind.read, self._set_parallel)
        }
        self.answers_questions = answers_questions
        """Whether calls may ask a person, who answers with `runs answer`."""

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @property
    def max_parallel(self) -> MaxParallel:
        """How many steps may run at once."""
        return self._max_parallel

    @property
    def changed(self) -> "Future[None]":
        """A future that completes at the next stop, pause, resume or set."""
        return self._changed

    def is_cancelled(self, step_id: str) -> bool:
        """Whether `runs stop --now` ends the calls of this step, at their providers too."""
        return bool(self._cancelled & {None, step_id})

    def was_stopped(self, step_id: str) -> bool:
        """Whether a request stopped this step alone."""
        return step_id in self._stopped

    def add_settable(
        self, name: str, read: Callable[[object], Any], apply: Callable[[Any], None]
    ) -> None:
        """Let `runs set` change a value; `read` raises ValueError for an invalid one."""
        self._settable[name] = _Settable(read, apply)

    @contextmanager
    def step_stop(self, step: str) -> Iterator[Stop]:
        """The stop switch of one step while it runs."""
        with StepStop(self._stop) as stop:
            with self._lock:
                self._steps[step] = stop
            try:
                yield stop
            finally:
                with self._lock:
                    self._steps.pop(step, None)

    # Questions of calls

    def put_question(self, step: str, call: int, question: str, options: tuple[str, ...]) -> None:
        with self._lock:
            self._questions[step, call] = _Question(question, options)

    def take_answer(self, step: str, call: int) -> PersonAnswer | None:
        """The answer, and remove the question; None while there is no answer."""
        with self._lock:
            question = self._questions.get((step, call))
            if question is None or question.answer is None:
                return None
            del self._questions[step, call]
            return question.answer

    def withdraw_question(self, step: str, call: int) -> None:
        with self._lock:
            self._questions.pop((step, call), None)

    # Requests

    def handle(
        self, request: ControlRequest, by: str, record: Callable[[KnownEvent], object]
    ) -> ControlReply:
        """Check a request, record it, and carry it out; a refusal is also a reply."""

        def note() -> None:
            record(j.ControlRequested(action=request.action, value=_value(request), by=by))

        is_stopping = self._stop.level is not StopLevel.NONE
        done: str | Refusal
        if is_stopping and request.action in _NOT_WHILE_STOPPING:
            done = Refusal("the run is being stopped", "run the pack again to continue it")
        else:
            done = self._done(request, by, note)
        refusal = done if isinstance(done, Refusal) else None
        return ControlReply(
            ok=refusal is None,
            message=refusal.reason if refusal else str(done),
            hint=refusal.hint if refusal else "",
            paused=self._is_paused,
            max_parallel=self._max_parallel,
        )

    def _done(self, request: ControlRequest, by: str, note: Callable[[], None]) -> str | Refusal:
        """What was done. A request is noted once it is known to be possible, before it is done."""
        match request.action:
            case "stop":
                level = StopLevel.AT_ONCE if request.now else StopLevel.POLITE
                if request.step is not None:
                    return self._stop_step(request.step, level, note)
                note()
                return self._stop_run(level)
            case "pause" | "resume":
                note()
                self._is_paused = request.action == "pause"
                self._notify()
                is_paused = "paused: running calls finish, none starts"
                return is_paused if self._is_paused else "the run continues"
            case "set":
                return self._set(request.values, note)
            case "answer":
                return self._answer(request, by, note)
            case other:
                return Refusal(f"no such request: {other[:40]}", f"one of {', '.join(ACTIONS)}")

    def _stop_run(self, level: StopLevel) -> str:
        if level is StopLevel.AT_ONCE:
            self._cancelled.add(None)
        self._stop.ask(level, signal.SIGTERM)
        self._notify()
        return f"the run is being stopped; {_STOPPING[level]}"

    def _stop_step(self, name: str, level: StopLevel, note: Callable[[], None]) -> str | Refusal:
        with self._lock:
            running = sorted(self._steps)
        if name not in running:
            others = f"running now: {', '.join(running)}" if running else "no step is running"
            return Refusal(f"step {name} is not running", others)
        note()
        # With the lock, since the step may end: its descriptors are closed and may be reused.
        with self._lock:
            step = self._steps.get(name)
            if step is not None:
                self._stopped.add(name)
                if level is StopLevel.AT_ONCE:
                    self._cancelled.add(name)
                step.ask(level)
        rest = "the run continues with the steps that do not need it"
        return f"step {name} is being stopped; {_STOPPING[level]}; {rest}"

    def _set(self, values: Mapping[str, str], note: Callable[[], None]) -> str | Refusal:
        known = ", ".join(sorted(self._settable))
        unknown = sorted(values.keys() - self._settable.keys())
        if not values:
            return Refusal("nothing to set", f"one of {known}")
        if unknown:
            what = f"{unknown[0][:40]} cannot be set in a running command"
            return Refusal(what, f"one of {known}")
        read: dict[str, Any] = {}
        for name, text in sorted(values.items()):
            try:
                read[name] = self._settable[name].read(text)
            except ValueError as reason:
                return Refusal(f"{name}={text[:40]}: {reason}")
        note()
        for name, value in read.items():
            self._settable[name].apply(value)
        self._notify()
        return "set " + ", ".join(f"{name}={value}" for name, value in read.items())

    def _set_parallel(self, value: MaxParallel) -> None:
        self._max_parallel = value

    def _answer(self, request: ControlRequest, by: str, note: Callable[[], None]) -> str | Refusal:
        with self._lock:
            open_questions = {
                place: one
                for place, one in self._questions.items()
                if one.answer is None
                and place[0] == request.step
                and request.call in {None, place[1]}
            }
        if not open_questions:
            return Refusal(
                f"step {request.step} is not waiting for a decision", "see `oraclepack runs show`"
            )
        if len(open_questions) > 1:
            calls = ", ".join(str(call) for _, call in sorted(open_questions))
            return Refusal(f"several calls of step {request.step} wait", f"--call: one of {calls}")
        (step, call), question = next(iter(open_questions.items()))
        if request.answer not in question.options:
            what = f"{request.answer[:40]!r} is not an answer to this question"
            return Refusal(what, f"one of {', '.join(question.options)}")
        note()
        question.answer = PersonAnswer(request.answer, by)
        return f"step {step}, call {call}: {request.answer}"

    def _notify(self) -> None:
        with self._lock:
            changed, self._changed = self._changed, Future()
        changed.set_result(None)


def _value(request: ControlRequest) -> str:
    """The request on one line, for the journal."""
    words = [request.step] if request.step else []
    words += [f"{name}={value}" for name, value in sorted(request.values.items())]
    words += [request.answer] if request.answer else []
    words += ["now"] if request.now else []
    return " ".join(words)


NAME = "control"
_PATIENCE = 5.0
"""Seconds that a client may take for its one line."""
_LONGEST_NAME = 100


class ControlServer:
    """Takes requests while it is open, from processes of the same user only."""

    def __init__(
        self, folder: Path, control: RunControl, record: Callable[[KnownEvent], object]
    ) -> None:
        """`folder` is the private directory of the command."""
        self.path = folder / NAME
        self._control = control
        self._record = record
        self._listener = SocketListener(self.path, self._serve, "control")

    def __enter__(self) -> Self:
        self._listener.open()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._listener.stop()
        with suppress(OSError):
            self.path.unlink()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_PATIENCE)
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        peer = peer_of(connection)
        if peer is not None and not peer.is_ours:
            return
        line = read_line(connection)
        if line is None:
            return
        connection.sendall(canonical_line(self._reply(line, peer)) + b"\n")

    def _reply(self, line: bytes, peer: Peer | None) -> ControlReply:
        try:
            request = msgspec.json.decode(line, type=ControlRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
            return ControlReply(ok=False, message=f"not a request: {fault}")
        try:
            return self._control.handle(request, _asker(request, peer), self._record)
        except (OraclePackError, OSError) as trouble:
            # It could not be recorded, so it was not done.
            return ControlReply(ok=False, message=f"not done: {trouble}")


def _asker(request: ControlRequest, peer: Peer | None) -> str:
    who = f"user {peer.uid}, process {peer.pid}" if peer is not None else "a process of the user"
    name = one_line(request.by)[:_LONGEST_NAME]
    return f"{name} ({who})" if name else who


_CLIENT_PATIENCE = 10.0
"""Seconds; a running command answers in milliseconds."""


class ControlError(OraclePackError):
    """No command works on the run, or it refuses the request."""

    code = "CONTROL"


def send_request(run: RunDir, request: ControlRequest) -> ControlReply:
    """Ask the command that works on a run; raises ControlError where none does, or it refuses.

    Nothing is sent before it is sure that the other end is the process that holds the run's lock:
    the path of the socket comes from a journal with the user's signature, lies in a directory of
    the user's own, and the kernel names the process behind it.
    """
    path, holder = _socket_of(run)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_CLIENT_PATIENCE)
            connection.connect(str(path))
            peer = peer_of(connection)
            if peer is not None and not (peer.is_ours and peer.pid == holder.pid):
                raise ControlError(
                    f"what listens at {path} is not the command that works on run {run.run_id}",
                    hint=f"it is process {peer.pid}, the lock has {holder}; nothing was sent",
                )
            connection.sendall(canonical_line(request) + b"\n")
            line = read_line(connection)
    except OSError as trouble:
        raise ControlError(
            f"{holder} works on run {run.run_id} and does not answer: {trouble}",
            hint="it may still carry out the request, once it goes on; `oraclepack runs show` says"
            " what became of the run",
            retryable=True,
        ) from trouble
    reply = _reply(line or b"", run)
    if not reply.ok:
        raise ControlError(f"run {run.run_id}: {reply.message}", hint=reply.hint)
    return reply


def _reply(line: bytes, run: RunDir) -> ControlReply:
    try:
        return msgspec.json.decode(line, type=ControlReply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise ControlError(
            f"run {run.run_id} ended while it was asked",
            hint="`oraclepack runs show` shows its status",
            retryable=True,
        ) from fault


def _socket_of(run: RunDir) -> tuple[Path, locks.Holder]:
    examined = run_dir.examine(run)
    examined.own_state()  # raises where it is foreign
    holder = locks.holder_of(run.path)
    if holder is None:
        raise ControlError(
            f"no command works on run {run.run_id}",
            hint="`oraclepack runs list` shows which are running",
        )
    if holder.host and holder.host != host():
        raise ControlError(
            f"run {run.run_id} is in use by {holder}", hint="run the command on that machine"
        )
    path = control_socket(examined.reading.events)
    if path is None or not is_private_socket(path):
        raise ControlError(
            f"{holder} works on run {run.run_id} and takes no requests",
            hint="it is about to begin or to end, or runs no steps; try again in a moment",
            retryable=True,
        )
    return path, holder


def control_socket(events: Iterable[AnyEvent]) -> Path | None:
    """Where the last command of a run takes requests; None where it does not, or has ended."""
    path: str | None = None
    for event in events:
        match event:
            case j.SessionStarted() | j.SessionFinished():
                path = None
            case j.ControlOpened():
                path = event.socket
            case _:
                pass
    return None if path is None else Path(path)
