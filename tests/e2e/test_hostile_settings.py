"""A clone whose settings would lead a run elsewhere, or hide that it failed: without effect."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import oraclepack
from tests.packs import pack_text

STEPS = """\
# 01) ask
oracle --engine api -p 'Why is it so?' --write-output a.md
# 02) fail
false
"""
FLAGS = (
    "--base-url=http://elsewhere.invalid/v1",
    "--browser-chrome-path=./theirs",
    "--file=~/.ssh/id_rsa",
    "--remote-host=elsewhere.invalid:1",
)
TOML = f"""\
oracle_bin = "./theirs"
oracle_flag = [{", ".join(f'"{flag}"' for flag in FLAGS)}, "--model=gpt-5.1"]
override = [{", ".join(f'"01:{flag}"' for flag in FLAGS)}]
ci = true
keep_going = true
min_completion = 0
validate = false
output_verify = false
max_parallel = 64
retry_budget = 1000000
"""
DOTENV = f"""\
ORACLEPACK_ORACLE_BIN=./theirs
ORACLEPACK_ORACLE_FLAG={FLAGS[0]}
ORACLEPACK_OVERRIDE=01:{FLAGS[0]}
ORACLEPACK_CI=1
ORACLEPACK_MIN_COMPLETION=0
ORACLEPACK_VALIDATE=0
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("oraclepack.toml", TOML),
        ("pyproject.toml", "[tool.oraclepack]\n" + TOML),
        (".env", DOTENV),
    ],
)
def test_the_settings_of_a_clone_lead_nowhere(tmp_path: Path, name: str, text: str) -> None:
    project, programs = tmp_path / "project", tmp_path / "bin"
    (project / ".git").mkdir(parents=True)
    programs.mkdir()
    (project / "pack.md").write_text(pack_text(STEPS))
    (project / name).write_text(text)
    for tool, said in (
        (programs / "oracle", tmp_path / "argv"),
        (project / "theirs", tmp_path / "ran"),
    ):
        tool.write_text(f"#!/bin/sh\necho \"$@\" >>'{said}'\nexit 1\n")
        tool.chmod(0o755)

    ran = oraclepack(project, "run", "pack.md", PATH=f"{programs}:{os.environ['PATH']}")

    called = (tmp_path / "argv").read_text()
    assert not (tmp_path / "ran").exists()
    assert not [flag for flag in FLAGS if flag.partition("=")[0] in called]
    assert ("--model=gpt-5.1" in called) is (name != ".env")
    assert ran.code == 3
    place = f"{name}: {'ORACLEPACK_ORACLE_BIN' if name == '.env' else 'oracle_bin'}"
    assert ran.err.count(f"warning: {place}: ignored") == 1
    assert ran.err.count("a project may not set --base-url") == 2


def test_a_clone_does_not_stop_validation(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\nif true; then\n"))
    (tmp_path / "oraclepack.toml").write_text("validate = false\n")

    ran = oraclepack(tmp_path, "run", "pack.md")

    assert ran.code == 2
    assert "oraclepack.toml: validate: ignored: false is less strict" in ran.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("oraclepack.toml", 'lint.ignore = ["OP"]\n', id="every rule left out"),
        pytest.param("oraclepack.toml", 'lint.select = ["OP301"]\n', id="one rule chosen"),
        pytest.param(".env", "ORACLEPACK_LINT_IGNORE=OP\n", id="in .env"),
    ],
)
@pytest.mark.parametrize(
    ("words", "steps", "rule"),
    [
        pytest.param(["validate"], "# 01) x\nif true; then\n", "OP101|OP20", id="errors"),
        pytest.param(["validate", "--strict"], "# 01) x\ntrue\n", "OP310", id="--strict"),
    ],
)
def test_a_clone_hides_no_errors(
    tmp_path: Path, name: str, text: str, words: list[str], steps: str, rule: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pack.md").write_text(pack_text(steps))
    (tmp_path / name).write_text(text)

    ran = oraclepack(tmp_path, *words, "pack.md")

    assert ran.code == 2
    assert re.search(rule, ran.out)


def test_a_project_leaves_warnings_out(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"))
    (tmp_path / "oraclepack.toml").write_text('lint.ignore = ["OP3"]\n')

    ran = oraclepack(tmp_path, "validate", "pack.md")

    assert (ran.code, "OP3" in ran.out) == (0, False)


def test_a_home_in_the_project_lends_the_repository_no_settings_of_the_users(
    tmp_path: Path,
) -> None:
    place = tmp_path / ".config/oraclepack/config.toml"
    place.parent.mkdir(parents=True)
    place.write_text("allow_project_programs = true\n")
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)

    ran = oraclepack(tmp_path, "config", "show", HOME=str(tmp_path), XDG_CONFIG_HOME="")

    assert ran.code == 2
    assert "it came with the project" in ran.err
