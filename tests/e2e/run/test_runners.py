"""Two runners, killed runners, and what they leave to the next one."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.events import StepFinished, StepStarted
from oraclepack.shell.processes import process_info
from tests.bashes import alive
from tests.e2e.run.meeting import Meeting
from tests.e2e.run.project import Project, Zygote, a_project, asking

HOLD = "[[ -e go ]] || { echo $BASHPID >meet; sleep 60; }\n"


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    """Three steps, the second of which stays until it is let go."""
    bash = "mkdir -p out\n" + asking(1) + asking(2, before=HOLD) + asking(3)
    return a_project(tmp_path, zygote, bash)


def token_of(project: Project, step: str) -> str:
    events = project.journal.events
    found = [e.token for e in events if isinstance(e, StepStarted) and e.step == step]
    assert found[-1]
    return found[-1]


def test_the_second_runner_learns_the_owner(project: Project) -> None:
    meeting = Meeting(project.root / "meet")
    first = project.start("run", "pack.md", "--json")
    meeting.wait()

    second = project.run()

    assert (second.code, second.envelope["error"]["code"]) == (6, "LOCKED")
    error = second.envelope["error"]
    assert (error["retryable"], error["retry_after"]) == (True, 30.0)
    # From the journal: the manifests follow it.
    started = next(one.at for one in project.journal.events if isinstance(one, j.SessionStarted))
    message = second.envelope["error"]["message"]
    assert f"process {first.pid} on {socket.gethostname()} since {started[:16]}" in message
    first.signal(signal.SIGKILL)
    first.wait()
    (project.root / "go").touch()
    assert project.run().code == 0
    assert project.statuses() == ["ok"] * 3


def test_a_killed_runners_step_is_ended_by_the_next_command(project: Project) -> None:
    meeting = Meeting(project.root / "meet")
    program = project.start("run", "pack.md", "--json")
    meeting.wait()
    token = token_of(project, "02")

    program.signal(signal.SIGKILL)
    assert program.wait().code == -signal.SIGKILL
    assert alive(token)
    (project.root / "go").touch()
    ran = project.run()

    assert ran.code == 0
    assert alive(token) == []
    assert ran.data["done_steps"] == ["01"]
    assert project.attempts() == {"01": 1, "02": 2, "03": 1}
    assert any("ended" in warning["message"] for warning in project.manifest()["warnings"])


def test_a_killed_step_fails_and_runs_again(project: Project) -> None:
    meeting = Meeting(project.root / "meet")
    program = project.start("run", "pack.md", "--json")
    shell = int(meeting.wait())

    os.kill(shell, signal.SIGKILL)
    ran = program.wait()

    assert (ran.code, ran.data["failed_step"]) == (3, "02")
    assert project.steps()["02"]["exit_code"] == 128 + signal.SIGKILL
    assert project.steps()["02"]["last_error"]["message"].startswith("exit code 137 (SIGKILL)")
    (project.root / "go").touch()
    assert project.run().code == 0
    assert project.attempts() == {"01": 1, "02": 2, "03": 1}


def test_everything_killed_at_once(project: Project) -> None:
    meeting = Meeting(project.root / "meet")
    program = project.start("run", "pack.md", "--json")
    shell = int(meeting.wait())

    program.signal(signal.SIGKILL)
    os.killpg(shell, signal.SIGKILL)
    program.wait()
    (project.root / "go").touch()

    assert project.run().code == 0
    events = project.journal.events
    assert [e.step for e in events if isinstance(e, StepFinished)] == ["01", "02", "03"]


def test_a_prelude_that_outlived_its_runner_is_ended(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, f"{HOLD}# 01) one\ntrue\n")
    meeting = Meeting(project.root / "meet")
    program = project.start("run", "pack.md", "--json")
    shell = int(meeting.wait())

    program.signal(signal.SIGKILL)
    program.wait()
    (project.root / "go").touch()

    assert project.run().code == 0
    found = process_info(shell)
    assert found is None or found.is_dead


@pytest.fixture
def hidden() -> Iterator[Path]:
    """A directory for temporary files with a name short enough for sockets."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize("writes", [4, 6, 12])
def test_what_a_killed_runner_hid_is_removed(
    project: Project, tmp_path: Path, hidden: Path, writes: int
) -> None:
    (project.root / "go").touch()
    fault: dict[str, object] = {"notes": str(tmp_path / "notes"), "kill": writes}
    fault |= {"only": "write", "path": "journal.jsonl"}

    killed = project.run(fault=fault, TMPDIR=str(hidden))
    assert killed.code == -signal.SIGKILL
    assert list(hidden.iterdir())

    assert project.run(TMPDIR=str(hidden)).code == 0
    assert list(hidden.iterdir()) == []


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_nothing_is_hidden_before_the_journal_names_the_place(
    project: Project, tmp_path: Path, hidden: Path, writes: int
) -> None:
    fault: dict[str, object] = {"notes": str(tmp_path / "notes"), "kill": writes}
    fault |= {"only": "write", "path": "journal.jsonl"}

    killed = project.run(fault=fault, TMPDIR=str(hidden))

    assert killed.code == -signal.SIGKILL
    assert list(hidden.iterdir()) == []
