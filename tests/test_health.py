import os
from pathlib import Path

import pytest

from oraclepack.doctor import (
    Need,
    Presence,
    ProgramProbe,
    judge,
    judge_login,
    provider_keys,
    usable,
    version_in,
)
from oraclepack.tools.oracle_config import lacks_space

NEED = Need("node", ("node",), "nothing starts", "install it", oldest=(24,), required=True)


@pytest.mark.parametrize(
    ("seen", "status", "problem"),
    [
        pytest.param(ProgramProbe("/n", "v24.1.0\n"), Presence.OK, "", id="fine"),
        pytest.param(ProgramProbe("/n", "v20.1.0"), Presence.OLD, "older than 24", id="old"),
        pytest.param(ProgramProbe(None), Presence.MISSING, "not found on PATH", id="missing"),
        pytest.param(ProgramProbe("/n", "?"), Presence.FAILED, "does not print", id="no version"),
        pytest.param(
            ProgramProbe("/n", "", "no answer in 1 s"), Presence.FAILED, "no answer", id="hung"
        ),
    ],
)
def test_verdicts(seen: ProgramProbe, status: Presence, problem: str) -> None:
    check = judge(NEED, seen)

    assert check.status is status
    assert problem in check.problem
    assert (check.fix == "") is (status is Presence.OK)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("GNU bash, version 5.2.15(1)-release", "5.2.15"),
        ("git version 2.39.5", "2.39.5"),
        ("codex-cli 0.166.0-alpha.1", "0.166.0-alpha.1"),
        ("no digits", None),
        ("7", None),
    ],
)
def test_versions_in_answers(answer: str, version: str | None) -> None:
    assert version_in(answer) == version


def test_a_slow_profile_is_advised_about() -> None:
    assert judge_login(250_000_000, 5_000_000).slow
    assert judge_login(250_000_000, 5_000_000).advice
    assert judge_login(50_000_000, 5_000_000).advice == ""


def test_only_what_is_required_makes_the_machine_unusable() -> None:
    optional = Need("codex", ("codex",), "", "")
    bash = Need("bash", ("bash",), "", "", required=True)

    assert usable((judge(optional, ProgramProbe(None)),))
    assert not usable((judge(bash, ProgramProbe(None)),))


def test_the_room_in_the_home_of_oracle_is_looked_at(tmp_path: Path) -> None:
    env = {"ORACLE_HOME_DIR": str(tmp_path / "not/yet/there")}

    assert lacks_space(env, least=0) == ""
    assert f"{tmp_path}/not/yet/there has " in lacks_space(env, least=1 << 60)


def test_keys_are_found_where_a_step_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("XAI_API_KEY", "")
    (tmp_path / ".env").write_text("GOOGLE_API_KEY=k\nANTHROPIC_API_KEY=\n")
    Path(os.environ["HOME"], ".bash_profile").write_text("export OPENROUTER_API_KEY=k\n")

    found = {one.provider: one.found for one in provider_keys(tmp_path)}

    assert found == {
        "openai": "OPENAI_API_KEY",
        "google": "GOOGLE_API_KEY",
        "anthropic": None,
        "xai": None,
        "openrouter": "OPENROUTER_API_KEY",
    }
