"""A call that comes to nothing before its tool has begun costs nothing."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from oraclepack.calls import tool_process
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.engines.engine import ToolRun
from oraclepack.shell.attempt import ProcessIdentity, StopLevel
from tests.callers import Stage, stage


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def test_a_run_that_is_stopped_while_the_process_is_written_down(tmp_path: Path) -> None:
    with stage(tmp_path) as here:

        def stop(_: ProcessIdentity) -> None:
            here.bench.stop.ask(StopLevel.POLITE)

        def act(call: LiveCall, shim: Shim) -> int:
            here.ends.append(shim.run(ToolRun(call.tool, call.argv, call.cwd, call.env), stop))
            return here.ends[-1].exit_code

        here.act = act
        here.run("oracle -p q")

    # The step may end before its call; the server has waited for both.
    assert [(end.exit_code, end.stopped) for end in here.ends] == [(130, True)]
    assert here.oracle.prompts == []


def test_a_process_that_cannot_be_watched(here: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(tool_process, "exit_fd", none_left)
    here.run("oracle -p q")

    assert "Too many open files" in here.ends[0].trouble
    assert here.oracle.prompts == []
