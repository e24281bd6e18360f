"""The lock of a run directory."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from oraclepack.errors import MachineError
from oraclepack.system.digests import canonical_line
from oraclepack.system.locks import NAME, Holder, RunLock, acquire, hold, holder_of
from tests.faults import failing

ME = Holder(pid=os.getpid(), host="box", started_at="2026-03-01T10:00:00Z", command="run pack.md")


def locked(directory: Path) -> RunLock:
    lock = acquire(directory, ME)
    assert isinstance(lock, RunLock)
    return lock


HOLD = """
import subprocess, sys
from pathlib import Path
from oraclepack.system.locks import Holder, acquire
lock = acquire(Path(sys.argv[1]), Holder(pid=1, host="h", started_at="t", command="run"))
null = subprocess.DEVNULL
orphan = subprocess.Popen(["sleep", "60"], stdin=null, stdout=null, close_fds=False)
print(type(lock).__name__, orphan.pid, flush=True)
sys.stdin.read()
"""


def test_a_second_holder_learns_the_first(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert acquire(tmp_path, Holder(pid=2)) == ME
        assert holder_of(tmp_path) == ME


def test_a_released_lock_can_be_taken(tmp_path: Path) -> None:
    first = acquire(tmp_path, ME)
    assert isinstance(first, RunLock)
    first.release()
    first.release()

    assert holder_of(tmp_path) is None
    assert isinstance(acquire(tmp_path, ME), RunLock)
    assert (tmp_path / NAME).exists()


def test_a_lock_that_was_never_taken_has_no_holder(tmp_path: Path) -> None:
    assert holder_of(tmp_path) is None


def test_death_frees_the_lock_also_when_a_child_lives_on(tmp_path: Path) -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdout is not None
    kind, orphan = runner.stdout.readline().split()
    try:
        assert kind == "RunLock"
        assert acquire(tmp_path, ME) == Holder(pid=1, host="h", started_at="t", command="run")
        runner.kill()
        runner.communicate()
        os.kill(int(orphan), 0)

        assert isinstance(acquire(tmp_path, ME), RunLock)
    finally:
        os.kill(int(orphan), signal.SIGKILL)


@pytest.mark.parametrize("content", [b"", b"half a no", b'{"pid":"x"}', b"\xff"])
def test_an_unreadable_note_still_means_locked(tmp_path: Path, content: bytes) -> None:
    with locked(tmp_path):
        (tmp_path / NAME).write_bytes(content)

        assert acquire(tmp_path, ME) == Holder()
        assert str(Holder()) == "another process"


@pytest.mark.parametrize(
    "note", [b"", b'{"host":"%s","pid":4190000}' % os.uname().nodename.encode()]
)
def test_who_has_only_just_got_it_is_given_a_moment_to_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, note: bytes
) -> None:
    with locked(tmp_path):
        signed = (tmp_path / NAME).read_bytes()
        (tmp_path / NAME).write_bytes(note)
        monkeypatch.setattr("time.sleep", lambda _: (tmp_path / NAME).write_bytes(signed))

        assert holder_of(tmp_path) == ME


def test_a_holder_as_people_read_it() -> None:
    said = f"process {os.getpid()} on box since 2026-03-01T10:00:00Z (run pack.md)"

    assert str(ME) == said


@pytest.mark.parametrize("number", [1, 2, 3], ids=["open", "truncate", "write"])
def test_a_refusing_disk_is_reported_and_leaves_no_lock(tmp_path: Path, number: int) -> None:
    with failing(number), pytest.raises(MachineError, match="lock"):
        acquire(tmp_path, ME)

    assert isinstance(acquire(tmp_path, ME), RunLock)


def test_a_file_system_without_locks_is_trouble_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)

    with pytest.raises(MachineError, match="cannot lock"):
        hold(tmp_path / "a")


def test_what_a_killed_holder_was_starting_frees_the_lock_in_a_moment(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    note = Holder(pid=ended.pid, host=os.uname().nodename, started_at="t", command="run")
    (tmp_path / NAME).write_bytes(canonical_line(note))
    inherited = os.open(tmp_path / NAME, os.O_RDWR)
    fcntl.flock(inherited, fcntl.LOCK_EX)
    timer = threading.Timer(0.5, os.close, [inherited])
    timer.start()

    taken = acquire(tmp_path, ME)
    timer.join()

    assert isinstance(taken, RunLock)
    taken.release()
