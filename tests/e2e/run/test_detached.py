"""Runs that go on by themselves: started, watched, paused, steered and stopped by others."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from oraclepack.calls.call import STOPPED
from oraclepack.journal import events as j
from oraclepack.run.project_records import ProjectRuns
from tests.e2e.calls.office import Gate, ask, events, step, until, warnings
from tests.e2e.program import Ran
from tests.e2e.run.project import Project, Zygote, a_project, asking
from tests.packs import pack_text
from tests.processes import is_running

API = ("-e", "api", "-m", "gpt-5.2")
HELD = [step(n, ask(f"Question {n}? [[fault=hold]]", f"out/{n}.md", *API)) for n in (1, 2, 3)]
_started: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """What a failed test left running is ended."""
    yield
    while _started:
        with suppress(ProcessLookupError):
            os.kill(_started.pop(), signal.SIGKILL)


def detached(project: Project, *more: str) -> dict[str, Any]:
    ran = project.start("run", "pack.md", "--detach", "--json", *more).wait()
    assert ran.code == 0, ran
    _started.append(ran.data["pid"])
    return ran.data


def runs(project: Project, *words: str) -> Ran:
    return project.start("runs", *words).wait()


def status(project: Project) -> dict[str, Any]:
    (listed,) = runs(project, "list", "--json").data["runs"]
    return dict(listed)


def states(project: Project) -> list[str]:
    return [one.state for one in ProjectRuns(project.root).status("latest").steps]


def is_over(project: Project) -> bool:
    return any(isinstance(one, j.SessionFinished) for one in events(project))


def awaited(project: Project) -> list[str]:
    """The steps whose stops have waited for calls; "" is the whole run."""
    return [one.step for one in events(project) if isinstance(one, j.CallsAwaited)]


def requests(project: Project) -> list[tuple[str, str]]:
    made = [one for one in events(project) if isinstance(one, j.ControlRequested)]
    assert all("process" in one.by for one in made)
    return [(one.action, one.value) for one in made]


def test_a_detached_run_is_paused_raised_resumed_and_watched(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, "".join(HELD))
    gate = Gate(project)

    started = detached(project, "--max-parallel", "1")
    until(lambda: len(project.oracle.calls) == 1)
    watchers = [project.start("runs", "watch", "--json") for _ in range(2)]
    assert runs(project, "pause", started["name"]).code == 0
    assert status(project)["status"] == "paused"
    gate.open()
    until(lambda: states(project).count("ok") == 1)
    assert len(project.oracle.calls) == 1, "paused: the next step does not begin"
    assert runs(project, "set", "latest", "max_parallel=2").code == 0
    assert runs(project, "resume", "latest").code == 0
    until(lambda: len(project.oracle.calls) == 3)
    gate.open_until(lambda: states(project) == ["ok"] * 3)

    for watcher in watchers:
        ran = watcher.wait()
        *lines, last = ran.out.splitlines()
        assert (ran.code, json.loads(last)["data"]["state"]) == (0, "ok")
        assert json.loads(lines[0])["kind"] == "session_started"
        assert {"step_finished", "wait_started"} & {json.loads(line)["kind"] for line in lines}
    assert states(project) == ["ok"] * 3
    assert requests(project) == [("pause", ""), ("set", "max_parallel=2"), ("resume", "")]
    assert (project.root / started["console_log"]).read_text().count(" ok in ") == 3
    until(lambda: not is_running(started["pid"]))


def test_one_step_is_stopped_and_the_others_go_on(tmp_path: Path, zygote: Zygote) -> None:
    other = step(3, "cat out/1.md > out/3.md")
    project = a_project(tmp_path, zygote, "".join([*HELD[:2], other]))
    gate = Gate(project)
    detached(project, "--max-parallel", "2")
    until(lambda: len(project.oracle.calls) == 2)

    assert runs(project, "stop", "latest", "1", "--now").code == 0
    until(lambda: states(project)[0] == "interrupted")
    gate.open()
    until(lambda: is_over(project))

    assert states(project) == ["interrupted", "ok", "pending"]
    assert "earlier_call" not in dict(warnings(project)), "its call was cancelled"
    assert [one.exit_code for one in events(project) if isinstance(one, j.SessionFinished)] == [3]


def test_a_run_is_stopped_while_it_waits_for_a_stopped_step(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, HELD[0])
    Gate(project)
    program = project.start("run", "pack.md", "--no-validate")
    until(lambda: len(project.oracle.calls) == 1)
    assert runs(project, "stop", "latest", "1").code == 0
    until(lambda: awaited(project) == ["01"])

    assert runs(project, "stop", "latest").code == 0
    until(lambda: awaited(project) == ["01", ""])
    asked = (["pause", "latest"], ["resume", "latest"], ["set", "latest", "max_parallel=2"])
    refused = [runs(project, *words) for words in asked]
    program.signal(signal.SIGINT)
    ended = program.wait()

    assert [one.code for one in refused] == [2, 2, 2]
    assert all("the run is being stopped" in one.err for one in refused)
    assert "waiting for 1 call; press Ctrl-C again to cancel it" in ended.err
    assert (ended.code, states(project)) == (130, ["interrupted"])
    assert [one.error for one in events(project) if isinstance(one, j.TryFinished)] == [STOPPED]


def test_a_step_that_is_stopped_politely_takes_its_answer(tmp_path: Path, zygote: Zygote) -> None:
    late = step(1, ask("Question 1? [[fault=hold]]", "out/1.md", *API), "sleep 60")
    project = a_project(tmp_path, zygote, late + step(2, "echo other"))
    gate = Gate(project)
    detached(project)
    until(lambda: len(project.oracle.calls) == 1)

    assert runs(project, "stop", "latest", "1").code == 0
    until(lambda: any(isinstance(one, j.CallsAwaited) for one in events(project)))
    gate.open()
    until(lambda: is_over(project))

    assert states(project) == ["interrupted", "ok"]
    assert [one.ok for one in events(project) if isinstance(one, j.InvocationOutcome)] == [True]


@pytest.mark.parametrize("how", [(), ("--now",)])
def test_a_run_is_stopped_and_continued(
    how: tuple[str, ...], tmp_path: Path, zygote: Zygote
) -> None:
    quick = step(1, ask("Quick?", "out/0.md", *API))
    project = a_project(tmp_path, zygote, quick + HELD[1])
    gate = Gate(project)
    started = detached(project)
    until(lambda: len(project.oracle.calls) == 2)

    assert runs(project, "stop", "latest", *how).code == 0
    if not how:
        assert status(project)["status"] == "stopping"
        gate.open()
    until(lambda: not is_running(started["pid"]))
    again = project.start("run", "pack.md", "--json")
    if how:
        gate.open()

    assert again.wait().code == 0
    assert states(project) == ["ok", "ok"]
    # What was cancelled is asked again: nothing says that it was answered.
    assert len(project.oracle.calls) == (3 if how else 2)


def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, HELD[0])
    gate = Gate(project)
    detached(project)
    until(lambda: len(project.oracle.calls) == 1)

    refused = [
        runs(project, "stop", "latest", "07"),
        runs(project, "set", "latest", "max_parallel=0"),
        runs(project, "set", "latest", "colour=red"),
        runs(project, "answer", "latest", "01", "retry"),
        project.start("run", "pack.md").wait(),
    ]
    assert [ran.code for ran in refused] == [2, 2, 2, 2, 6]
    assert "running now: 01" in refused[0].err
    assert requests(project) == []
    gate.open()
    until(lambda: is_over(project))
    over = runs(project, "stop", "latest")
    assert (over.code, "no command works on run" in over.err) == (2, True)


def test_a_run_that_cannot_begin_says_why(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) broken\nif true\n")

    ran = project.start("run", "pack.md", "--detach", "--json").wait()

    assert (ran.code, ran.envelope["error"]["code"]) == (2, "INVALID_PACK")
    assert project.run_dirs == []


def test_a_run_waits_for_another_one(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, HELD[0])
    (project.root / "next.md").write_text(pack_text(step(1, ask("Next?", "out/next.md", *API))))
    gate = Gate(project)
    first = detached(project)
    until(lambda: len(project.oracle.calls) == 1)

    ran = project.start("run", "next.md", "--detach", "--json", "--wait-for", "latest").wait()
    waiting = ran.data["name"]
    until(lambda: ProjectRuns(project.root).status(waiting).state == "waiting")
    assert ProjectRuns(project.root).status(waiting).waiting_for == first["name"]
    circle = project.start("run", "next.md", "--wait-for", waiting).wait()
    assert (circle.code, "waits for this one itself" in circle.err) == (2, True)
    gate.open()
    until(lambda: ProjectRuns(project.root).status(waiting).state == "ok")

    assert [call["prompt"].split()[0] for call in project.oracle.calls] == ["Question", "Next?"]


def test_a_killed_runner_is_seen_as_interrupted_and_leaves_nothing_that_answers(
    tmp_path: Path, zygote: Zygote
) -> None:
    once = step(1, ask("Question? [[fault=hold first=1]]", "out/1.md", *API))
    project = a_project(tmp_path, zygote, once)
    gate = Gate(project)
    started = detached(project)
    until(lambda: len(project.oracle.calls) == 1)
    watcher = project.start("runs", "watch")

    os.kill(started["pid"], signal.SIGKILL)

    assert watcher.wait().code == 3
    assert status(project)["status"] == "interrupted"
    assert runs(project, "pause", "latest").code == 2
    gate.open()  # the call outlives its runner
    assert project.run().code == 0


@pytest.mark.parametrize(
    ("answer", "code", "calls"),
    [pytest.param("retry", 0, 2, id="raised"), pytest.param("fail", 7, 1, id="not raised")],
)
def test_a_call_that_does_not_fit_the_budget_waits_for_a_person(
    answer: str, code: int, calls: int, tmp_path: Path, zygote: Zygote
) -> None:
    bash = "".join(step(n, ask(f"Question {n}?", f"out/{n}.md", *API)) for n in (1, 2))
    project = a_project(tmp_path, zygote, bash)
    started = detached(project, "--max-calls", "1", "--max-parallel", "1")

    until(lambda: status(project)["status"] == "needs_decision")
    (needed,) = ProjectRuns(project.root).status("latest").decisions
    assert (needed.step_id, needed.options) == ("02", ("retry", "fail"))
    assert "max_calls" in needed.question.replace("-", "_")
    assert runs(project, "set", "latest", "max_calls=5").code == 0
    assert runs(project, "answer", "latest", "2", "perhaps").code == 2
    assert runs(project, "answer", "latest", "2", answer).code == 0
    until(lambda: not is_running(started["pid"]))

    assert [one.exit_code for one in events(project) if isinstance(one, j.SessionFinished)] == [
        code
    ]
    assert len(project.oracle.calls) == calls
    made = [one for one in events(project) if isinstance(one, j.DecisionMade)]
    assert [(one.step, one.answer, "process" in one.by) for one in made] == [("02", answer, True)]


SHORT = asking(1).replace("Question 1?", "Question 1? [[fault=short first=1]]")
"""A step whose first answer lacks a heading."""


@pytest.mark.parametrize(
    ("edited", "answer", "code", "calls", "state"),
    [
        pytest.param(False, "accept", 0, 1, "accepted", id="accepted as it is"),
        pytest.param(True, "accept", 0, 1, "ok", id="corrected, then accepted"),
        pytest.param(False, "retry", 0, 2, "ok", id="asked again"),
        pytest.param(False, "fail", 3, 1, "failed", id="failed"),
    ],
)
def test_an_answer_that_misses_its_contract_waits_for_a_person(
    edited: bool,
    answer: str,
    code: int,
    calls: int,
    state: str,
    tmp_path: Path,
    zygote: Zygote,
) -> None:
    project = a_project(tmp_path, zygote, f"mkdir -p out\n{SHORT}")
    started = detached(project, "--no-validate")

    until(lambda: bool(project.run_dirs) and status(project)["status"] == "needs_decision")
    (needed,) = ProjectRuns(project.root).status("latest").decisions
    assert (needed.step_id, needed.options) == ("01", ("accept", "retry", "fail"))
    if edited:
        output = project.root / "out/01-topic-1.md"
        output.write_text(output.read_text().replace("Worries", "Risks and unknowns"))
    assert runs(project, "answer", "latest", "01", answer).code == 0
    until(lambda: not is_running(started["pid"]))

    ends = [one.exit_code for one in events(project) if isinstance(one, j.SessionFinished)]
    assert (ends, states(project)) == ([code], [state])
    assert len(project.oracle.calls) == calls
    again = project.run("--no-validate")
    assert (again.code, len(project.oracle.calls)) == (code, calls), "nothing is paid for twice"


@pytest.mark.parametrize("words", [(), ("--now",)], ids=["politely", "now"])
def test_an_answer_of_a_run_that_is_stopped_while_it_waits_for_a_person_is_not_asked_again(
    words: tuple[str, ...], tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, f"mkdir -p out\n{SHORT}")
    started = detached(project, "--no-validate")
    until(lambda: bool(project.run_dirs) and status(project)["status"] == "needs_decision")

    runs(project, "stop", "latest", *words)
    until(lambda: not is_running(started["pid"]))
    again = project.run("--no-validate")

    assert (again.code, len(project.oracle.calls)) == (3, 1), "nothing is paid for twice"


def undecided(tmp_path: Path, zygote: Zygote) -> tuple[Project, Gate]:
    """A project whose killed run has left a call at work, which outlasts its time limit."""
    once = step(1, ask("Question? [[fault=hold first=1]]", "out/1.md", *API))
    project = a_project(tmp_path, zygote, once + step(2, "echo other"))
    gate = Gate(project)
    started = detached(project)
    until(lambda: len(project.oracle.calls) == 1)
    os.kill(started["pid"], signal.SIGKILL)
    until(lambda: not is_running(started["pid"]))
    return project, gate


@pytest.mark.parametrize(("answer", "code", "calls"), [("retry", 0, 2), ("fail", 8, 1)])
def test_an_unknown_call_of_a_detached_run_waits_for_a_person(
    answer: str, code: int, calls: int, tmp_path: Path, zygote: Zygote
) -> None:
    project, gate = undecided(tmp_path, zygote)
    words = ("--on-unknown", "ask", "--call-timeout", "1", "--keep-going", "--max-parallel", "2")

    started = detached(project, *words)
    until(lambda: status(project)["status"] == "needs_decision")
    until(lambda: states(project)[1] == "ok")  # nothing else stops
    (needed,) = ProjectRuns(project.root).status("latest").decisions
    assert needed.step_id == "01"
    assert len(project.oracle.calls) == 1, "nothing is asked while it is undecided"
    assert runs(project, "answer", "latest", "01", answer).code == 0
    until(lambda: not is_running(started["pid"]))

    ends = [one.exit_code for one in events(project) if isinstance(one, j.SessionFinished)]
    assert ends == [code]
    assert len(project.oracle.calls) == calls
    gate.open()


def test_without_a_person_an_unknown_call_is_exit_code_8(tmp_path: Path, zygote: Zygote) -> None:
    project, gate = undecided(tmp_path, zygote)

    ran = project.run("--on-unknown", "ask", "--call-timeout", "1", "--keep-going")

    assert ran.code == 8, ran.out
    error = ran.envelope["error"]
    assert (error["code"], error["retryable"]) == ("DECISION", False)
    assert "--on-unknown retry" in error["suggestion"]
    assert ran.data["undecided_steps"] == ["01"]
    assert len(project.oracle.calls) == 1
    gate.open()
