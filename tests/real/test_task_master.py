"""The real Task Master: it opens the actionizer's tasks file, and works in the ticket pack."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.e2e.program import Ran, oraclepack
from tests.real.install import NotToBeHadError
from tests.real.task_master import TaskMaster, task_master_programs
from tests.real.tasks_provider import HINT, TasksProvider, config, serving_tasks
from tests.tickets.tickets import OPTIONS, TWO, put
from tests.work.golden import FOLDER, expected

OUT = OPTIONS.out_dir
TITLES = ("T-1: Limit", "T-2: Audit")


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


class TicketProject:
    """A project with two tickets, where Task Master is the only tool there is."""

    def __init__(self, programs: Path, folder: Path, provider: TasksProvider) -> None:
        self.root = put(folder / "project", TWO)
        self._folder = folder
        self._link(programs)
        (self.root / ".taskmaster").mkdir()
        (self.root / ".taskmaster/config.json").write_text(config(provider.url))
        (self.root / ".taskmaster/state.json").write_text('{"migrationNoticeShown": true}')
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        ticketify(TicketifyRequest(self.root))

    def _link(self, programs: Path) -> None:
        """Its own directory on PATH: beside the real one lie agents that it brings along."""
        (self._folder / "bin").mkdir()
        for name in ("task-master", "node"):
            if (programs / name).exists():
                (self._folder / "bin" / name).symlink_to(programs / name)

    def run(self, *flags: str) -> Ran:
        path = f"{self._folder / 'bin'}:{os.environ['PATH']}"
        words = ("run", f"{OUT}/ticket-action-pack.md", "--json", "--quiet", *flags)
        return oraclepack(self.root, *words, PATH=path, OPENAI_COMPATIBLE_API_KEY="x")

    def figures(self, name: str) -> tuple[int, int]:
        summary = json.loads((self.root / OUT / name).read_text())
        return summary["tasks"], summary["subtasks"]


def test_task_master_makes_weighs_and_breaks_down_the_tasks_of_tickets(
    programs: Path, tmp_path: Path
) -> None:
    with serving_tasks(TITLES) as provider:
        project = TicketProject(programs, tmp_path, provider)
        first = project.run("--steps", "01,02,03,04,05,06,07,08")

        assert first.code == 0, first.out
        assert project.figures("tm-tasks.json") == (2, 0)
        assert project.figures("tm-expanded.json") == (2, 4)
        assert project.figures("tm-check.json") == (2, 4)
        weighed = json.loads((project.root / OUT / "tm-complexity.json").read_text())
        assert len(weighed["complexityAnalysis"]) == len(TITLES)
        assert sum(HINT in text for text in provider.asked) == len(TITLES)

        asked = len(provider.asked)
        again = project.run("--rerun", "05,06,08")

        assert again.code == 0, again.out
        assert len(provider.asked) == asked
