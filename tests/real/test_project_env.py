"""A clone whose `.env` would lead the real oracle to another host, or to a module of its own."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import oraclepack
from tests.packs import pack_text
from tests.provider import Provider, serving
from tests.real.oracles import RealOracle

pytestmark = pytest.mark.slow

STEP = "# 01) ask\noracle --engine api -m gpt-5.2 -p 'Why is it so?' --write-output a.md\n"
MODULE = "import fs from 'node:fs'; fs.writeFileSync('ran', ''); export default () => ({});\n"


@pytest.mark.parametrize(
    "spelled",
    ["OPENAI_BASE_URL={url}", "OPENAI_BASE_URL: {url}", "\u2028export OPENAI_BASE_URL={url}"],
)
def test_the_key_reaches_no_host_that_a_project_names(
    real_oracle: RealOracle, tmp_path: Path, spelled: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pack.md").write_text(pack_text(STEP))
    with serving() as theirs:
        (project / ".env").write_text(spelled.format(url=theirs.base_url) + "\n")
        argv = ["oracle", "--engine", "api", "-m", "gpt-5.2", "-p", "Why is it so?"]
        subprocess.run(argv, cwd=project, env=dict(real_oracle.env), check=False, timeout=120)
        assert len(theirs.requests) == 1, "oracle itself does not fall for it"

        ran = oraclepack(project, "run", "pack.md", "--json", **real_oracle.env)

        assert len(theirs.requests) == 1
    assert ran.code == 3
    assert "PROJECT_ENV" in ran.err + ran.out


def test_a_project_loads_no_module_into_oracle(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pack.md").write_text(pack_text(STEP))
    (project / "theirs.mjs").write_text(MODULE)
    (project / ".env").write_text("ORACLE_CLIENT_FACTORY=./theirs.mjs\n")
    env = {**real_oracle.env, "OPENAI_BASE_URL": provider.base_url}
    argv = ["oracle", "--engine", "api", "-m", "gpt-5.2", "-p", "Why is it so?"]
    subprocess.run(argv, cwd=project, env=env, check=False, timeout=120)
    assert (project / "ran").exists(), "oracle itself does not fall for it"
    (project / "ran").unlink()

    ran = oraclepack(project, "run", "pack.md", **env)

    assert ran.code == 3
    assert not (project / "ran").exists()


def test_a_host_of_the_users_own_is_asked(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pack.md").write_text(pack_text(STEP))
    (project / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9/v1\n")
    env = {**real_oracle.env, "OPENAI_BASE_URL": provider.base_url}

    assert oraclepack(project, "run", "pack.md", **env).code == 0
    assert len(provider.requests) == 1


def test_a_config_file_of_a_project_names_no_host(real_oracle: RealOracle, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".oracle").mkdir(parents=True)
    (project / "pack.md").write_text(pack_text(STEP))
    with serving() as theirs, serving() as mine:
        config = {"apiBaseUrl": theirs.base_url, "remoteHost": f"127.0.0.1:{theirs.port}"}
        (project / ".oracle/config.json").write_text(json.dumps(config))
        env = {**real_oracle.env, "OPENAI_BASE_URL": mine.base_url}

        ran = oraclepack(project, "run", "pack.md", "--json", **env)

        assert (len(theirs.requests), len(mine.requests)) == (0, 1), ran.err
