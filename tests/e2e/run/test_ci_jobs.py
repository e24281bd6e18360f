"""The jobs of docs/ci.md, one after another, each in a fresh clone with the cache restored."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from tests.e2e.run.project import GIT, Project, Zygote, a_project, asking
from tests.scripted import Scripted

PAGE = Path(__file__).parents[3] / "docs/ci.md"
KEY = "a shared key of more than thirty-two characters"
RECIPES = ("packs.yml", ".gitlab-ci.yml")


def recipe(name: str) -> tuple[list[str], str, dict[str, str]]:
    """Of the job that asks: its oraclepack commands, the folder of its cache, its variables."""
    block = next(
        part.partition("\n```")[0]
        for part in PAGE.read_text().split("```yaml ")[1:]
        if part.splitlines()[0].endswith(name)
    )
    loaded = yaml.safe_load(block.partition("\n")[2])
    if name == "packs.yml":
        job = loaded["jobs"]["ask"]
        lines = [step["run"] for step in job["steps"] if "run" in step]
        (cache,) = {
            step["with"]["path"] for step in job["steps"] if "cache" in step.get("uses", "")
        }
        variables = job["env"]
    else:
        job = loaded["ask"]
        lines, (cache,), variables = job["script"], job["cache"]["paths"], job["variables"]
    commands = [line for line in lines if line.startswith("oraclepack ")]
    return commands, cache, variables


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_the_second_and_the_third_job_pay_for_nothing_that_was_answered(
    name: str, tmp_path: Path, zygote: Zygote
) -> None:
    short = asking(2).replace("Question 2?", "Question 2? [[fault=short]]")
    origin = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1) + short + asking(3))
    (origin.root / "docs").mkdir()
    (origin.root / "pack.md").rename(origin.root / "docs/oracle-pack.md")
    subprocess.run([*GIT, "add", "-A"], cwd=origin.root, check=True)
    subprocess.run([*GIT, "commit", "-q", "-m", "pack"], cwd=origin.root, check=True)
    commands, cache, variables = recipe(name)
    assert "--keep-going" in commands[0]
    assert "--max-cost" in commands[0]
    given = {name: value for name, value in variables.items() if name.startswith("ORACLEPACK_")}
    given |= {"ORACLEPACK_TRUST_KEY": KEY, "OPENAI_API_KEY": "sk-of-nobody"}
    kept = tmp_path / "kept"
    ends = []
    paid = []
    for number in (1, 2, 3):
        root = tmp_path / f"job-{number}"
        subprocess.run([*GIT, "clone", "-q", origin.root, root], check=True)
        if kept.exists():
            shutil.copytree(kept, root / cache)
        home = tmp_path / f"home-{number}"
        home.mkdir()
        machine = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
        job = Project(root, zygote, Scripted(origin.oracle.program), given | machine)
        words = shlex.split(commands[0])[1:]
        ran = job.start(*words).wait()
        ends.append(ran.code)
        paid.append(len(origin.oracle.calls))
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(root / cache, kept)

    retries = int(variables["ORACLEPACK_OUTPUT_RETRIES"])
    assert ends[0] != 0
    assert ends == [ends[0]] * 3
    assert paid == [3 + retries] * 3
