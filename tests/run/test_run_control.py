"""What a running command can be asked for, and who is heard: the switches and the socket."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_dir import RunDir
from oraclepack.run.control import (
    ControlError,
    ControlReply,
    ControlRequest,
    ControlServer,
    RunControl,
    send_request,
)
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop
from oraclepack.system import locks
from oraclepack.system.environment import private_directory
from oraclepack.system.ownership import ForeignError
from tests.events import created, numbered, session, unsigned, write_journal

RUN_ID = "2026-03-01__abc1234__55555555"


def a_control(stop: Stop) -> RunControl:
    control = RunControl(stop, 2, answers_questions=True)
    control.add_settable("max_cost", lambda raw: float(str(raw)), lambda _: None)
    control.put_question("03", 1, "again?", ("retry", "fail"))
    return control


@pytest.mark.parametrize(
    ("request_", "ok", "words"),
    [
        (ControlRequest(action="pause"), True, "none starts"),
        (ControlRequest(action="resume"), True, "continues"),
        (ControlRequest(action="stop"), True, "being stopped"),
        (ControlRequest(action="stop", step="07"), False, "step 07 is not running"),
        (ControlRequest(action="set", values={"max_parallel": "4"}), True, "max_parallel=4"),
        (ControlRequest(action="set", values={"max_parallel": "0"}), False, "max_parallel=0"),
        (ControlRequest(action="set", values={"max_parallel": "x\x1b"}), False, "whole number"),
        (ControlRequest(action="set", values={"colour": "red"}), False, "cannot be set"),
        (ControlRequest(action="set"), False, "nothing to set"),
        (ControlRequest(action="set", values={"max_cost": "30"}), True, "max_cost=30"),
        (ControlRequest(action="answer", step="03", answer="retry"), True, "call 1: retry"),
        (ControlRequest(action="answer", step="03", answer="maybe"), False, "is not an answer"),
        (ControlRequest(action="answer", step="04", answer="retry"), False, "not waiting"),
        (ControlRequest(action="answer", step="03", call=2, answer="retry"), False, "not waiting"),
        (ControlRequest(action="dance"), False, "no such request"),
    ],
)
def test_requests(request_: ControlRequest, ok: bool, words: str) -> None:
    recorded: list[KnownEvent] = []
    with Stop() as stop:
        reply = a_control(stop).handle(request_, "me", recorded.append)

    assert (reply.ok, words in reply.message) == (ok, True), reply
    assert len(recorded) == int(ok), "a refused request changes nothing and is not recorded"


def test_a_change_wakes_waiting_steps_and_applies_to_them() -> None:
    with Stop() as stop:
        control = a_control(stop)
        changed = control.changed
        control.handle(ControlRequest(action="pause"), "me", lambda _: None)

        assert (changed.done(), control.changed.done(), control.is_paused) == (True, False, True)
        with control.step_stop("01") as one, control.step_stop("02") as other:
            control.handle(ControlRequest(action="stop", step="01"), "me", lambda _: None)
            levels = one.level, other.level, stop.level
            assert levels == (StopLevel.POLITE, StopLevel.NONE, StopLevel.NONE)
            assert (control.was_stopped("01"), control.was_stopped("02")) == (True, False)
            control.handle(ControlRequest(action="stop", now=True), "me", lambda _: None)
            assert other.level is StopLevel.AT_ONCE


def test_an_answer_is_given_once_with_who_gave_it() -> None:
    with Stop() as stop:
        control = a_control(stop)
        request = ControlRequest(action="answer", step="03", answer="fail")
        control.handle(request, "ann", lambda _: None)

        taken = control.take_answer("03", 1)
        assert taken is not None
        assert (taken.answer, taken.by) == ("fail", "ann")
        assert control.take_answer("03", 1) is None
        assert not control.handle(request, "ann", lambda _: None).ok


class Runner:
    """A run with a command at work on it, as far as a client can tell."""

    def __init__(self, root: Path) -> None:
        self.run = RunDir(root, RUN_ID)
        self.run.create()
        self.recorded: list[KnownEvent] = []

    def journal(self, path: Path | str, *more: j.Event) -> None:
        opened = j.ControlOpened(socket=str(path))
        write_journal(self.run.path, created("01"), session(os.getpid()), opened, *more)

    def lock(self, pid: int | None = None) -> locks.RunLock:
        holder = locks.Holder(pid=pid or os.getpid(), host=os.uname().nodename)
        held = locks.acquire(self.run.path, holder)
        assert isinstance(held, locks.RunLock)
        return held


PAUSE = ControlRequest(action="pause", by="a test")


def test_a_request_reaches_the_holder_of_the_lock_and_names_who_asked(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    with private_directory() as folder, Stop() as stop:
        control = RunControl(stop, 1)
        with runner.lock(), ControlServer(folder, control, runner.recorded.append) as server:
            runner.journal(server.path)
            reply = send_request(runner.run, PAUSE)

        assert (reply.ok, reply.paused, control.is_paused) == (True, True, True)
        assert list(folder.iterdir()) == [], "no socket is left"
    (recorded,) = runner.recorded
    assert isinstance(recorded, j.ControlRequested)
    assert recorded.by == f"a test (user {os.getuid()}, process {os.getpid()})"


@contextmanager
def a_trap(path: Path) -> Iterator[Callable[[], bytes | None]]:
    """A socket at this path, and what was said to it: None where nothing connected."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(0)

        def heard() -> bytes | None:
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                return None
            with connection:
                return connection.recv(100)

        yield heard


