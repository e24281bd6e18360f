import os
from pathlib import Path

from oraclepack.system.file_moves import missing_directories, put_back, read_previous, remove_empty


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    path.chmod(0o604)
    os.utime(path, ns=(1_000, 2_000))
    before = read_previous(path)
    path.write_bytes(b"new")

    assert before is not None
    put_back(path, before)

    found = path.stat()
    assert (path.read_bytes(), found.st_mode & 0o777, found.st_mtime_ns) == (b"old", 0o604, 2_000)


def test_only_empty_directories_are_removed(tmp_path: Path) -> None:
    missing = missing_directories(tmp_path / "a/b/c.md")
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/other").write_text("x")

    remove_empty(missing)

    assert missing == (tmp_path / "a", tmp_path / "a/b")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["other"]
    assert read_previous(tmp_path / "a/other/below.md") is None
