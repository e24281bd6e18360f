"""Oracle's own files around a call: its home, its config files, the `.env` beside the call."""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import takewhile
from pathlib import Path

import msgspec

from oraclepack.system import disk, files
from oraclepack.system.programs import find_program, probe

_PACKAGE = "@steipete/oracle"


def version_of_oracle(program: str = "") -> str | None:
    """The version of the oracle that would be called; None when it is unknown."""
    path = program or find_program("oracle")
    if path is None:
        return None
    if version := _from_package(Path(path)):
        return version
    answer = probe([path, "--version"], timeout=5.0)
    words = answer.answer.split() if answer.exit_code == 0 else []
    return next((word for word in words if word[:1].isdigit()), None)


def _from_package(program: Path) -> str | None:
    import json

    try:
        place = program.resolve(strict=True)
        for folder in place.parents:
            manifest = folder / "package.json"
            if manifest.is_file():
                package = json.loads(manifest.read_text(encoding="utf-8"))
                is_oracle = isinstance(package, dict) and package.get("name") == _PACKAGE
                return str(package["version"]) if is_oracle and "version" in package else None
    except (OSError, ValueError):
        return None
    return None


VARIABLES = (
    *("ANTHROPIC_BASE_URL", "AZURE_OPENAI_API_VERSION", "AZURE_OPENAI_DEPLOYMENT"),
    *("AZURE_OPENAI_ENDPOINT", "GEMINI_BASE_URL", "OPENAI_BASE_URL", "OPENROUTER_BASE_URL"),
    *("ORACLE_BROWSER_PROFILE_DIR", "ORACLE_ENGINE", "ORACLE_MAX_FILE_SIZE_BYTES"),
    *("ORACLE_REMOTE_HOST", "XAI_BASE_URL"),
)
"""Variables of the environment or `.env` that change an answer."""

