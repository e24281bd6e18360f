"""Oraclepack is killed while a step makes a call: the paid answer must not be lost."""

import os
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
    with runner.process as process:
        process.kill()
        await_end(runner.shell)
        await_end(runner.tool)

    assert Scripted(tmp_path / "bin/oracle").prompts == ["first [[fault=slow]]"]
    assert (tmp_path / "first.md").read_text().endswith("The deployment was not attached.\n")
    assert (tmp_path / "codes").read_text() == "first 125\nsecond 125\n"
