"""A run whose steps are run by another executor than the threads of this process."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from oraclepack.journal.statuses import Status
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.executor import Work
from oraclepack.run.planning.plan import Plan
from oraclepack.run.planning.schedule import Progress
from oraclepack.run.request import RunRequest
from oraclepack.run.run import run_pack
from oraclepack.shell.attempt import StopSwitch
from tests.e2e.run.project import Project, Zygote, a_project


class OneByOne:
    """Runs the steps in the thread that asks for them."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, int]] = []

    def run(
        self, plan: Plan, work: Work, stop: StopSwitch, between: Callable[[], None] = lambda: None
    ) -> Progress:
        assert not stop.level
        for step in plan.to_run:
            self.ran.append((step.step_id, threading.get_ident()))
            assert work(step) is Status.OK
            between()
        return Progress(finished=frozenset(step.step_id for step in plan.to_run))


def test_the_steps_of_a_run_are_given_to_its_executor(
    tmp_path: Path, zygote: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    project: Project = a_project(tmp_path, zygote, "# 01) one\ntrue\n# 02) two\ntrue\n")
    monkeypatch.chdir(project.root)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    executor = OneByOne()

    result = run_pack(
        RunRequest(root=project.root, pack=read_pack(Path("pack.md")), executor=executor)
    )

    here = threading.get_ident()
    assert executor.ran == [("01", here), ("02", here)]
    assert [result.state.step(step).status for step in ("01", "02")] == [Status.OK, Status.OK]
