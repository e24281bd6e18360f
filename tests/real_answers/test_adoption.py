"""oraclepack is killed while the real oracle is asked: nothing that was paid for is lost."""

import os
import signal

import pytest

from oraclepack.journal import events as j
from tests.e2e.calls.office import events, outcomes, until, warnings
from tests.e2e.run.project import Project
from tests.killable import await_end
from tests.packs import pack_text
from tests.provider import Provider, answer_to
from tests.real_answers.packs import asking

pytestmark = pytest.mark.slow

PROMPT = "Why is it so at all? [[fault=hold]]"
ANSWER = "out/01.md"


def killed(project: Project, provider: Provider, *more: str, model: str = "gpt-5.2") -> int:
    """A run that was killed in its only call; the process of the tool it called."""
    project.pack.write_text(pack_text(asking(1, PROMPT, *more, model=model)))
    running = project.start("run", "pack.md")
    provider.await_requests(1)
    running.signal(signal.SIGKILL)
    running.wait()
    processes = [one.process for one in events(project) if isinstance(one, j.InvocationIntent)]
    assert processes[-1] is not None
    return processes[-1].pid


def the_answer(project: Project) -> str:
    return (project.root / ANSWER).read_text().strip()


@pytest.mark.parametrize(
    ("file", "new_run"),
    [
        pytest.param("there", (), id="its file is there"),
        pytest.param("gone", ("--new-run",), id="only its log is left, and this is another run"),
    ],
)
def test_answered_while_we_were_dead(
    project: Project, provider: Provider, file: str, new_run: tuple[str, ...]
) -> None:
    tool = killed(project, provider)
    provider.release.set()
    await_end(tool)
    if file == "gone":
        (written,) = project.root.glob(f".oraclepack/runs/*/calls/*/out/{ANSWER}")
        written.unlink()

    ran = project.run(*new_run)

    assert ran.code == 0, ran.err
    assert outcomes(project, project.run_dirs[-1])[-1].adopted
    assert len(provider.requests) == 1
    assert the_answer(project) == answer_to(provider.requests[0].prompt).strip()


@pytest.mark.parametrize("new_run", [(), ("--new-run",)], ids=["the same run", "another run"])
def test_its_process_still_lives(
    project: Project, provider: Provider, new_run: tuple[str, ...]
) -> None:
    killed(project, provider)

    running = project.start("run", "pack.md", "--json", *new_run)
    until(lambda: "still runs; waiting for it" in str(_waits(project)))
    provider.release.set()

    assert running.wait().code == 0
    assert outcomes(project, project.run_dirs[-1])[-1].adopted
    assert len(provider.requests) == 1
    assert the_answer(project) == answer_to(provider.requests[0].prompt).strip()


def test_it_died_but_is_still_marked_running(project: Project, provider: Provider) -> None:
    tool = killed(project, provider)
    os.kill(tool, signal.SIGKILL)
    await_end(tool)
    provider.release.set()

    ran = project.run()

    assert ran.code == 0, ran.err
    assert not outcomes(project)[-1].adopted
    assert len(provider.answered) == 1, "no answer was thrown away: there was none"
    assert len(provider.requests) == 2


def test_a_worker_still_lives(project: Project, provider: Provider) -> None:
    killed(project, provider, "--no-wait", model="gpt-5.5-pro")

    running = project.start("run", "pack.md", "--json")
    until(lambda: "still works on this question" in str(_waits(project)))
    provider.release.set()

    assert running.wait().code == 0
    assert outcomes(project)[-1].adopted
    assert len(provider.requests) == 1


def test_another_process_waits_while_the_first_one_is_killed(
    project: Project, provider: Provider
) -> None:
    project.pack.write_text(pack_text(asking(1, PROMPT)))
    first = project.start("run", "pack.md")
    provider.await_requests(1)
    second = project.start("run", "pack.md", "--json", "--new-run")
    until(lambda: "is being asked already" in str(_waits(project)))
    first.signal(signal.SIGKILL)
    first.wait()
    until(lambda: "still runs; waiting for it" in str(_waits(project)))
    provider.release.set()

    assert second.wait().code == 0
    assert len(provider.requests) == 1
    assert the_answer(project) == answer_to(provider.requests[0].prompt).strip()


def _waits(project: Project) -> list[tuple[str | None, str]]:
    return warnings(project, project.run_dirs[-1])
