"""A tool that ends and leaves its question to a worker: the worker's answer is the call's."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal.statuses import DETACHED
from tests.calls.crashed import EndingShim, later, living, session
from tests.calls.office import ANSWER, OUT, Office, ScriptedShim, answering

ASK = ("--no-wait", "-p", "why?", "--write-output", OUT)


class Worker:
    """A process that works on a question, and the record that names it."""

    def __init__(self, pid: int, end: Callable[[], None]) -> None:
        self._lifecycle = {"detached": True, "workerPid": pid}
        self.end = end

    def begin(self, office: Office) -> Callable[[ToolRun], ToolEnd]:
        """What the tool does that starts it."""

        def detach(_: ToolRun) -> ToolEnd:
            session(office, "running", lifecycle=self._lifecycle)
            return ToolEnd(0, "Session: s\nDetach: yes, polling\n")

        return detach

    def answer(self, office: Office) -> None:
        office.tool_writes(ANSWER)
        session(office, "completed", lifecycle=self._lifecycle)
        self.end()


@pytest.fixture
def worker() -> Iterator[Worker]:
    with living("oracle-worker") as (process, end):
        yield Worker(process.pid, end)


def test_it_is_waited_for(worker: Worker, tmp_path: Path) -> None:
    office = Office(tmp_path)
    shim = EndingShim(lambda: worker.answer(office))
    shim.script = [worker.begin(office)]

    assert office.call(shim, *ASK) == 0
    assert len(shim.orders) == 1
    assert office.last.session == "s"


@pytest.mark.parametrize(
    ("options", "patience", "exit_code"),
    [
        pytest.param({}, 1, 130, id="stopped while it waits"),
        pytest.param({"call_timeout": 30.0}, 1000, 1, id="longer than a call may take"),
    ],
)
def test_what_is_not_waited_for_to_the_end_is_not_asked_again(
    worker: Worker, tmp_path: Path, options: dict[str, Any], patience: int, exit_code: int
) -> None:
    office = Office(tmp_path, **options)
    shim = ScriptedShim(worker.begin(office), patience=patience)

    assert office.call(shim, *ASK) == exit_code
    assert office.last.error is not None
    assert office.last.error.code == DETACHED
    assert "run again" in shim.stderr
    office.journal.close()

    office, shim = later(tmp_path), EndingShim(lambda: worker.answer(office))
    assert office.call(shim, *ASK) == 0
    assert shim.orders == []
    assert (office.out(), office.last.adopted) == (ANSWER, True)


def test_another_run_waits_for_it_too(worker: Worker, tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.call(ScriptedShim(worker.begin(office), patience=1), *ASK)
    office.journal.close()
    (office.run_dir / "journal.jsonl").unlink()
    worker.answer(office)

    office, shim = later(tmp_path), ScriptedShim(answering(b"asked again\n"))
    assert office.call(shim, *ASK) == 0
    assert shim.orders == []
    assert office.out() == ANSWER


def test_one_that_died_without_an_answer_is_asked_again(worker: Worker, tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.call(ScriptedShim(worker.begin(office), patience=1), *ASK)
    office.journal.close()
    worker.end()

    office, shim = later(tmp_path), ScriptedShim(answering())
    assert office.call(shim, *ASK) == 0
    assert "--force" in shim.orders[0].argv
