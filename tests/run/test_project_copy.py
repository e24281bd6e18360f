"""The copy of a project: git works in it whatever repository it is, and leaves the original."""

import errno
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from oraclepack.errors import InputError
from oraclepack.run.project_copy import environment_in, make_copy, plan_copy
from tests.e2e.run.project import GIT


def git(root: Path, *words: str) -> str:
    words = ("-c", "protocol.file.allow=always", *words)
    done = subprocess.run([*GIT, *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


def a_repository(root: Path, *init: str) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main", *init)
    (root / "a.txt").write_text("a\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def plain(tmp_path: Path) -> Path:
    root = a_repository(tmp_path / "plain")
    git(root, "tag", "-am", "one", "v1")
    git(root, "branch", "topic/one")
    git(root, "pack-refs", "--all")
    return root


def unborn(tmp_path: Path) -> Path:
    root = tmp_path / "unborn"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("a\n")
    git(root, "add", "-A")
    return root


def detached(tmp_path: Path) -> Path:
    root = a_repository(tmp_path / "detached")
    git(root, "checkout", "-q", "--detach")
    return root


def linked(tmp_path: Path) -> Path:
    """A work tree of another repository."""
    git(a_repository(tmp_path / "main"), "worktree", "add", "-q", "-b", "other", "../linked")
    return tmp_path / "linked"


def shallow(tmp_path: Path) -> Path:
    first = a_repository(tmp_path / "deep")
    git(first, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", first.as_uri(), "shallow")
    return tmp_path / "shallow"


def borrowing(tmp_path: Path) -> Path:
    """A repository that borrows the objects of another, by a relative path."""
    git(tmp_path, "clone", "-q", "--shared", str(a_repository(tmp_path / "lender")), "borrowing")
    place = tmp_path / "borrowing/.git/objects/info/alternates"
    place.write_text("../../../lender/.git/objects\n")
    return tmp_path / "borrowing"


def sha256(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "sha256", "--object-format=sha256")


def with_submodule(tmp_path: Path) -> Path:
    root = a_repository(tmp_path / "outer")
    git(root, "submodule", "--quiet", "add", str(a_repository(tmp_path / "inner")), "inner")
    git(root, "commit", "-qm", "inner")
    return root


KINDS = [plain, unborn, detached, linked, shallow, borrowing, sha256, with_submodule]
LOOKS = (
    ("log", "--format=%H %s"),
    ("ls-files", "-s"),
    ("status", "--porcelain", "--ignore-submodules=all"),
    ("for-each-ref", "--format=%(refname) %(objectname)"),
)


def git_outputs(root: Path) -> list[str]:
    found = []
    for words in LOOKS:
        done = subprocess.run(["git", *words], cwd=root, check=False, capture_output=True)
        found.append(done.stdout.decode())
    return found


def everything(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if stat.S_ISREG(path.lstat().st_mode))
    return {str(path): path.read_bytes() for path in files}


def never() -> bool:
    return False


@pytest.mark.parametrize("make", KINDS)
def test_git_works_in_the_copy_and_leaves_the_original(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    (tmp_path / "it").mkdir()
    root = make(tmp_path / "it")
    before = everything(tmp_path / "it")

    made = make_copy(plan_copy(root, os.environ), tmp_path / "copy", never)

    assert (made.root / "a.txt").read_text() == "a\n"
    assert git_outputs(made.root) == git_outputs(root)
    (made.root / "a.txt").write_text("changed\n")
    for words in (("add", "-A"), ("commit", "-qm", "in the copy"), ("branch", "-f", "b"), ("gc",)):
        git(made.root, *words)
    assert everything(tmp_path / "it") == before


def test_files_of_a_submodule_are_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    root = with_submodule(tmp_path / "it")

    made = make_copy(plan_copy(root, os.environ), tmp_path / "copy", never)

    assert (made.root / "inner/a.txt").read_text() == "a\n"
    assert not (made.root / "inner/.git").exists()


def test_no_program_of_the_configuration_is_carried_over(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "it")
    for key, value in (
        ("core.sshCommand", "evil"),
        ("filter.x.clean", "evil"),
        ("remote.origin.url", 'https://e.org/"x".git'),
        ("remote.origin.uploadpack", "evil"),
        ("alias.st", "!evil"),
        ("include.path", "evil"),
    ):
        git(root, "config", key, value)

    made = make_copy(plan_copy(root, os.environ), tmp_path / "copy", never)

    assert "evil" not in (made.root / ".git/config").read_text()
    assert git(made.root, "remote", "get-url", "origin") == 'https://e.org/"x".git\n'
    assert git(made.root, "remote", "get-url", "--push", "origin").startswith("a-rehearsal")


def test_only_what_is_asked_for_is_copied_of_ignored_files(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "it")
    (root / ".gitignore").write_text("out/\n")
    (root / "out").mkdir()
    for name in ("asked.md", "other.md"):
        (root / "out" / name).write_text("x\n")
    (root / ".oraclepack").mkdir()
    (root / ".oraclepack/ours").write_text("x\n")

    plan = plan_copy(root, os.environ, also=["out/asked.md"], folders=["out", "gone", ".."])
    made = make_copy(plan, tmp_path / "copy", never)

    assert sorted(path.name for path in (made.root / "out").iterdir()) == ["asked.md"]
    assert not (made.root / ".oraclepack").exists()
    assert not (made.root / "gone").exists()


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_folder_behind_a_link_is_made_where_the_link_leads(
    tmp_path: Path, *, is_absolute: bool
) -> None:
    root = a_repository(tmp_path / "project")
    (root / "real/empty").mkdir(parents=True)
    (root / "out").symlink_to(root / "real" if is_absolute else "real")
    plan = plan_copy(root, {}, folders=["out", "out/empty"])

    copy = make_copy(plan, tmp_path / "copy", never)

    (copy.root / "out/empty/x").touch()
    assert (copy.root / "real/empty/x").is_file()
    assert [*(root / "real/empty").iterdir()] == []


def test_the_environment_means_the_copy(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "it")
    (root / "sub").mkdir()
    (root / "sub/b").write_text("b\n")
    plan = plan_copy(root, os.environ)
    made = make_copy(plan, tmp_path / "copy", never)
    given = {
        "PROJECT": str(root),
        "SUB": f"{root}/sub",
        "VIRTUAL_ENV": f"{root}/.venv",
        "BESIDE": f"{root}-2/x",
        "GIT_DIR": f"{root}/.git",
        "HOME": str(root),
        "PATH": f"{root}/bin:/usr/bin",
    }

    assert environment_in(made, plan, given) == {
        "PROJECT": str(made.top),
        "SUB": f"{made.top}/sub",
        "VIRTUAL_ENV": f"{root}/.venv",
        "BESIDE": f"{root}-2/x",
        "HOME": str(root),
        "PATH": f"{root}/bin:/usr/bin",
    }


def test_data_that_cannot_be_shared_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = a_repository(tmp_path / "it")
    (root / "big").write_bytes(os.urandom(3_000_000))

    def refuse(*_: object) -> int:
        raise OSError(errno.EXDEV, "cross-device")

    monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    made = make_copy(plan_copy(root, os.environ), tmp_path / "copy", never)

    assert (made.root / "big").read_bytes() == (root / "big").read_bytes()
    assert (made.root / "big").stat().st_ino != (root / "big").stat().st_ino


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "project")
    (root / "secret.txt").write_text("x")
    (root / "secret.txt").chmod(0)

    with pytest.raises(InputError, match=r"project/secret\.txt cannot be read"):
        make_copy(plan_copy(root, os.environ), tmp_path / "copy", never)
