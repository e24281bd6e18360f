"""Our variables in the environment. Nothing else in the program reads it for settings."""

import os

from oraclepack.core.setting import PREFIX
from oraclepack.core.settings import CONFIG_VARIABLE

NO_COLOR = "NO_COLOR"
COMPLETION_VARIABLE = "_ORACLEPACK_COMPLETE"


def own_variables() -> dict[str, str]:
    """Our own variables, and the two foreign ones that concern the screen."""
    wanted = (NO_COLOR, "TERM")
    return {k: v for k, v in os.environ.items() if k.startswith(PREFIX) or k in wanted}


def hand_on(name: str, value: str) -> None:
    """Set one of our variables for the rest of this process and for what it starts."""
    os.environ[name] = value


def is_completing() -> bool:
    """The shell asks for completions; there is no command to run."""
    return COMPLETION_VARIABLE in os.environ


def named_user_file() -> str | None:
    """The user's own config file, where a variable names it."""
    return os.environ.get(CONFIG_VARIABLE) or None
