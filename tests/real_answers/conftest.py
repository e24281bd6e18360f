"""A project whose oracle is the real one, with a provider on loopback."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.run.conftest import zygote
from tests.e2e.run.project import Project, Zygote, a_project
from tests.provider import Provider
from tests.real.conftest import programs, provider
from tests.real.oracles import quick_start
from tests.scripted import Scripted

__all__ = ["programs", "provider", "zygote"]


@pytest.fixture
def project(programs: Path, provider: Provider, tmp_path: Path, zygote: Zygote) -> Project:
    made = a_project(tmp_path, zygote)
    variables = {
        "ORACLE_HOME_DIR": str(tmp_path / "oracle-home"),
        "OPENAI_API_KEY": "sk-loopback",
        "BASE_URL": provider.base_url,
        "ORACLEPACK_RETRY_BASE_SECONDS": "0.05",
        **quick_start(programs),
    }
    return replace(made, oracle=Scripted(programs / "oracle"), variables=variables)
