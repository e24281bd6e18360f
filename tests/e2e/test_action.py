"""The scripts of the GitHub Action and of the container. Docker itself is not used."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.doctor import NEEDS

ROOT = Path(__file__).parents[2]
GOOD = "# p\n\n```bash\n# 01) one\ntrue\n```\n"
BAD = "# p\n\nno bash\n"
FAKE = '#!/usr/bin/env bash\nprintf "%s\\n" "$#" "$@" >>"$CALLS"\nexit "${CODE:-0}"\n'


def acted(
    folder: Path, variables: dict[str, str], *, real: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run the action's script in a folder, with a program that only records how it is called."""
    tools = Path(sys.executable).parent
    if not real:
        tools = folder / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "oraclepack").write_text(FAKE)
        (tools / "oraclepack").chmod(0o755)
    env = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(folder),
        "CALLS": str(folder / "calls"),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    return subprocess.run(
        ["bash", str(ROOT / ".ci/action")],
        cwd=folder,
        env=env | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def calls(folder: Path) -> list[list[str]]:
    lines = (folder / "calls").read_text().splitlines()
    found = []
    while lines:
        count = int(lines.pop(0))
        found.append(lines[:count])
        del lines[:count]
    return found


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, [["validate", "--format", "github", "--", "."]], id="nothing given"),
        pytest.param(
            {"PACKS": "a b.md\n\n-c.md\n", "PACKS_STRICT": "true"},
            [["validate", "--format", "github", "--strict", "--", "a b.md", "-c.md"]],
            id="names with blanks and dashes",
        ),
        pytest.param(
            {"PACKS_MODE": "rehearse", "PACKS": "a.md\nb.md"},
            [
                ["pipeline", "--engine", "rehearsal", "--ci", "--", "a.md"],
                ["pipeline", "--engine", "rehearsal", "--ci", "--", "b.md"],
            ],
            id="each pack is rehearsed",
        ),
        pytest.param(
            {"PACKS_MODE": "run", "PACKS": "a.md", "PACKS_MAX_COST": "2.50"},
            [
                [
                    "pipeline",
                    "--ci",
                    "--engine",
                    "api",
                    "--report",
                    "--max-cost",
                    "2.50",
                    "--",
                    "a.md",
                ]
            ],
            id="a run with its limit",
        ),
        pytest.param(
            {"PACKS": "$(touch hacked)\n`touch hacked`; touch hacked"},
            [
                [
                    *("validate", "--format", "github", "--"),
                    *("$(touch hacked)", "`touch hacked`; touch hacked"),
                ]
            ],
            id="text of a pull request is not run",
        ),
    ],
)
def test_inputs_become_arguments(
    tmp_path: Path, variables: dict[str, str], expected: list[list[str]]
) -> None:
    done = acted(tmp_path, variables)

    assert done.returncode == 0, done.stderr
    assert calls(tmp_path) == expected
    assert (tmp_path / "output").read_text() == "exit-code=0\n"
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        pytest.param({"PACKS_MODE": "run"}, "run needs max-cost", id="a run without a limit"),
        pytest.param({"PACKS_MODE": "run", "PACKS_MAX_COST": "5; ls"}, "max-cost", id="no number"),
        pytest.param({"PACKS_MODE": "delete"}, "mode is check", id="no such mode"),
        pytest.param({"PACKS_STRICT": "maybe"}, "strict is true or false", id="no boolean"),
        pytest.param({"PACKS": " \n"}, "no packs are given", id="no packs"),
    ],
)
def test_wrong_inputs_run_nothing(tmp_path: Path, variables: dict[str, str], reason: str) -> None:
    done = acted(tmp_path, variables)

    assert (done.returncode, reason in done.stderr) == (2, True)
    assert (tmp_path / "output").read_text() == "exit-code=2\n"
    assert not (tmp_path / "calls").exists()


