"""What stands around a call of oracle and takes part in its answer: variables and config files."""

from collections.abc import Mapping, Sequence

import msgspec

from oraclepack.system.text_limits import regex

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

_HOSTS = frozenset(
    (
        "ANTHROPIC_BASE_URL",
        "AZURE_OPENAI_ENDPOINT",
        "GEMINI_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_VERTEX_BASE_URL",
        "OPENAI_BASE_URL",
        "OPENROUTER_BASE_URL",
        "XAI_BASE_URL",
    )
)
"""Where requests go, and with them the key."""
_PROGRAMS = frozenset(
    (
        "BASH_ENV",
        "BROWSER",
        "CHROME_PATH",
        "NODE_EXTRA_CA_CERTS",
        "NODE_OPTIONS",
        "NODE_PATH",
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "NODE_USE_ENV_PROXY",
    )
)
"""What oracle, Node or the browser would start, load or believe."""
_PROGRAM_PREFIXES = ("DYLD_", "GIT_", "LD_", "PUPPETEER_")
_HARMLESS = frozenset(
    (
        "ORACLE_BROWSER_APPROVAL_WAIT",
        "ORACLE_BROWSER_ATTACHMENT_TIMEOUT",
        "ORACLE_DISABLE_NOTIFICATIONS",
        "ORACLE_ENGINE",
        "ORACLE_MAX_FILE_SIZE_BYTES",
        "ORACLE_MIN_PROMPT_CHARS",
        "ORACLE_NOTIFY",
        "ORACLE_NOTIFY_SOUND",
        "ORACLE_VERBOSE_RENDER",
    )
)
"""Of oracle's own variables; the others name its home, a module to load, hosts, ports, cookies."""
_LINE_ENDS = regex("[\\n\\r\\u2028\\u2029]")
_ASSIGNED = regex("([A-Za-z0-9_.-]+)[\\s\\ufeff]*[=:]")

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


def steering_variables(dotenv: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables by which a `.env` would steer oracle: to another host, or to a program.

    Those that are in the environment do not count, since oracle lets them win. The text is not
    parsed: oracle's reader takes more spellings than ours, such as `NAME: value`, so every name
    before a sign of assignment counts, unless its line is a comment.
    """
    lines = (line.lstrip(" \t\ufeff") for line in _LINE_ENDS.split(dotenv))
    names = {name for line in lines if not line.startswith("#") for name in _ASSIGNED.findall(line)}
    return tuple(sorted(name for name in names if _steers(name) and name not in env))


def _steers(name: str) -> bool:
    if name.startswith("ORACLE_"):
        return name not in _HARMLESS
    is_proxy = name.upper().endswith("_PROXY")
    return is_proxy or name in _HOSTS | _PROGRAMS or name.startswith(_PROGRAM_PREFIXES)
