"""Files that an answer replaces, also where only the running shell knew the path."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.calls.office import ask, step, until
from tests.e2e.run.project import Zygote, a_project

LATE = 'name=$(printf "%s" late)'


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([ask("Why?", "out/late.md")], id="a path in the text"),
        pytest.param([LATE, ask("Why?", "out/$name.md")], id="a path only the shell knows"),
        pytest.param(
            [LATE, ask("Why?", "out/$name.md", "-f pack.md"), ask("How?", "out/$name.md")],
            id="written by two calls with two answers",
        ),
    ],
)
@pytest.mark.parametrize("older", [b"older\n", None], ids=["over an older file", "a new file"])
def test_rollback_brings_the_older_file_back(
    tmp_path: Path, zygote: Zygote, lines: list[str], older: bytes | None
) -> None:
    project = a_project(tmp_path, zygote, step(1, *lines) + step(2, "false"))
    place = project.root / "out/late.md"
    place.parent.mkdir()
    if older is not None:
        place.write_bytes(older)

    ran = project.run("--rollback-on-failure", "--existing", "replace")

    assert (ran.code, ran.data["rollback_status"]) == (3, "completed")
    assert (place.read_bytes() if place.exists() else None) == older


def test_a_failed_call_leaves_the_older_file(tmp_path: Path, zygote: Zygote) -> None:
    bash = step(1, LATE, ask("Why? [[fault=empty]]", "out/$name.md"))
    project = a_project(tmp_path, zygote, bash)
    place = project.root / "out/late.md"
    place.parent.mkdir()
    place.write_text("older\n")

    ran = project.run("--existing", "replace", ORACLEPACK_RETRY_BASE_SECONDS="0.01")

    assert ran.data["steps"][0]["error"] == "EMPTY_ANSWER"
    assert place.read_text() == "older\n"


def test_also_where_the_runner_was_killed_in_the_call(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why? [[fault=hang]]", "out/late.md")))
    place = project.root / "out/late.md"
    place.parent.mkdir()
    place.write_text("older\n")
    running = project.start("run", "pack.md", "--existing", "replace")
    until(lambda: len(project.oracle.calls) == 1)
    running.signal(signal.SIGKILL)
    os.kill(project.oracle.calls[0]["pid"], signal.SIGKILL)
    running.wait()
    assert place.read_text() == "older\n"
    project.oracle.program.write_text("#!/bin/sh\nexit 1\n")

    assert project.run().code == 3
    assert place.read_text() == "older\n"


def test_one_file_spelled_in_two_ways_is_one_output(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "./out//../out/x.md")))

    project.run()
    project.run("--new-run")

    for run_dir in project.run_dirs:
        (output,) = json.loads((run_dir / "steps.json").read_bytes())["steps"][0]["outputs"]
        assert output["path"] == "outputs/01-x.md"
        assert output["from_cache"] is run_dir.name.endswith("__2")


def test_a_directory_that_appears_in_place_of_the_answer_loses_nothing(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "out/late.md")) + step(2, "true"))
    place = project.root / "out/late.md"
    program = project.oracle.program
    first, _, rest = program.read_text().partition("\n")
    making = f"import os, sys\nif '--version' not in sys.argv:\n    os.makedirs('{place}')\n"
    program.write_text(f"{first}\n{making}{rest}")

    ran = project.run("--keep-going", "--existing", "replace")

    asked, other = ran.data["steps"]
    assert (ran.code, asked["error"], other["status"]) == (3, "OUTPUT_PATH", "ok")
    place.rmdir()
    assert project.run().code == 0
    assert (len(project.oracle.calls), place.is_file()) == (1, True)
