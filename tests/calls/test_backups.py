"""Copies of files that a step may replace."""

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from oraclepack.calls.answer_files import keep_copy
from oraclepack.journal.run_dir import RunDir
from oraclepack.system import disk
from oraclepack.system.digests import sha256_bytes
from tests.faults import die_at


def test_a_file_that_changes_meanwhile_is_recorded_as_it_was_backed_up(tmp_path: Path) -> None:
    place = tmp_path / "a.md"
    place.write_bytes(b"old")
    place.chmod(0o640)

    def change(operation: str, _path: str) -> None:
        if operation == "create":
            place.write_bytes(b"newer")
        elif operation == "link":
            place.write_bytes(b"the newest")
            place.chmod(0o600)

    disk.set_hook(change)
    try:
        kept = keep_copy(tmp_path / "run", "01", 1, "out/a.md", place)
    finally:
        disk.set_hook(None)

    assert kept is not None
    copy = (tmp_path / "run" / kept.backup).read_bytes()
    assert copy == b"newer"
    assert (kept.sha256, kept.bytes, kept.mode) == (sha256_bytes(copy), len(copy), 0o640)


def test_a_kill_while_a_copy_is_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    run = RunDir(tmp_path, "2026-01-05__abcdefab__run")
    place = tmp_path / "a.md"
    for number in range(1, 20):
        place.write_bytes(b"old")
        kept = keep_copy(run.path, "01", number, "out/a.md", place)
        assert kept is not None
        place.write_bytes(b"new")
        again = partial(keep_copy, run.path, "01", number, "out/a.md", place, replacing=True)
        killed = _killed_before(number, again)
        run.sweep()
        copy = run.path / kept.backup
        assert [path.name for path in copy.parent.iterdir()] == ["a.md"]
        assert copy.read_bytes() in {b"old", b"new"}
        if not killed:
            assert (number > 3, copy.read_bytes()) == (True, b"new")
            return
    pytest.fail("it never came to its end")


def _killed_before(number: int, act: Callable[[], object]) -> bool:
    """Do something in a process that is killed before the given write to the disk, if any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child never returns to threads
        pid = os.fork()
    if pid == 0:
        try:
            die_at(number)
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def test_where_there_is_no_file_nothing_is_kept(tmp_path: Path) -> None:
    assert keep_copy(tmp_path / "run", "01", 1, "out/a.md", tmp_path / "a.md") is None
    assert not (tmp_path / "run").exists()
