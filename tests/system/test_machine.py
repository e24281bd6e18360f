"""Whether a recorded process can be looked up on this machine."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.shell.processes import start_time
from oraclepack.system import machine
from oraclepack.system.machine import Machine, ProcessLocation, process_location, this_machine
from oraclepack.tools.oracle_sessions import is_alive, worker_is_alive

HERE = Machine("alpha", "boot-1", id="a1")
CONTAINER = Machine("alpha", "boot-1", "pid:[4026532200]", "a1")


@pytest.mark.parametrize(
    ("recorded", "here", "expected"),
    [
        pytest.param(None, HERE, ProcessLocation.HERE, id="a record of 0.1.0"),
        pytest.param(HERE, HERE, ProcessLocation.HERE, id="the same machine"),
        pytest.param(
            Machine("alpha", "boot-1"), HERE, ProcessLocation.HERE, id="a record of 0.2.0"
        ),
        pytest.param(
            Machine("alpha", "boot-0"),
            HERE,
            ProcessLocation.ELSEWHERE,
            id="a record of 0.2.0 under another boot: a restart, or a machine of the same name",
        ),
        pytest.param(
            Machine("alpha", "boot-0", id="a1"),
            HERE,
            ProcessLocation.GONE,
            id="an earlier boot of a machine whose id the user gives",
        ),
        pytest.param(
            Machine("alpha", "boot-2", id="a2"),
            HERE,
            ProcessLocation.ELSEWHERE,
            id="a copy of the machine, with the same name",
        ),
        pytest.param(
            Machine("beta", "boot-1", id="a1"), HERE, ProcessLocation.HERE, id="it was renamed"
        ),
        pytest.param(
            Machine("beta", "boot-2"), HERE, ProcessLocation.ELSEWHERE, id="another machine"
        ),
        pytest.param(
            Machine("alpha", "boot-1", id="a2"),
            HERE,
            ProcessLocation.ELSEWHERE,
            id="another id under a boot of the same name",
        ),
        pytest.param(
            Machine("alpha"), HERE, ProcessLocation.ELSEWHERE, id="a system that reports no boot"
        ),
        pytest.param(
            CONTAINER, HERE, ProcessLocation.ELSEWHERE, id="a container, seen from outside"
        ),
        pytest.param(
            Machine("alpha", "boot-0", "pid:[4026532200]", "a1"),
            CONTAINER,
            ProcessLocation.ELSEWHERE,
            id="containers of one name under two kernels",
        ),
    ],
)
def test_whereabouts(recorded: Machine | None, here: Machine, expected: ProcessLocation) -> None:
    assert process_location(recorded, here) is expected


def test_this_machine_is_itself() -> None:
    assert process_location(this_machine()) is ProcessLocation.HERE


BOOT_0, BOOT_1, BOOT_2 = "0a0a-0", "1b1b-1", "2c2c-2"


def booted(monkeypatch: pytest.MonkeyPatch, home: Path, boot: str) -> Machine:
    """This machine after a start of its kernel, with this state directory."""
    (home / "boot_id").write_text(f"{boot}\n")
    monkeypatch.setattr(machine, "_BOOT_ID", home / "boot_id")
    monkeypatch.setattr(machine, "_FIRST_NAMESPACE", os.readlink("/proc/self/ns/pid"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    machine._with_id.cache_clear()
    return this_machine()


@pytest.fixture(autouse=True)
def _forget_this_machine() -> Iterator[None]:
    machine._with_id.cache_clear()
    yield
    machine._with_id.cache_clear()


def test_the_copies_of_a_machine_are_machines_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, copies = tmp_path / "image", [tmp_path / "one", tmp_path / "two"]
    image.mkdir()
    template = booted(monkeypatch, image, BOOT_0)
    for copy in copies:
        shutil.copytree(image, copy)
    one = booted(monkeypatch, copies[0], BOOT_1)
    two = booted(monkeypatch, copies[1], BOOT_2)

    assert len({template.id, one.id, two.id}) == 3
    assert process_location(one) is ProcessLocation.ELSEWHERE
    assert process_location(template) is ProcessLocation.GONE
    booted(monkeypatch, copies[0], BOOT_2)
    assert process_location(one) is ProcessLocation.GONE, "its own earlier start"


def test_a_shared_state_directory_proves_nothing_about_other_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = booted(monkeypatch, tmp_path, BOOT_1)
    booted(monkeypatch, tmp_path, BOOT_2)

    assert process_location(replace(first, host="other")) is ProcessLocation.ELSEWHERE
    assert process_location(replace(first, id="f" * 16)) is ProcessLocation.ELSEWHERE


def test_looking_makes_no_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    assert process_location(Machine("other", BOOT_0, id="f")) is ProcessLocation.ELSEWHERE
    assert not (tmp_path / "state").exists()


def test_without_a_state_directory_there_is_no_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))

    assert this_machine().id == ""
    assert process_location(this_machine()) is ProcessLocation.HERE


def test_the_number_of_another_machine_says_nothing() -> None:
    own_pid = os.getpid()
    known = ProcessIdentity(pid=own_pid, start_time=start_time(own_pid), machine=this_machine())
    free = 2**22 + 1  # no kernel gives such a number
    assert is_alive(known) is True
    assert is_alive(ProcessIdentity(pid=free, start_time="1", machine=this_machine())) is False
    foreign = Machine("beta", "boot-2")
    assert is_alive(ProcessIdentity(pid=free, start_time="1", machine=foreign)) is None
    assert worker_is_alive(free, foreign) is None
    assert worker_is_alive(free, this_machine()) is False
