"""What stands around a call of oracle and takes part in its answer: variables and config files."""

from collections.abc import Mapping, Sequence

import msgspec

VARIABLES = (
    "ANTHROPIC_BASE_URL",
    "AZURE_OPENAI_API_VERSION",
    "AZURE_OPENAI_DEPLOYMENT",
    "AZURE_OPENAI_ENDPOINT",
    "GEMINI_BASE_URL",
    "OPENAI_BASE_URL",
    "OPENROUTER_BASE_URL",
    "ORACLE_BROWSER_PROFILE_DIR",
    "ORACLE_ENGINE",
    "ORACLE_MAX_FILE_SIZE_BYTES",
    "ORACLE_REMOTE_HOST",
    "XAI_BASE_URL",
)
"""What the environment or `.env` may say that changes an answer."""

KEYS = ("OPENAI_API_KEY", "OPENROUTER_API_KEY")
"""With one of these set the tool chooses the API by itself, else the browser."""


class Surroundings(msgspec.Struct, frozen=True):
    """What stands around a call and takes part in its answer."""

    variables: Mapping[str, str] = {}
    """Of `VARIABLES`, those that are set, whether in the environment or in `.env`."""
    has_key: bool = False
    configs: Sequence[str] = ()
    """The texts of the tool's config files, the strongest last."""
    dotenv: Mapping[str, str] = {}
    """All that `.env` says: what is secret in it must not be written down."""


def surroundings(
    env: Mapping[str, str], dotenv: Mapping[str, str], configs: Sequence[str]
) -> Surroundings:
    """From an environment, the `.env` beside the call (which is weaker), and config files."""
    merged = {**dotenv, **env}
    return Surroundings(
        variables={name: merged[name] for name in VARIABLES if merged.get(name)},
        has_key=any(merged.get(name) for name in KEYS),
        configs=tuple(configs),
        dotenv=dotenv,
    )