def test_nothing_is_sent_to_a_process_that_does_not_hold_the_lock(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    with (
        private_directory() as folder,
        runner.lock(pid=1),
        a_trap(folder / "control") as heard,
    ):
        runner.journal(folder / "control")

        with pytest.raises(ControlError, match="is not the command that works on"):
            send_request(runner.run, PAUSE)
        assert heard() == b""


@pytest.mark.parametrize("kind", ["open directory", "link", "file", "gone"])
def test_nothing_is_connected_to_that_is_not_a_private_socket(kind: str, tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    with (
        private_directory() as folder,
        runner.lock(),
        socket.socket(socket.AF_UNIX) as trap,
    ):
        place = folder / "control"
        match kind:
            case "open directory":
                trap.bind(str(place))
                folder.chmod(0o755)
            case "link":
                trap.bind(str(folder / "other"))
                place.symlink_to(folder / "other")
            case "file":
                place.write_text("")
        runner.journal(place)

        with pytest.raises(ControlError, match="takes no requests"):
            send_request(runner.run, PAUSE)


def test_a_foreign_journal_names_no_socket(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    with (
        private_directory() as folder,
        runner.lock(),
        a_trap(folder / "control") as heard,
    ):
        events: Any = numbered(
            created("01"), session(os.getpid()), j.ControlOpened(socket=str(folder / "control"))
        )
        (runner.run.path / "journal.jsonl").write_bytes(unsigned(events))

        with pytest.raises(ForeignError):
            send_request(runner.run, PAUSE)
        assert heard() is None


@pytest.mark.parametrize("said", [b"", b"not json\n", b"[]\n", b"x" * 70_000, b'{"action":5}\n'])
def test_the_server_survives_whatever_is_said_to_it(said: bytes, tmp_path: Path) -> None:
    recorded: list[KnownEvent] = []
    with (
        private_directory() as folder,
        Stop() as stop,
        ControlServer(folder, RunControl(stop, 1), recorded.append) as server,
    ):
        with socket.socket(socket.AF_UNIX) as rude, suppress(OSError):  # it may hang up first
            rude.connect(str(server.path))
            rude.sendall(said)
            rude.shutdown(socket.SHUT_WR)
        with socket.socket(socket.AF_UNIX) as polite:
            polite.connect(str(server.path))
            polite.sendall(b'{"action":"pause"}\n')
            reply = json.loads(polite.recv(1000))
    assert reply["ok"] is True
    assert [one.action for one in recorded if isinstance(one, j.ControlRequested)] == ["pause"]


def test_what_cannot_be_recorded_is_not_done(tmp_path: Path) -> None:
    def full(_: KnownEvent) -> None:
        raise OSError(28, "No space left on device")

    with private_directory() as folder, Stop() as stop:
        control = RunControl(stop, 1)
        with (
            ControlServer(folder, control, full) as server,
            socket.socket(socket.AF_UNIX) as client,
        ):
            client.connect(str(server.path))
            client.sendall(b'{"action":"stop"}\n')
            reply = ControlReply(**json.loads(client.recv(1000)))
        assert (reply.ok, stop.level) == (False, StopLevel.NONE)
