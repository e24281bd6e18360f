import os
from pathlib import Path

import pytest

from oraclepack.authoring.repository import RepositorySnapshot, read_repository
from oraclepack.errors import InputError, MachineError
from oraclepack.system.file_moves import look, missing_directories, put_back, remove_empty
from tests.authoring import repositories as repos


def seen(root: Path) -> RepositorySnapshot:
    return read_repository(root, os.environ, lambda path, _: not path.endswith(".skip"))


def test_tracked_files_with_their_texts_as_committed(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "one\n",
        "b/ü.txt": b"\xef\xbb\xbftwo\r\n",
        "c.bin": b"\0",
        "d.skip": "not read\n",
    }
    root = repos.a_repository(tmp_path / "r", files)
    repos.write(root, {"a.py": "changed\n", "untracked.py": "x\n"})

    found = seen(root)

    assert [(file.path, file.text) for file in found.files] == [
        ("a.py", "one\n"),
        ("b/ü.txt", "two\n"),
        ("c.bin", None),
        ("d.skip", None),
    ]
    assert (found.date, found.dirty, len(found.sha or "")) == ("2026-03-04", True, 40)


def test_links_and_missing_files_are_left_out(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r")
    (root / "link.py").symlink_to("a.py")
    repos.commit(root, {"a.py": "1\n", "gone.py": "2\n"})
    (root / "gone.py").unlink()

    assert [file.path for file in seen(root).files] == ["a.py"]


def test_the_history_tells_who_changed_with_whom(tmp_path: Path) -> None:
    first: dict[str, str | bytes] = {"a.py": "1\n", "sub/b.py": "1\n"}
    root = repos.a_repository(tmp_path / "r", first, {"sub/b.py": "2\n", "sub/c.py": "1\n"})

    assert seen(root).commits == (("sub/b.py", "sub/c.py"), ("a.py", "sub/b.py"))
    below = seen(root / "sub")
    assert [file.path for file in below.files] == ["b.py", "c.py"]
    assert below.commits == (("b.py", "c.py"), ("b.py",))


def test_many_files_are_fetched_in_batches(tmp_path: Path) -> None:
    names: dict[str, str | bytes] = {f"f{n:03}.py": f"{n}\n" for n in range(600)}
    root = repos.a_repository(tmp_path / "r", names)

    assert {file.path: file.text for file in seen(root).files} == names


def test_without_git_nothing_can_be_told(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="git is not installed"):
        read_repository(tmp_path, {"PATH": "/nowhere"}, lambda _path, _size: True)
    with pytest.raises(InputError, match="not in a git repository"):
        seen(tmp_path)


def test_the_inside_of_git_itself_is_no_work_tree(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", {"a.py": "1\n"})

    with pytest.raises(InputError, match="not in a git repository"):
        seen(root / ".git")


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    path.chmod(0o604)
    os.utime(path, ns=(1_000, 2_000))
    before = look(path)
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
    assert look(tmp_path / "a/other/below.md") is None
