"""Whether a recorded process can be looked up on this machine."""

import os

import pytest

from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.shell.processes import start_time
from oraclepack.system.machine import Machine, ProcessLocation, process_location, this_machine
from oraclepack.tools.oracle_sessions import is_alive, worker_is_alive

HERE = Machine("alpha", "boot-1")
CONTAINER = Machine("alpha", "boot-1", "pid:[4026532200]")


@pytest.mark.parametrize(
    ("recorded", "here", "expected"),
    [
        pytest.param(None, HERE, ProcessLocation.HERE, id="a record of 0.1.0"),
        pytest.param(HERE, HERE, ProcessLocation.HERE, id="the same machine"),
        pytest.param(
            Machine("alpha", "boot-0"),
            HERE,
            ProcessLocation.GONE,
            id="before the machine restarted",
        ),
        pytest.param(
            Machine("beta", "boot-2"), HERE, ProcessLocation.ELSEWHERE, id="another machine"
        ),
        pytest.param(
            Machine("beta", "boot-1"), HERE, ProcessLocation.ELSEWHERE, id="another name, same boot"
        ),
        pytest.param(
            Machine("alpha"), HERE, ProcessLocation.ELSEWHERE, id="a system that reports no boot"
        ),
        pytest.param(
            CONTAINER, HERE, ProcessLocation.ELSEWHERE, id="a container, seen from outside"
        ),
        pytest.param(
            Machine("alpha", "boot-0", "pid:[4026532200]"),
            CONTAINER,
            ProcessLocation.ELSEWHERE,
            id="containers of one name under two kernels",
        ),
    ],
)
def test_whereabouts(recorded: Machine | None, here: Machine, expected: ProcessLocation) -> None:
    assert process_location(recorded, here) is expected


def test_this_machine_is_itself() -> None:
    assert process_location(this_machine(), this_machine()) is ProcessLocation.HERE


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
