"""What stands at a path: its bytes, or why they cannot be had, without waiting for ever."""

import os
from pathlib import Path

import pytest

from oraclepack.system.path_jail import content_at, hashes_of, read_content


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"bytes")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "data", "trouble"),
    [
        ("file", b"bytes", None),
        ("link", b"bytes", None),
        ("missing", None, "missing"),
        ("folder", None, "Is a directory"),
        ("pipe", None, "it is not a regular file"),
        ("endless", None, "it is not a regular file"),
        ("circle", None, "Too many levels of symbolic links"),
    ],
)
def test_only_files_are_read(
    root: Path, name: str, data: bytes | None, trouble: str | None
) -> None:
    found = read_content(root / name)

    assert (found.data, found.trouble) == (data, trouble)


def test_what_leads_out_is_not_read(root: Path) -> None:
    (root / "out").symlink_to(root.parent)

    assert "leads out" in (content_at(root, "out/x").trouble or "")


def test_what_cannot_be_read_has_no_hash(root: Path) -> None:
    assert sorted(hashes_of(root, ["pipe", "endless", "folder", "file", "missing"])) == ["file"]
