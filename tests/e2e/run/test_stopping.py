"""Ctrl-C, termination, and steps that would wait for a person."""

import signal
from pathlib import Path

import pytest

from oraclepack.journal.events import StepStarted
from tests.bashes import alive
from tests.e2e.calls.office import until
from tests.e2e.run.meeting import Meeting
from tests.e2e.run.project import Program, Project, Zygote, a_project, asking, twenty

HOLD = "[[ -e go ]] || { echo here >meet; sleep 60; }\n"


def tokens(project: Project) -> list[str]:
    events = project.journal.events
    return [event.token for event in events if isinstance(event, StepStarted) and event.token]


def begun(project: Project, *args: str) -> Program:
    """A run that has come to the step which says so."""
    meeting = Meeting(project.root / "meet")
    program = project.start("run", "pack.md", "--json", *args)
    meeting.wait()
    return program


def test_interrupted_after_eight_of_twenty_twelve_calls_are_left(
    tmp_path: Path, zygote: Zygote
) -> None:
    nine = asking(9, before=HOLD).partition("\n")[2]
    project = a_project(tmp_path, zygote, twenty(s09=nine))
    program = begun(project)
    before = len(project.oracle.calls)

    program.signal(signal.SIGINT)
    stopped = program.wait()

    assert (before, stopped.code) == (8, 130)
    assert stopped.envelope["error"]["code"] == "INTERRUPTED"
    assert project.statuses() == ["ok"] * 8 + ["pending"] * 12
    assert project.steps()["09"]["last_error"]["code"] == "INTERRUPTED"
    assert stopped.envelope["data"]["interrupted_steps"] == ["09"]
    assert (stopped.envelope["data"]["failed_steps"], project.manifest()["status"]) == (
        [],
        "incomplete",
    )
    (project.root / "go").touch()
    assert project.run().code == 0
    assert len(project.oracle.calls) == 8 + 12
    assert project.statuses() == ["ok"] * 20
    assert [entry["exit_code"] for entry in project.manifest()["sessions"]] == [130, 0]


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
    ids=["Ctrl-C", "termination", "a closed terminal"],
)
def test_no_process_is_left(
    tmp_path: Path, zygote: Zygote, number: signal.Signals, code: int
) -> None:
    body = "sleep 30 &\n(setsid sleep 32 &)\necho here >meet\nsleep 31\n"
    project = a_project(tmp_path, zygote, f"# 01) waits\n{body}# 02) later\ntouch later\n")
    program = begun(project)
    (token,) = tokens(project)
    until(lambda: len(alive(token)) >= 3)  # a shell may not have started all of them yet

    program.signal(number)

    assert program.wait().code == code
    assert alive(token) == []
    assert project.statuses() == ["pending", "pending"]
    assert not (project.root / "later").exists()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param(("list", "pack.md"), "interrupted", id="list"),
        pytest.param(("why", "pack.md", "01"), "it was interrupted: stopped before", id="why"),
        pytest.param(("run", "pack.md", "--dry-run"), "interrupted", id="the plan"),
        pytest.param(("runs", "list"), "incomplete", id="the run itself"),
    ],
)
def test_a_stopped_step_is_interrupted_wherever_it_is_shown(
    tmp_path: Path, zygote: Zygote, command: tuple[str, ...], expected: str
) -> None:
    project = a_project(tmp_path, zygote, f"# 01) waits\n{HOLD}")
    program = begun(project)
    program.signal(signal.SIGTERM)
    stopped = program.wait()

    shown = project.start(*command).wait()

    assert (stopped.code, shown.code) == (143, 0)
    assert expected in shown.out
    assert "failed" not in stopped.err + shown.out
    (project.root / "go").touch()
    assert project.run("--rerun", "failed").code == 0
    assert project.statuses() == ["ok"]


def test_a_second_signal_stops_at_once(tmp_path: Path, zygote: Zygote) -> None:
    deaf = "trap 'echo no >meet' INT\ntrap '' TERM\necho here >meet\nwhile :; do sleep 1; done\n"
    project = a_project(tmp_path, zygote, f"# 01) deaf\n{deaf}")
    meeting = Meeting(project.root / "meet")
    program = project.start("run", "pack.md", "--json")
    meeting.wait()
    (token,) = tokens(project)

    program.signal(signal.SIGINT)
    meeting.wait()
    program.signal(signal.SIGINT)

    assert program.wait().code == 130
    assert alive(token) == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param("cat\necho over", "ok", id="cat"),
        pytest.param("read -r line\n", "failed", id="read"),
        pytest.param("read -r line </dev/tty\n", "failed", id="read from the terminal"),
        pytest.param("select one in a b; do :; done\n", "failed", id="select"),
    ],
)
def test_a_step_that_waits_for_a_person_ends(
    tmp_path: Path, zygote: Zygote, body: str, status: str
) -> None:
    project = a_project(tmp_path, zygote, f"# 01) asks\n{body}")

    ran = project.run("--no-validate")

    assert project.statuses() == [status]
    assert ran.code == (0 if status == "ok" else 3)


def test_a_step_that_takes_too_long_is_stopped(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) long\nsleep 60\n")

    ran = project.run("--step-timeout", "0.2s")

    assert ran.code == 3
    assert project.steps()["01"]["last_error"] == {
        "code": "STEP_TIMEOUT",
        "message": "stopped after 0.2 s, its --step-timeout",
        "transient": True,
    }


def test_a_stop_in_the_prelude_stops_the_run(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, f"{HOLD}# 01) never\ntouch ran\n")
    program = begun(project)

    program.signal(signal.SIGINT)

    assert program.wait().code == 130
    assert not (project.root / "ran").exists()
    (project.root / "go").touch()
    assert project.run().code == 0
