"""`actionize` on a disk that fails: what is kept, and what a rollback brings back."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oraclepack.journal.statuses import RollbackStatus
from oraclepack.system import disk
from oraclepack.work.actionize import ActionizeRequest, ActionizeResult, actionize_request
from oraclepack.work.backlog import ActionizeReport, Export
from tests.faults import failing
from tests.work.golden import FOLDER

CASE = FOLDER / "plain"
EARLIER = {
    "backlog.md": b"<!-- keep: notes -->\nmine\n<!-- /keep -->\n",
    "taskmaster.json": b"{}\n",
}
"""What an earlier time left; the plan was not there."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER / "project", tmp_path / "project")
    shutil.copytree(CASE / "answers", tmp_path / "project/answers")
    shutil.copy(CASE / "pack.md", tmp_path / "project/pack.md")
    return tmp_path / "project"


def actionized(root: Path, *, undo: bool) -> ActionizeResult:
    request = ActionizeRequest(
        answers=str(root / "answers"),
        pack=str(root / "pack.md"),
        exports=(Export.TASKMASTER,),
        rollback_on_failure=undo,
    )
    return actionize_request(request, root)


def made_before(root: Path) -> dict[str, tuple[bytes, int, int]]:
    (root / "answers/actionizer").mkdir()
    for name, content in EARLIER.items():
        path = root / "answers/actionizer" / name
        path.write_bytes(content)
        path.chmod(0o640)
        os.utime(path, ns=(10**18, 10**18))
    return standing(root)


def standing(root: Path) -> dict[str, tuple[bytes, int, int]]:
    found = {path.name: path for path in sorted((root / "answers/actionizer").glob("*"))}
    facts = {name: path.stat() for name, path in found.items()}
    return {
        name: (path.read_bytes(), facts[name].st_mode, facts[name].st_mtime_ns)
        for name, path in found.items()
    }


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """The disk will not take one file, whose name begins like this; all else works."""

    def refuse(operation: str, path: str) -> None:
        if operation == "rename" and Path(path).name.lstrip(".").startswith(name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    disk.set_hook(refuse)
    try:
        yield
    finally:
        disk.set_hook(None)


def ends(report: ActionizeReport) -> tuple[str | None, RollbackStatus, str | None]:
    return report.failed_step, report.rollback_status, report.resume_from


@pytest.mark.parametrize("name", ["normalized.jsonl", "change-plan.md", "taskmaster.json"])
def test_a_rollback_brings_earlier_artifacts_back(root: Path, name: str) -> None:
    before = made_before(root)

    with refusing(name):
        report = actionized(root, undo=True).report

    assert ends(report) == (name, RollbackStatus.COMPLETED, "normalized.jsonl")
    assert standing(root) == before
    assert report.artifacts == ()
    assert all((root / path).is_file() for path in report.quarantined)


def test_a_rollback_leaves_no_directory_it_made(root: Path) -> None:
    with refusing("taskmaster.json"):
        actionized(root, undo=True)

    assert not (root / "answers/actionizer").exists()


def test_without_the_flag_everything_is_kept(root: Path) -> None:
    made_before(root)

    with refusing("taskmaster.json"):
        report = actionized(root, undo=False).report

    assert ends(report) == ("taskmaster.json", RollbackStatus.NOT_ATTEMPTED, "taskmaster.json")
    assert [one.path for one in report.artifacts] == list(report.completed_steps)
    assert standing(root)["taskmaster.json"][0] == EARLIER["taskmaster.json"]
    assert b"mine" in standing(root)["backlog.md"][0]
    assert standing(root)["backlog.md"][0] != EARLIER["backlog.md"]


def test_a_rollback_that_fails_names_what_is_left(root: Path) -> None:
    made_before(root)

    # The new file, a .gitignore beside the copies, the backlog; then the disk takes nothing.
    with failing(4, only="rename"):
        report = actionized(root, undo=True).report

    assert (report.failed_step, report.rollback_status) == ("change-plan.md", RollbackStatus.FAILED)
    assert report.rollback_error is not None
    assert "not rolled back: " in report.rollback_error
    assert "backlog.md" in report.rollback_error


def test_after_the_trouble_the_same_command_does_it_all(root: Path) -> None:
    made_before(root)
    with refusing("change-plan.md"):
        actionized(root, undo=True)

    report = actionized(root, undo=True).report

    assert report.ok
    assert [one.path for one in report.artifacts if one.changed] == list(report.completed_steps)
    assert actionized(root, undo=True).report.completed_steps == ()
