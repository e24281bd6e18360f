"""The tasks file of the actionizer in the real Task Master."""

import json
from pathlib import Path

import pytest

from tests.actionize.golden import FOLDER, expected
from tests.real.install import NotToBeHadError
from tests.real.task_master import TaskMaster, task_master_programs


@pytest.fixture(scope="session")
def programs() -> Path:
    try:
        return task_master_programs()
    except NotToBeHadError as reason:
        pytest.skip(f"the real Task Master is not to be had: {reason}")


@pytest.mark.parametrize("case", ["order", "blocked"])
def test_task_master_opens_the_tasks_file(programs: Path, tmp_path: Path, case: str) -> None:
    text = expected(FOLDER / case)["taskmaster.json"]
    written = json.loads(text)["master"]["tasks"]
    opened = TaskMaster(programs, tmp_path, text)

    assert [str(task["id"]) for task in opened.listed()] == [str(task["id"]) for task in written]
    assert "All Dependencies Are Valid" in opened.validated()
