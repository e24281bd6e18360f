"""A question is paid for once: within a step, between steps, between processes."""

from pathlib import Path

from tests.e2e.calls.office import Gate, ask, outcomes, step, until, warnings
from tests.e2e.run.project import Project, Zygote, a_project
from tests.packs import pack_text

HELD = ask("Why? [[fault=hold]]", "out/a.md")


def test_two_processes_ask_the_same_at_once(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, HELD))
    other = step(1, HELD.replace("out/a.md", "out/b.md"))
    (project.root / "other.md").write_text(pack_text(other))
    gate = Gate(project)

    first = project.start("run", "pack.md", "--json")
    until(lambda: len(project.oracle.calls) == 1)
    second = project.start("run", "other.md", "--json")
    until(lambda: len(project.run_dirs) == 2 and bool(_waiting(project)))
    gate.open()

    assert (first.wait().code, second.wait().code) == (0, 0)
    assert len(project.oracle.calls) == 1
    assert sorted(one.cache for run in project.run_dirs for one in outcomes(project, run)) == [
        "hit",
        "miss",
    ]
    assert len(_waiting(project)) == 1
    assert (project.root / "out/a.md").read_bytes() == (project.root / "out/b.md").read_bytes()
    assert list((project.root / ".oraclepack/cache").glob("*.asking")) == []


def _waiting(project: Project) -> list[str]:
    pairs = [one for run in project.run_dirs for one in warnings(project, run)]
    return [message for code, message in pairs if code == "same_question"]


def test_the_same_question_twice_in_a_pack_is_asked_once(tmp_path: Path, zygote: Zygote) -> None:
    bash = step(1, ask("Why?", "out/1.md")) + step(2, ask("Why?", "out/2.md") + " &", "wait $!")
    project = a_project(tmp_path, zygote, bash)

    assert project.run("--max-parallel", "2").code == 0
    assert len(project.oracle.calls) == 1


def test_a_step_whose_third_call_fails_makes_two_more(tmp_path: Path, zygote: Zygote) -> None:
    prompts = ["One?", "Two?", "Three? [[fault=unknown first=1]]", "Four?"]
    calls = [ask(prompt, f"out/{number}.md") for number, prompt in enumerate(prompts, 1)]
    project = a_project(tmp_path, zygote, step(1, "set -e", *calls))

    first = project.run()
    asked_first = project.oracle.prompts
    second = project.run()

    assert (first.code, second.code) == (3, 0)
    assert first.data["steps"][0]["error"] == "UNKNOWN"
    assert (asked_first, project.oracle.prompts[3:]) == (prompts[:3], prompts[2:])
    assert [one.cache for one in outcomes(project)[3:]] == ["hit", "hit", "miss", "miss"]


def test_waits_are_reported_once_each(tmp_path: Path, zygote: Zygote) -> None:
    bash = step(1, ask("Why? [[fault=overloaded first=2]]", "out/1.md", "-e", "api"))
    project = a_project(tmp_path, zygote, bash)

    ran = project.start("run", "pack.md", ORACLEPACK_RETRY_BASE_SECONDS="0.01").wait()

    messages = [message for code, message in warnings(project) if code == "retry"]
    assert ran.code == 0
    assert [message.partition(",")[0] for message in messages] == ["overloaded", "overloaded"]
    assert all("next try in" in message for message in messages)
    assert ran.err.count("01  waiting: overloaded, retry in 0:00 (try 2)") == 1
    assert ran.err.count("01  waiting: overloaded, retry in 0:00 (try 3)") == 1
    assert outcomes(project)[0].attempts == 3


def test_a_wait_for_a_slot_is_reported(tmp_path: Path, zygote: Zygote) -> None:
    bash = step(1, ask("Why? [[fault=hold]]", "out/1.md", "-e", "api"))
    begun = 'until [[ -s "$TOOLS/oracle.calls.jsonl" ]]; do sleep 0.02; done'
    bash += step(2, begun, ask("How?", "out/2.md", "-e", "api"))
    project = a_project(tmp_path, zygote, bash)
    gate = Gate(project)
    (project.root / "oraclepack.toml").write_text("[providers.openai]\nmax_concurrent = 1\n")

    running = project.start("run", "pack.md", "--json", "--max-parallel", "2")
    until(lambda: bool(project.run_dirs) and bool(warnings(project)))
    gate.open()

    assert running.wait().code == 0
    assert warnings(project) == [("slot", "waiting for a slot of openai, 1 at a time")]
