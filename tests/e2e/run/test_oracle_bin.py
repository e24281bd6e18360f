"""`--oracle-bin`: an oracle that is not on PATH."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.run.project import Project, Zygote, a_project, asking

BARE = {"PATH": "/usr/bin:/bin", "TOOLS": "/nowhere"}
"""No oracle anywhere, and none that the login profile brings."""


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    made = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1))
    return replace(made, variables=dict(BARE))


def test_without_any_oracle_nothing_runs(project: Project) -> None:
    assert project.run().code == 2


@pytest.mark.parametrize("how", ["a flag", "a variable", "a path from here", "a name on PATH"])
def test_an_oracle_that_is_named_is_enough(project: Project, how: str) -> None:
    program = str(project.oracle.program)
    flags = ["--oracle-bin", program]
    if how == "a variable":
        flags, project.variables["ORACLEPACK_ORACLE_BIN"] = [], program
    elif how == "a path from here":
        flags = ["--oracle-bin", f"../{project.oracle.folder.name}/oracle"]
    elif how == "a name on PATH":
        other = project.oracle.folder / "my-oracle"
        other.write_bytes(Path(program).read_bytes())
        other.chmod(0o755)
        flags = ["--oracle-bin", "my-oracle"]
        project.variables["PATH"] = f"{project.oracle.folder}:{BARE['PATH']}"
        Path(program).rename(project.oracle.folder / "moved")

    ran = project.run(*flags)

    assert (ran.code, project.statuses()) == (0, ["ok"]), ran


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        pytest.param("/nowhere/oracle", "there is no such file", id="no such file"),
        pytest.param("./out", "it is a directory", id="a directory"),
        pytest.param("./pack.md", "it cannot be run", id="no program"),
        pytest.param("no-such-oracle", "there is no such program on PATH", id="no such name"),
    ],
)
@pytest.mark.parametrize("command", ["run", "pipeline", "doctor"])
def test_a_wrong_path_is_named(project: Project, command: str, path: str, fault: str) -> None:
    (project.root / "out").mkdir()
    words = [command] if command == "doctor" else [command, "pack.md"]

    ran = project.start(*words, "--oracle-bin", path).wait()

    assert ran.code == 2
    assert f"--oracle-bin {path}: {fault}" in ran.err
    assert not (project.root / ".oraclepack/runs").exists()


def test_a_wrong_variable_is_named_as_such(project: Project) -> None:
    ran = project.start("run", "pack.md", ORACLEPACK_ORACLE_BIN="/nowhere/oracle").wait()

    assert ran.code == 2
    assert "ORACLEPACK_ORACLE_BIN /nowhere/oracle: there is no such file" in ran.err


def test_a_rehearsal_needs_no_oracle(project: Project) -> None:
    flags = ("--oracle-bin", "/nowhere/oracle", "--engine", "rehearsal")

    assert project.run(*flags).code == 0


def test_doctor_says_how_to_correct_a_wrong_path(project: Project) -> None:
    ran = project.start("doctor", "--json", "--oracle-bin", "/nowhere/oracle").wait()

    (oracle,) = [one for one in ran.data["programs"] if one["name"] == "oracle"]
    assert oracle["fix"] == "correct --oracle-bin, or leave it out: then oracle is taken from PATH"


def test_doctor_looks_at_the_oracle_that_is_named(project: Project) -> None:
    ran = project.start("doctor", "--json", "--oracle-bin", str(project.oracle.program)).wait()

    (oracle,) = [one for one in ran.data["programs"] if one["name"] == "oracle"]
    assert (oracle["status"], oracle["version"]) == ("ok", "0.21.2")
    assert oracle["path"] == str(project.oracle.program)
