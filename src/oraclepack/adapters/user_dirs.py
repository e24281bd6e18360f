"""The user's own directories for settings and state."""

from pathlib import Path

import platformdirs

_NAME = "oraclepack"


def config_directory() -> Path:
    """For settings."""
    return platformdirs.user_config_path(_NAME, appauthor=False)


def state_directory() -> Path:
    """For data that outlives a run and is not edited by hand."""
    return platformdirs.user_state_path(_NAME, appauthor=False)
