"""HEAD, read from git's files, is what git itself says."""

import subprocess
from pathlib import Path

import pytest

from oraclepack.system.git import head_commit, is_unborn

GIT = ("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org")


def git(root: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=root, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    git(made, "commit", "-q", "--allow-empty", "-m", "one")
    return made


def test_on_a_branch(root: Path) -> None:
    assert head_commit(root) == git(root, "rev-parse", "HEAD")


def test_on_a_packed_branch(root: Path) -> None:
    git(root, "pack-refs", "--all")

    assert head_commit(root) == git(root, "rev-parse", "HEAD")


def test_on_a_branch_that_was_packed_again(root: Path) -> None:
    for number in range(3):
        git(root, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
        git(root, "pack-refs", "--all")

        assert head_commit(root) == git(root, "rev-parse", "HEAD")


def test_on_no_branch(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    git(root, "commit", "-q", "--allow-empty", "-m", "two")

    assert head_commit(root) == git(root, "rev-parse", "HEAD")


@pytest.mark.parametrize("packed", [False, True])
def test_in_a_worktree(root: Path, tmp_path: Path, packed: bool) -> None:
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(tmp_path / "side", "commit", "-q", "--allow-empty", "-m", "two")
    if packed:
        git(root, "pack-refs", "--all")

    assert head_commit(tmp_path / "side") == git(tmp_path / "side", "rev-parse", "HEAD")
    assert head_commit(tmp_path / "side") != head_commit(root)


def test_where_the_files_do_not_tell(root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    (root / ".git/HEAD").write_text("ref: refs/heads/loop\n")
    (root / ".git/refs/heads/loop").write_text("ref: refs/heads/loop\n")

    assert head_commit(tmp_path) is None
    assert head_commit(tmp_path / "empty") is None
    assert head_commit(root) is None


def test_a_repository_without_a_commit_is_distinguished_from_one_with(
    root: Path, tmp_path: Path
) -> None:
    fresh, none = tmp_path / "fresh", tmp_path / "none"
    none.mkdir()
    git(tmp_path, "init", "-q", str(fresh))

    assert [is_unborn(one) for one in (fresh, root, none)] == [True, False, False]


def test_branches_kept_in_another_format_tell_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")

    assert (head_commit(tmp_path), is_unborn(tmp_path)) == (None, False)


def test_a_repository_that_moves_is_followed(root: Path, tmp_path: Path) -> None:
    first = head_commit(root)
    git(root, "commit", "-q", "--allow-empty", "-m", "two")
    (root / ".git").rename(tmp_path / "elsewhere")
    between = head_commit(root)
    (root / ".git").write_text(f"gitdir: {tmp_path / 'elsewhere'}\n")

    assert first != head_commit(root) == git(root, "rev-parse", "HEAD")
    assert between is None


@pytest.mark.parametrize("said", ["ref: ../../secret", "ref: refs/../../secret", "not a commit"])
def test_what_is_no_commit_is_not_returned(root: Path, said: str) -> None:
    (root / "secret").write_text("1" * 40)
    (root / ".git/HEAD").write_text(f"{said}\n")

    assert head_commit(root) is None
