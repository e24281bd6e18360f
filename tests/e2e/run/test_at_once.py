"""How many steps run at the same time where oraclepack decides."""

from pathlib import Path

import pytest

from tests.e2e.calls.office import Gate, ask, step, until
from tests.e2e.run.project import Zygote, a_project

API = ("-e", "api", "-m", "gpt-5.2")
AUTO = ("--max-parallel", "auto")


def questions(count: int, fault: str) -> str:
    named = [ask(f"Question {n}? [[fault={fault}]]", f"out/{n}.md", *API) for n in range(count)]
    return "".join(step(n + 1, text) for n, text in enumerate(named))


def test_four_questions_are_asked_at_once(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, questions(6, "hold"))
    gate = Gate(project)

    running = project.start("run", "pack.md", "--json", *AUTO)
    until(lambda: len(project.oracle.calls) == 4)
    gate.open_until(lambda: len(project.oracle.calls) == 6)
    gate.open_until(lambda: len(list((project.root / "out").glob("*.md"))) == 6)

    assert running.wait().code == 0
    assert project.statuses() == ["ok"] * 6


@pytest.mark.parametrize(("fault", "way_on"), [("auth", "set a key"), ("quota", "add credit")])
def test_what_every_question_would_meet_ends_the_command(
    fault: str, way_on: str, tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, questions(8, fault))

    ran = project.run("--keep-going", *AUTO)

    assert ran.code == 3, ran.err
    assert ran.envelope["error"]["suggestion"].startswith(way_on)
    assert len(project.oracle.calls) <= 4
    assert project.statuses().count("pending") >= 4


def test_it_is_said_once_that_the_browser_is_taken_for_lack_of_a_key(
    tmp_path: Path, zygote: Zygote
) -> None:
    asked = (step(n, ask(f"Question {n}?", f"out/{n}.md")) for n in (1, 2))
    project = a_project(tmp_path, zygote, "".join(asked))

    ran = project.run(*AUTO)
    with_key = project.run("--rerun", "all", "--no-cache", OPENAI_API_KEY="k")

    assert ran.err.count("are not set, so oracle asks through Chrome") == 1
    assert "Chrome" not in with_key.err
