"""Which run a command opens: two commands at once, and a git that takes its time."""

import os
import sys
import threading
from pathlib import Path

import pytest

from oraclepack.errors import InputError, LockedError
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import EMPTY
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.open_run import SelectedRun, described, find_run, opened
from oraclepack.run.planning.selection import RunArguments
from oraclepack.system.clock import SystemClock
from oraclepack.system.git import WorkTreeState
from tests.events import created
from tests.packs import pack_text


def test_two_new_runs_of_the_same_moment_do_not_become_one(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) one\ntrue\n"))
    pack, clock, asked = read_pack(tmp_path / "pack.md"), SystemClock(), RunArguments(new_run=True)
    mine, theirs = (find_run(tmp_path, pack, asked, clock) for _ in range(2))

    with opened(theirs, pack, clock, "run", is_new=True) as run:
        run.record.append(created("01"))
    with pytest.raises(LockedError, match=r"began run .* at the same moment"):
        opened(mine, pack, clock, "run", is_new=True).__enter__()

    assert find_run(tmp_path, pack, asked, clock).run.run_id == f"{mine.run.run_id}__2"


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_run_that_another_command_begins_meanwhile_gets_no_second_name(
    tmp_path: Path, at: int
) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) one\ntrue\n"))
    pack, clock, asked = read_pack(tmp_path / "pack.md"), SystemClock(), RunArguments()
    theirs = find_run(tmp_path, pack, asked, clock).run
    theirs.path.parent.mkdir(parents=True)
    lists: list[str] = []

    def begin_theirs(event: str, args: tuple[object, ...]) -> None:
        if event in {"os.listdir", "os.scandir"} and str(args[0]) == str(theirs.path.parent):
            lists.append(event)
            if len(lists) == at:
                theirs.path.mkdir()

    sys.addaudithook(begin_theirs)

    assert find_run(tmp_path, pack, asked, clock).run.run_id == theirs.run_id
    assert lists


def test_an_invalid_pack_is_reported_without_waiting_for_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "until")
    once = "#!/bin/sh\n[ -e asked ] && exit 1\n: >asked\nread line <until\n"
    (tmp_path / "git").write_text(once)
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = SelectedRun(RunDir(tmp_path, "a"), EMPTY, WorkTreeState("abc"), is_new=True, reason="")
    held: list[int] = []

    def check() -> None:
        held.append(os.open(tmp_path / "until", os.O_WRONLY))  # returns once git reads
        raise InputError("the pack is invalid")

    with pytest.raises(InputError, match="the pack is invalid"):
        described(found, check)

    at_work = [thread for thread in threading.enumerate() if thread.name == "git"]
    os.close(held[0])
    assert [thread.daemon for thread in at_work] == [True]
    at_work[0].join()
