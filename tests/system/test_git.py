"""What git tells of a work tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.system.git import (
    Git,
    GitError,
    WorkTreeState,
    begin_work_tree_state,
    top_level,
    work_tree_state,
)

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_DIR": "/nonexistent",
}
AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CEILING_DIRECTORIES": "/",
}


def git(root: Path, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), **AUTHOR}
    ran = subprocess.run(
        ["git", *words], cwd=root, env=environment, check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "a project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "tracked").write_text("1")
    git(root, "add", "tracked")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_a_clean_tree(repository: Path) -> None:
    assert work_tree_state(repository, ENVIRONMENT) == WorkTreeState(
        git(repository, "rev-parse", "HEAD"), False
    )


def test_untracked_files_do_not_make_it_dirty(repository: Path) -> None:
    (repository / "new").write_text("1")

    assert work_tree_state(repository, ENVIRONMENT).dirty is False


def test_a_changed_file_makes_it_dirty(repository: Path) -> None:
    (repository / "tracked").write_text("2")

    assert work_tree_state(repository, ENVIRONMENT).dirty is True


def test_a_staged_file_makes_it_dirty(repository: Path) -> None:
    (repository / "new").write_text("1")
    git(repository, "add", "new")

    assert work_tree_state(repository, ENVIRONMENT).dirty is True


def test_no_commit_yet(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")

    assert work_tree_state(tmp_path, ENVIRONMENT) == WorkTreeState(
        None, False, "the repository has no commit yet"
    )


def test_no_repository(tmp_path: Path) -> None:
    assert work_tree_state(tmp_path, ENVIRONMENT) == WorkTreeState(reason="not in a git repository")
    assert top_level(tmp_path, ENVIRONMENT) is None


def test_the_top_level_of_a_directory_below(repository: Path) -> None:
    (repository / "below").mkdir()

    assert top_level(repository / "below", ENVIRONMENT) == repository.resolve()


def test_no_git(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path)}

    assert work_tree_state(tmp_path, environment) == WorkTreeState(reason="git is not installed")


def test_no_directory(tmp_path: Path) -> None:
    assert "no directory" in work_tree_state(tmp_path / "gone", ENVIRONMENT).reason


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/bin/sh\nexec /bin/sleep 60\n", "git did not answer within 0.1 s"),
        ("#!/bin/sh\necho 'fatal: broken' >&2\nexit 128\n", "fatal: broken"),
        ("#!/bin/sh\nexit 1\n", "git failed without a message"),
        ("no script", "git cannot be run: Exec format error"),
    ],
    ids=["it hangs", "it complains", "it fails silently", "it is no program"],
)
def test_a_git_that_does_not_work(tmp_path: Path, script: str, reason: str) -> None:
    (tmp_path / "git").write_text(script)
    (tmp_path / "git").chmod(0o755)
    environment = {"PATH": str(tmp_path)}

    timeout = 0.1 if "sleep" in script else 20
    assert work_tree_state(tmp_path, environment, timeout).reason == reason


def test_a_tree_too_big_to_look_at_still_has_a_commit(tmp_path: Path) -> None:
    script = '#!/bin/sh\ncase "$*" in *status*) exec /bin/sleep 60 ;; esac\necho abc\n'
    (tmp_path / "git").write_text(script)
    (tmp_path / "git").chmod(0o755)

    found = work_tree_state(tmp_path, {"PATH": str(tmp_path)}, 0.5)

    assert found == WorkTreeState("abc", None, "git did not answer within 0.5 s")


def test_what_is_seen_meanwhile_is_the_same(repository: Path) -> None:
    finish = begin_work_tree_state(repository, ENVIRONMENT)

    assert finish() == finish() == work_tree_state(repository, ENVIRONMENT)


def test_what_goes_wrong_meanwhile_is_raised_where_it_is_asked_for(tmp_path: Path) -> None:
    finish = begin_work_tree_state(tmp_path / "no\0path", ENVIRONMENT)

    with pytest.raises(ValueError, match=r"null (byte|character)"):
        finish()


def test_looking_runs_no_program_of_the_repository(repository: Path) -> None:
    hook = repository / "hook"
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(hook))

    work_tree_state(repository, ENVIRONMENT)

    assert not (repository / "ran").exists()


def test_a_call_that_takes_too_long_ends_with_what_it_started(tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\n/bin/sleep 300 &\nwait\n")
    (tmp_path / "git").chmod(0o755)

    with pytest.raises(GitError, match=r"git did not answer within 0\.2 s") as raised:
        Git(tmp_path, {"PATH": str(tmp_path)}, 0.2).run("status")

    assert raised.value.slow


def test_git_is_not_looked_for_in_the_repository(repository: Path) -> None:
    (repository / "git").write_text("#!/bin/sh\necho theirs\n")
    (repository / "git").chmod(0o755)

    for path in (f".::{os.environ['PATH']}", f"{os.environ['PATH']}:", "."):
        found = work_tree_state(repository, ENVIRONMENT | {"PATH": path})
        assert found.sha in {git(repository, "rev-parse", "HEAD"), None}
        assert found.reason in {"", "git is not installed"}


def test_a_work_tree_elsewhere_is_none(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "core.worktree", str(tmp_path))

    assert top_level(repository, ENVIRONMENT) is None


def test_filters_are_known_by_name(repository: Path) -> None:
    for name in ("b", "A.b", "x y"):
        git(repository, "config", f"filter.{name}.clean", "cat")

    assert Git(repository, ENVIRONMENT).filters() == ("A.b", "b", "x y")


def test_a_filter_that_cannot_be_switched_off_stops_git(repository: Path) -> None:
    git(repository, "config", "filter.a=b.clean", "touch ran")

    assert work_tree_state(repository, ENVIRONMENT).reason == (
        "a filter in the git configuration has `=` in its name"
    )


@pytest.mark.parametrize("place", ["config", "index", "info/exclude", "objects/info/alternates"])
def test_git_is_not_asked_where_a_pipe_stands_for_a_file_of_its_own(
    repository: Path, place: str
) -> None:
    pipe = repository / ".git" / place
    pipe.parent.mkdir(exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    (repository / "below").mkdir()

    assert (
        work_tree_state(repository / "below", ENVIRONMENT).reason == f"{pipe} is not a regular file"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process from outside")
def test_an_endless_file_fills_no_memory(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oraclepack.system.git.MOST_MEMORY", 64 << 20)
    git(repository, "config", "core.attributesFile", "/dev/zero")
    (repository / "tracked").write_text("2")

    assert "emory" in work_tree_state(repository, ENVIRONMENT).reason
