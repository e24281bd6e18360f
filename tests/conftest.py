"""Every test lives in a home of its own, with none of our variables set."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home: the real one is neither read nor written."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    for name, place in (
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_CACHE_HOME", ".cache"),
    ):
        monkeypatch.setenv(name, str(folder / place))
    for name in list(os.environ):
        if name.startswith(("ORACLEPACK_", "_ORACLEPACK_")) or name == "NO_COLOR":
            monkeypatch.delenv(name)
    return folder
