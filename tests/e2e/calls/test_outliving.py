"""A question goes on when its caller is killed, and the run waits for its answer."""

import signal
from pathlib import Path

import pytest

from oraclepack.journal import events as j
from tests.e2e.calls.office import Gate, ask, events, outcomes, step, until, warnings
from tests.e2e.run.project import Project, Zygote, a_project, asking

BEGUN = 'until [[ -s "$TOOLS/oracle.calls.jsonl" ]]; do sleep 0.02; done'
KILLED = f"env {ask('Why? [[fault=slow]]', 'out/a.md')} &\n{BEGUN}\nkill -KILL $!"
"""A call whose stand-in is killed while the tool is at work."""


def _has_ended(shell: Path) -> bool:
    """The shell that wrote its number there is gone, or waits to be collected."""
    number = shell.read_text().strip() if shell.exists() else ""
    try:
        return bool(number) and Path(f"/proc/{number}/stat").read_text().split()[2] == "Z"
    except OSError:
        return True


def test_a_step_cancelled_before_its_answer_asks_again(tmp_path: Path, zygote: Zygote) -> None:
    background = 'oracle -p "Why? [[fault=hang first=1]]" &'
    again = "[[ -e again ]] && wait\necho $$ >shell\ntrue"
    project = a_project(tmp_path, zygote, step(1, background, BEGUN, again))

    program = project.start("run", "pack.md", "--json", "--no-validate")
    until(lambda: _has_ended(project.root / "shell"))
    program.signal(signal.SIGINT)
    until(lambda: bool(awaited(project)))
    program.signal(signal.SIGINT)

    assert program.wait().code == 130
    assert project.steps()["01"]["last_error"]["code"] == "INTERRUPTED"
    (project.root / "again").touch()
    assert project.run("--no-validate").code == 0
    assert len(project.oracle.calls) == 2


STOPS = [
    pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
    pytest.param(signal.SIGTERM, 143, id="TERM"),
    pytest.param(signal.SIGHUP, 143, id="a closed terminal, which sends HUP twice"),
]


def awaited(project: Project) -> list[int]:
    """How many calls stops have waited for."""
    return [one.calls for one in events(project) if isinstance(one, j.CallsAwaited)]


@pytest.mark.parametrize(("number", "code"), STOPS)
def test_a_polite_stop_takes_the_answer_that_is_being_asked_for(
    tmp_path: Path, zygote: Zygote, number: signal.Signals, code: int
) -> None:
    bash = step(1, ask("Why? [[fault=hold]]", "out/a.md")) + step(2, ask("How?", "out/b.md"))
    project = a_project(tmp_path, zygote, bash)
    gate = Gate(project)

    words = ("run", "pack.md", "--json", "--no-validate", "--max-parallel", "1")
    program = project.start(*words)
    until(lambda: bool(project.oracle.calls))
    program.signal(number)
    until(lambda: awaited(project) == [1])
    if number is signal.SIGHUP:
        program.signal(number)
    gate.open()
    stopped = program.wait()

    assert (stopped.code, project.statuses()) == (code, ["ok", "pending"])
    assert "stopping: waiting for 1 call; press Ctrl-C again to cancel it" in stopped.err
    assert project.run("--no-validate").code == 0
    assert project.oracle.prompts == ["Why? [[fault=hold]]", "How?"], "asked once each"


def test_a_kill_that_follows_a_stop_costs_nothing(tmp_path: Path, zygote: Zygote) -> None:
    """TERM and some seconds later KILL, as CI systems do it."""
    question = asking(1).replace("Question 1?", "Question 1? [[fault=hold first=1]]")
    project = a_project(tmp_path, zygote, f"mkdir -p out\n{question}")
    gate = Gate(project)

    program = project.start("run", "pack.md", "--json", "--no-validate")
    until(lambda: bool(project.oracle.calls))
    program.signal(signal.SIGTERM)
    until(lambda: awaited(project) == [1])
    program.signal(signal.SIGKILL)
    program.wait()
    gate.open()

    assert project.run("--no-validate").code == 0
    assert len(project.oracle.calls) == 1


def test_an_answer_that_came_with_the_cancelling_is_taken_by_the_next_run(
    tmp_path: Path, zygote: Zygote
) -> None:
    """The tool has written its answer and hangs before its end."""
    question = ask("Why? [[fault=late first=1]]", "out/a.md")
    project = a_project(tmp_path, zygote, step(1, question, "# Answer format: all sections"))

    program = project.start("run", "pack.md", "--json", "--no-validate")
    until(lambda: any(project.root.glob(".oraclepack/runs/*/calls/*/out/out/a.md")))
    program.signal(signal.SIGINT)
    until(lambda: awaited(project) == [1])
    program.signal(signal.SIGINT)
    assert program.wait().code == 130
    (outcome,) = outcomes(project)
    assert outcome.ok

    again = project.run("--no-validate")

    assert (again.code, len(project.oracle.calls)) == (0, 1)


def test_a_time_limit_that_passes_while_a_stop_waits_fails_nothing(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why? [[fault=hang]]", "out/a.md")))

    program = project.start("run", "pack.md", "--json", "--no-validate", "--step-timeout", "2s")
    until(lambda: bool(project.oracle.calls))
    program.signal(signal.SIGINT)

    assert program.wait().code == 130
    assert awaited(project) == [1]
    assert project.steps()["01"]["last_error"]["code"] == "INTERRUPTED"


def test_an_answer_that_lacks_a_section_is_not_asked_for_again_while_a_run_stops(
    tmp_path: Path, zygote: Zygote
) -> None:
    question = asking(1).replace("Question 1?", "Question 1? [[fault=unmet]]")
    project = a_project(tmp_path, zygote, f"mkdir -p out\n{question}")
    gate = Gate(project)

    words = ("run", "pack.md", "--json", "--no-validate", "--output-retries", "1")
    program = project.start(*words)
    until(lambda: bool(project.oracle.calls))
    program.signal(signal.SIGINT)
    until(lambda: awaited(project) == [1])
    gate.open()
    assert program.wait().code == 130
    (outcome,) = outcomes(project)
    again = project.start(*words)
    until(lambda: len(project.oracle.calls) > 1)
    gate.open()

    assert (outcome.attempts, outcome.cancelled) == (1, False), "its second try was not made"
    assert (again.wait().code, len(project.oracle.calls)) == (3, 2), "that was its only retry"


def test_a_prelude_waits_for_its_answer(tmp_path: Path, zygote: Zygote) -> None:
    bash = f"{KILLED}\n{step(1, 'cp out/a.md out/b.md')}"
    project = a_project(tmp_path, zygote, bash)

    assert project.run("--no-validate").code == 0
    assert project.steps()["01"]["status"] == "ok"
    assert [one.error for one in outcomes(project)] == [None]


def test_a_question_that_outlives_its_step_is_reported(tmp_path: Path, zygote: Zygote) -> None:
    held = KILLED.replace("fault=slow", "fault=hold")
    project = a_project(tmp_path, zygote, step(1, held, "sleep 60"))
    gate = Gate(project)

    program = project.start("run", "pack.md", "--json", "--no-validate", "--step-timeout", "3s")
    until(lambda: bool(project.run_dirs) and "earlier_call" in dict(warnings(project)))
    gate.open()

    assert program.wait().code == 3
    assert project.steps()["01"]["last_error"]["code"] == "STEP_TIMEOUT"
    assert [one.error for one in outcomes(project)] == [None]
