import os
from pathlib import Path

import pytest

from oraclepack.authoring.git_repository import (
    GitRepository,
    changes_since,
    lines_of_commits,
    read_git_repository,
    refused_hint,
)
from oraclepack.errors import InputError, MachineError, UsageError
from tests.authoring import repositories as repos


def seen(root: Path) -> GitRepository:
    return read_git_repository(root, os.environ, lambda path, _: not path.endswith(".skip"))


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
    assert (found.date, found.is_dirty, len(found.sha or "")) == ("2026-03-04", True, 40)


def test_links_and_missing_files_are_left_out(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r")
    (root / "link.py").symlink_to("a.py")
    repos.commit(root, {"a.py": "1\n", "gone.py": "2\n"})
    (root / "gone.py").unlink()

    assert [file.path for file in seen(root).files] == ["a.py"]


def test_the_history_tells_who_changed_with_whom(tmp_path: Path) -> None:
    first: dict[str, str | bytes] = {"a.py": "1\n", "sub/b.py": "1\n"}
    root = repos.a_repository(tmp_path / "r", first, {"sub/b.py": "2\n", "sub/c.py": "1\n"})

    commits = seen(root).commits
    assert [commit.paths for commit in commits] == [("sub/b.py", "sub/c.py"), ("a.py", "sub/b.py")]
    assert [commit.subject for commit in commits] == ["change", "change"]
    assert [len(commit.sha) for commit in commits] == [40, 40]
    below = seen(root / "sub")
    assert [file.path for file in below.files] == ["b.py", "c.py"]
    assert [commit.paths for commit in below.commits] == [("b.py", "c.py"), ("b.py",)]


def test_many_files_are_fetched_in_batches(tmp_path: Path) -> None:
    names: dict[str, str | bytes] = {f"f{n:03}.py": f"{n}\n" for n in range(600)}
    root = repos.a_repository(tmp_path / "r", names)

    assert {file.path: file.text for file in seen(root).files} == names


def test_without_git_nothing_is_known(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="git is not installed"):
        read_git_repository(tmp_path, {"PATH": "/nowhere"}, lambda _path, _size: True)
    with pytest.raises(InputError, match="not in a git repository"):
        seen(tmp_path)


def test_the_inside_of_git_itself_is_no_work_tree(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", {"a.py": "1\n"})

    with pytest.raises(InputError, match="is a bare git repository"):
        seen(root / ".git")


def test_changes_since_a_commit_are_lines_of_the_present_text(tmp_path: Path) -> None:
    root = repos.a_repository(
        tmp_path / "r",
        {"a.py": "1\n2\n3\n4\n5\n", "same.py": "x\n", "gone.py": "x\n"},
        {"a.py": "1\nnew\n3\n5\n", "fresh.py": "a\nb\n", "b.py": "++ b/same.py\n"},
    )

    changes = changes_since(root, os.environ, "HEAD~1")

    assert {path: ({*one.touched}, {*one.added}) for path, one in changes.files.items()} == {
        "a.py": ({1, 2, 3, 4}, {2}),
        "b.py": ({1}, {1}),
        "fresh.py": ({1, 2}, {1, 2}),
    }
    (hunk,) = changes.files["a.py"].hunks
    assert hunk == (1, (" 1", "-2", "+new", " 3", "-4", " 5"))
    assert [commit.subject for commit in changes.commits] == ["change"]


def test_changes_are_counted_from_the_fork_point(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", {"a.py": "1\n"})
    repos.git(root, "switch", "-q", "-c", "feature")
    repos.commit(root, {"b.py": "1\n"})
    repos.git(root, "switch", "-q", "main")
    repos.commit(root, {"c.py": "1\n"})
    repos.git(root, "switch", "-q", "feature")

    assert list(changes_since(root, os.environ, "main").files) == ["b.py"]


@pytest.mark.parametrize("name", ["nothing", "--help", "HEAD:a.py", ""])
def test_what_names_no_commit_is_refused(tmp_path: Path, name: str) -> None:
    root = repos.a_repository(tmp_path / "r", {"a.py": "1\n"})

    with pytest.raises(UsageError, match="names no commit"):
        changes_since(root, os.environ, name)


def test_each_line_has_the_commit_that_changed_it_last(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", {"a.py": "1\n2\n"}, {"a.py": "1\nnew\n"})
    newest, oldest = seen(root).commits

    lines = lines_of_commits(root, os.environ, "a.py", oldest.sha)

    assert lines == [oldest.sha, newest.sha]


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        pytest.param(
            "fatal: detected dubious ownership in repository at '/a b'",
            "if you trust it: git config --global --add safe.directory '/a b'",
            id="of another user",
        ),
        pytest.param("fatal: bad config", "call git there to see why", id="anything else"),
    ],
)
def test_a_repository_that_git_refuses(reason: str, hint: str) -> None:
    assert refused_hint(Path("/a b"), reason).endswith(hint)


def test_a_partial_clone_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "one\n", "b.py": "two\n"}
    root = repos.a_repository(tmp_path / "r", files, {"a.py": "more\n"})
    repos.git(root, "config", "uploadpack.allowFilter", "true")
    words = ("clone", "-q", "--filter=blob:none", "--no-checkout", root.as_uri(), "partial")
    repos.git(tmp_path, *words)
    partial = tmp_path / "partial"
    repos.git(partial, "checkout", "-q", "HEAD", "--", "a.py")
    repos.write(partial, {"b.py": "only in the work tree\n"})

    found = seen(partial)

    assert [(file.path, file.text) for file in found.files] == [("a.py", "more\n"), ("b.py", None)]