_HOSTS = frozenset(
    (
        *("ANTHROPIC_BASE_URL", "AZURE_OPENAI_ENDPOINT", "GEMINI_BASE_URL"),
        *("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "OPENAI_BASE_URL"),
        *("OPENROUTER_BASE_URL", "XAI_BASE_URL"),
    )
)
"""Where requests go, and with them the key."""
_PROGRAMS = frozenset(
    (
        *("BASH_ENV", "BROWSER", "CHROME_PATH", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS"),
        *("NODE_PATH", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_USE_ENV_PROXY"),
    )
)
"""What oracle, Node or the browser would start, load or trust."""
_PROGRAM_PREFIXES = ("DYLD_", "GIT_", "LD_", "PUPPETEER_")
_HARMLESS = frozenset(
    (
        *("ORACLE_BROWSER_APPROVAL_WAIT", "ORACLE_BROWSER_ATTACHMENT_TIMEOUT"),
        *("ORACLE_DISABLE_NOTIFICATIONS", "ORACLE_ENGINE", "ORACLE_MAX_FILE_SIZE_BYTES"),
        *("ORACLE_MIN_PROMPT_CHARS", "ORACLE_NOTIFY", "ORACLE_NOTIFY_SOUND"),
        "ORACLE_VERBOSE_RENDER",
    )
)
"""Of oracle's own variables; the others name its home, a module to load, hosts, ports, cookies."""
_LINE_ENDS = "[\\n\\r\\u2028\\u2029]"
_ASSIGNED = "([A-Za-z0-9_.-]+)[\\s\\ufeff]*[=:]"

KEYS = ("OPENAI_API_KEY", "OPENROUTER_API_KEY")
"""With one of these set the tool chooses the API by itself, else the browser."""


class OracleContext(msgspec.Struct, frozen=True):
    """The configuration around a call that affects its answer."""

    variables: Mapping[str, str] = {}
    """Of `VARIABLES`, those that are set, whether in the environment or in `.env`."""
    has_key: bool = False
    configs: Sequence[str] = ()
    """The texts of the tool's config files, the strongest last."""
    dotenv: Mapping[str, str] = {}
    """All that `.env` says: what is secret in it must not be written down."""


def oracle_context(
    env: Mapping[str, str], dotenv: Mapping[str, str], configs: Sequence[str]
) -> OracleContext:
    """From an environment, the `.env` beside the call (which is weaker), and config files."""
    merged = {**dotenv, **env}
    return OracleContext(
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
    lines = (line.lstrip(" \t\ufeff") for line in re.split(_LINE_ENDS, dotenv))
    names = {
        name for line in lines if not line.startswith("#") for name in re.findall(_ASSIGNED, line)
    }
    return tuple(sorted(name for name in names if _steers(name) and name not in env))


def _steers(name: str) -> bool:
    if name.startswith("ORACLE_"):
        return name not in _HARMLESS
    is_proxy = name.upper().endswith("_PROXY")
    return is_proxy or name in _HOSTS | _PROGRAMS or name.startswith(_PROGRAM_PREFIXES)


LEAST_FREE = 64 << 20
"""Bytes. oracle writes what is asked and answered to its home; where it cannot, it fails after the
answer was paid for."""
_CONFIG = "config.json"
_LARGEST = 1024 * 1024
_PROJECT_CONFIG = Path(".oracle", _CONFIG)


def oracle_home(env: Mapping[str, str]) -> Path:
    """Where oracle keeps its config and sessions."""
    named = env.get("ORACLE_HOME_DIR")
    return Path(named) if named else _user_home(env) / ".oracle"


def lacks_space(env: Mapping[str, str], least: int = LEAST_FREE) -> str:
    """Why oracle could not keep its session records; empty where its home has room for them."""
    home = oracle_home(env)
    place = next((one for one in (home, *home.parents) if one.is_dir()), home)
    free = disk.free_bytes(place)
    if free is None or free >= least:
        return ""
    mebibyte = 1 << 20
    needed = f"oracle needs {least // mebibyte} MiB for its records"
    return f"{home} has {free // mebibyte} MiB free, and {needed}"


def around_call(cwd: str, env: Mapping[str, str]) -> OracleContext:
    """The configuration that affects the answer of a call made here. Raises InputError."""
    places = (oracle_home(env) / _CONFIG, *_project_configs(Path(cwd), env))
    texts = [
        data.decode("utf-8", "replace") for place in places if (data := files.read(place, _LARGEST))
    ]
    return oracle_context(env, read_dotenv(Path(cwd)), texts)


def steering_of(cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables by which the `.env` beside a call would steer oracle. Raises InputError."""
    data = files.read(Path(cwd) / ".env", _LARGEST) or b""
    return steering_variables(data.decode("utf-8", "replace"), env)


def _user_home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


def _project_configs(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    """From the working directory up to the user's home, the nearest last: it wins."""
    usual, home = oracle_home(env) / _CONFIG, _user_home(env)
    upwards = takewhile(lambda folder: folder != home, (cwd, *cwd.parents))
    configs = [folder / _PROJECT_CONFIG for folder in upwards]
    return [path for path in reversed(configs) if path != usual and path.is_file()]


def read_dotenv(cwd: Path) -> dict[str, str]:
    """What the `.env` in a directory says. Raises InputError."""
    data = files.read(cwd / ".env", _LARGEST)
    if not data:
        return {}
    # Few projects have such a file; the others do not pay for the import.
    from dotenv import dotenv_values

    text = StringIO(data.decode("utf-8", "replace"))
    read = dotenv_values(stream=text, interpolate=False)
    return {name: value for name, value in read.items() if value is not None}


PREFIXES = (
    *("ANTHROPIC_", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_OPENAI_", "CLAUDE_", "CODEX_"),
    *("DEEPSEEK_", "GEMINI_", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("GOOGLE_GEMINI_", "GOOGLE_GENAI_", "GOOGLE_VERTEX_", "GROQ_", "MISTRAL_", "OLLAMA_"),
    *("OPENAI_", "OPENROUTER_", "ORACLE_BROWSER_", "ORACLE_HOME_DIR", "ORACLE_REMOTE_"),
    *("PERPLEXITY_", "VERTEX_", "XAI_"),
)
"""How their names begin; not `ORACLE_` alone, which belongs to a database as well."""


def gives_access(name: str) -> bool:
    """Whether a variable holds the key, the endpoint or the login of some provider."""
    return name.startswith(PREFIXES) or name.endswith("_API_KEY")
