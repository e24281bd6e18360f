"""A question goes on when its caller is killed, and the run waits for its answer."""

import signal
from pathlib import Path

from tests.e2e.calls.office import Gate, ask, outcomes, step, until, warnings
from tests.e2e.run.project import Zygote, a_project

BEGUN = 'until [[ -s "$TOOLS/oracle.calls.jsonl" ]]; do sleep 0.02; done'
KILLED = f"{ask('Why? [[fault=slow]]', 'out/a.md')} &\n{BEGUN}\nkill -KILL $!"
"""A call whose stand-in is killed while the tool is at work."""


def _has_ended(shell: Path) -> bool:
    """The shell that wrote its number there is gone, or waits to be collected."""
    number = shell.read_text().strip() if shell.exists() else ""
    try:
        return bool(number) and Path(f"/proc/{number}/stat").read_text().split()[2] == "Z"
    except OSError:
        return True


def test_a_step_stopped_before_its_answer_asks_again(tmp_path: Path, zygote: Zygote) -> None:
    background = 'oracle -p "Why? [[fault=hang first=1]]" &'
    again = "[[ -e again ]] && wait\necho $$ >shell\ntrue"
    project = a_project(tmp_path, zygote, step(1, background, BEGUN, again))

    program = project.start("run", "pack.md", "--json", "--no-validate")
    until(lambda: _has_ended(project.root / "shell"))
    program.signal(signal.SIGINT)

    assert program.wait().code == 130
    assert project.steps()["01"]["last_error"]["code"] == "INTERRUPTED"
    (project.root / "again").touch()
    assert project.run("--no-validate").code == 0
    assert len(project.oracle.calls) == 2


def test_a_prelude_waits_for_its_answer(tmp_path: Path, zygote: Zygote) -> None:
    bash = f"{KILLED}\n{step(1, 'cp out/a.md out/b.md')}"
    project = a_project(tmp_path, zygote, bash)

    assert project.run("--no-validate").code == 0
    assert project.steps()["01"]["status"] == "ok"
    assert [one.error for one in outcomes(project)] == [None]


def test_a_question_that_outlives_its_step_is_told(tmp_path: Path, zygote: Zygote) -> None:
    held = KILLED.replace("fault=slow", "fault=hold")
    project = a_project(tmp_path, zygote, step(1, held, "sleep 60"))
    gate = Gate(project)

    program = project.start("run", "pack.md", "--json", "--no-validate", "--step-timeout", "3s")
    until(lambda: bool(project.run_dirs) and "earlier_call" in dict(warnings(project)))
    gate.open()

    assert program.wait().code == 3
    assert project.steps()["01"]["last_error"]["code"] == "STEP_TIMEOUT"
    assert [one.error for one in outcomes(project)] == [None]
