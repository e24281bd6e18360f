"""Copies of files that a step may replace."""

from pathlib import Path

from oraclepack.calls.answer_files import keep_copy
from oraclepack.system import disk
from oraclepack.system.digests import sha256_bytes


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


def test_where_there_is_no_file_nothing_is_kept(tmp_path: Path) -> None:
    assert keep_copy(tmp_path / "run", "01", 1, "out/a.md", tmp_path / "a.md") is None
    assert not (tmp_path / "run").exists()
