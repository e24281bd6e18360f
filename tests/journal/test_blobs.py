"""Files that a step may replace, kept in the run."""

from pathlib import Path

from msgspec.structs import replace

from oraclepack.journal import events as j
from oraclepack.journal.blobs import back_up, read_backup
from oraclepack.system import disk
from oraclepack.system.digests import sha256_bytes


def test_a_file_that_changes_meanwhile_is_recorded_as_it_was_backed_up(tmp_path: Path) -> None:
    place = tmp_path / "a.md"
    place.write_bytes(b"old")
    place.chmod(0o640)

    def change(operation: str, _path: str) -> None:
        if operation == "create":
            place.write_bytes(b"newer")

    disk.set_hook(change)
    try:
        kept = back_up(tmp_path / "run", "01", 1, "out/a.md", place)
    finally:
        disk.set_hook(None)

    assert kept is not None
    copy = (tmp_path / "run" / kept.backup).read_bytes()
    assert copy == b"old"
    assert (kept.sha256, kept.bytes, kept.mode) == (sha256_bytes(copy), len(copy), 0o640)


def test_a_copy_of_the_previous_version_is_read_with_its_own_mode_and_time(tmp_path: Path) -> None:
    copy = tmp_path / "backups/01.1/out/a.md"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"old")
    copy.chmod(0o640)
    before = j.OutputBackedUp(
        step="01",
        attempt=1,
        path="out/a.md",
        backup="backups/01.1/out/a.md",
        sha256=sha256_bytes(b"old"),
        bytes=3,
    )

    kept = read_backup(tmp_path, before)

    assert kept is not None
    assert (kept.content, kept.mode, kept.modified_ns) == (b"old", 0o640, copy.stat().st_mtime_ns)
    assert read_backup(tmp_path, replace(before, sha256=sha256_bytes(b"other"))) is None
    assert read_backup(tmp_path, replace(before, backup="outputs/a.md")) is None


def test_where_there_is_no_file_nothing_is_kept(tmp_path: Path) -> None:
    assert back_up(tmp_path / "run", "01", 1, "out/a.md", tmp_path / "a.md") is None
    assert not (tmp_path / "run").exists()
