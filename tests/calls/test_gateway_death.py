"""Oraclepack is killed while a step makes a call: the paid answer must not be lost."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.killable import await_end, start_runner
from tests.scripted import Scripted


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs a kernel with pidfd")
def test_a_paid_call_goes_on_and_no_other_is_made(tmp_path: Path) -> None:
    step = """\
oracle -p 'first [[fault=slow]]' --write-output first.md; echo "first $?" >> codes
oracle -p second --write-output second.md; echo "second $?" >> codes
"""
    runner = start_runner(tmp_path, step, {})
    oracle = Scripted(tmp_path / "bin/oracle")
    with runner.process as process:
        while not oracle.prompts:
            time.sleep(0.01)
        process.kill()
        await_end(runner.shell)
        await_end(runner.tool)

    assert oracle.prompts == ["first [[fault=slow]]"]
    assert (tmp_path / "first.md").read_text().endswith("The deployment was not attached.\n")
    assert (tmp_path / "codes").read_text() == "first 125\nsecond 125\n"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs a kernel with pidfd")
def test_a_call_whose_process_was_not_written_down_is_not_made(tmp_path: Path) -> None:
    runner = start_runner(tmp_path, "oracle -p first --write-output first.md", {}, dies=True)
    with runner.process as process:
        await_end(runner.shell)
        await_end(runner.tool)

    assert process.returncode == -signal.SIGKILL
    assert Scripted(tmp_path / "bin/oracle").prompts == []
