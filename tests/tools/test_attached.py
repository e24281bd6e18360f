"""The files a call names, as the disk has them."""

from pathlib import Path

import pytest

from oraclepack.errors import InputError
from oraclepack.system.digests import sha256_bytes
from oraclepack.tools.oracle_attachments import FileArgumentKind, kind_of, list_files, read_attached


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.py", "src/b.py", "src/deep/c.py", ".git/config", "node_modules/m/x.js"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "link.py").symlink_to("a.py")
    (tmp_path / ".gitignore").write_text("x\n*.log")
    (tmp_path / "src" / ".gitignore").write_text("y")
    return tmp_path


def test_kind_of(tree: Path) -> None:
    kinds = [
        kind_of(str(tree), name) for name in ("a.py", "link.py", "src", "src/", "no", "a.py/x")
    ]

    assert kinds == [
        *(FileArgumentKind.FILE, FileArgumentKind.FILE),
        *(FileArgumentKind.DIRECTORY, FileArgumentKind.DIRECTORY),
        *(FileArgumentKind.MISSING, FileArgumentKind.MISSING),
    ]


def test_names_are_relative_to_the_working_directory(tree: Path) -> None:
    found = read_attached(str(tree), ["./a.py", "a.py", str(tree / "src/b.py"), "src/../a.py"])

    assert [file.path for file in found] == ["a.py", "src/b.py"]
    assert found[0].sha256 == sha256_bytes(b"a.py")


@pytest.mark.parametrize("path", ["no.py", "src"])
def test_what_cannot_be_read_is_an_error(tree: Path, path: str) -> None:
    with pytest.raises(InputError, match=path):
        read_attached(str(tree), [path])


def test_listing(tree: Path) -> None:
    listing = list_files(str(tree), ["src", "a.py", "link.py", "*.js"], ["."])

    assert listing.files == (".gitignore", "a.py", "src/.gitignore", "src/b.py", "src/deep/c.py")
    assert listing.directories == {"src"}
    assert listing.ignores == {"": ("x", "*.log"), "src": ("y",)}


def test_big_directories_are_only_listed_when_they_are_meant(tree: Path) -> None:
    assert list_files(str(tree), ["node_modules/m/*.js"], ["node_modules/m"]).files == (
        "node_modules/m/x.js",
    )


def test_files_beside_the_working_directory(tree: Path) -> None:
    listing = list_files(str(tree / "src" / "deep"), ["../*.py"], [".."])

    assert "../b.py" in listing.files
