"""Where the files of one person are kept, as platformdirs would tell.

On Linux one variable or the home directory decides, and every command asks; the library takes as
long to load as a tenth of a short command. Whatever is unusual there, and other systems, are left
to it.
"""

import os
import sys
from pathlib import Path

_NAME = "oraclepack"


def config_directory() -> Path:
    """For settings."""
    return _usual("XDG_CONFIG_HOME", ".config") or _told("user_config_path")


def state_directory() -> Path:
    """For what outlives a run and is nobody's to edit."""
    return _usual("XDG_STATE_HOME", ".local/state") or _told("user_state_path")


def _usual(variable: str, below_home: str) -> Path | None:
    named = os.environ.get(variable, "")
    if named.startswith("/"):
        return Path(named) / _NAME
    home = os.environ.get("HOME", "")
    if sys.platform == "linux" and home.startswith("/") and "ANDROID_DATA" not in os.environ:
        return Path(home) / below_home / _NAME
    return None


def _told(question: str) -> Path:
    import platformdirs  # noqa: PLC0415 - see above

    answer: Path = getattr(platformdirs, question)(_NAME, appauthor=False)
    return answer