def test_the_last_failure_is_the_exit_code(tmp_path: Path) -> None:
    given = {"PACKS_MODE": "rehearse", "PACKS": "a.md", "CODE": "5"}

    assert acted(tmp_path, given).returncode == 5
    assert (tmp_path / "output").read_text() == "exit-code=5\n"


def test_the_real_program_checks_packs(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text(GOOD)
    (tmp_path / "bad.md").write_text(BAD)

    assert acted(tmp_path, {"PACKS": "good.md"}, real=True).returncode == 0
    refused = acted(tmp_path, {"PACKS": "good.md\nbad.md"}, real=True)
    assert (refused.returncode, "::error file=bad.md" in refused.stdout) == (2, True)


def test_the_action_passes_inputs_as_variables_only() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    script = (ROOT / ".ci/action").read_text()
    declared = re.findall(r"^  ([\w-]+):\n    description", text.split("outputs:")[0], re.MULTILINE)
    variables = re.findall(r"^        (PACKS\w*): ", text, re.MULTILINE)

    assert [line for line in text.splitlines() if "run:" in line and "${{" in line] == []
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(declared)
    assert len(variables) == 4
    assert [name for name in variables if name not in script] == []


def installing() -> list[str]:
    """The commands of the action and of the examples that install the program."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("action.yml", "docs/ci.md")]
    return [line for text in texts for line in re.findall(r"python .*-m pip .*", text)]


def test_no_module_of_the_repository_is_imported(tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("open('taken', 'w')\n")
    env = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PIP_NO_INDEX": "1"}

    for line in installing():
        subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, check=False
        )

    assert len(installing()) == 5
    assert not (tmp_path / "taken").exists()


def test_the_image_copies_files_that_exist() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY")]
    copied = [name for names in copies if "--from=node" not in names for name in names]

    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert "USER packs" in lines


def test_the_image_has_a_node_that_starts_oracle() -> None:
    text = (ROOT / "Dockerfile").read_text()
    (major,) = re.findall(r"^FROM node:(\d+)\S* AS node$", text, re.MULTILINE)
    (oldest,) = (need.oldest for need in NEEDS if need.name == "node")

    assert int(major) >= oldest[0]
    assert "COPY --from=node /usr/local/bin/node /usr/local/bin/node" in text
    assert "nodejs" not in text


def test_the_container_runs_the_program_in_a_mounted_project(tmp_path: Path) -> None:
    (tmp_path / "oraclepack").write_text(FAKE)
    (tmp_path / "oraclepack").chmod(0o755)
    subprocess.run(["git", "init", "-q", str(tmp_path / "project")], check=True)
    env = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CALLS": str(tmp_path / "calls"),
        "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1",
    }
    subprocess.run(
        ["bash", str(ROOT / ".ci/container-entry"), "validate", "a b.md"],
        cwd=tmp_path / "project",
        env=env,
        check=True,
    )

    assert calls(tmp_path) == [["validate", "a b.md"]]
    assert str(tmp_path / "project") in (tmp_path / ".gitconfig").read_text()


HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "is_checked"),
    [
        pytest.param("oracle-pack-2026-01-09.md", True, id="a dated pack"),
        pytest.param("docs/oracle-questions/oracle-pack.md", True, id="in a folder"),
        pytest.param(".oraclepack/ticketify/ticket-action-pack.md", True, id="of tickets"),
        pytest.param("pack.md", True, id="bare"),
        pytest.param("docs/review_pack.md", True, id="with an underscore"),
        pytest.param("oraclepack.md", True, id="in one word"),
        pytest.param("docs/package.md", False, id="another word"),
        pytest.param("docs/packaging.md", False, id="a longer word"),
        pytest.param("unpack.md", False, id="a word that ends so"),
        pytest.param("packs/README.md", False, id="the folder alone"),
        pytest.param("pack.md.txt", False, id="no Markdown"),
    ],
)
def test_the_hook_looks_at_packs(name: str, is_checked: object) -> None:
    (pattern,) = re.findall(r"^  files: (.+)$", HOOKS, re.MULTILINE)

    assert bool(re.search(pattern, name)) is is_checked
