"""Who answers a call: the provider, from engine, model and address."""

from typing import Any

import msgspec

from oraclepack.system.digests import sha256_text
from oraclepack.system.patterns import late_pattern
from oraclepack.system.printable import readable
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_question import OracleQuestion

BROWSER = "browser"
"""The provider of calls that go through a browser."""
OF_TOOL = {"codex": "openai", "gemini": "google"}
"""The provider of each other tool, where there is only one."""

_NEUTRAL = frozenset(
    ("background", "filesReport", "heartbeatSeconds", "notify", "sessionRetentionHours")
)
_FAMILIES = (
    ("anthropic", late_pattern(r"claude|sonnet|opus|haiku")),
    ("google", late_pattern(r"gemini")),
    ("xai", late_pattern(r"grok")),
    ("openai", late_pattern(r"^(?:gpt|o\d|chatgpt|codex|\d)")),
)


def engine_of(question: OracleQuestion, around: OracleContext) -> str:
    """`api` or `browser`, as the tool itself would choose."""
    if question.engine:
        return question.engine
    if question.flags.keys() & {"--provider", "--azure-endpoint", "--no-azure"}:
        return "api"
    by_variable = around.variables.get("ORACLE_ENGINE", "").strip().lower()
    if by_variable in {"api", "browser"}:
        return by_variable
    by_config = _config(around).get("engine")
    if by_config in {"api", "browser"}:
        return str(by_config)
    return "api" if around.has_key else "browser"


def model_of(question: OracleQuestion, around: OracleContext) -> str | None:
    """The model that is asked; None when the tool chooses."""
    if question.models:
        return readable(",".join(question.models))
    by_config = _config(around).get("model")
    given = question.model or (by_config if isinstance(by_config, str) else None)
    return readable(given) if given else None


def provider_of(question: OracleQuestion, around: OracleContext) -> str:
    """The provider whose limits apply to a call."""
    if engine_of(question, around) == BROWSER:
        return BROWSER
    base = (question.flags.get("--base-url") or (around.variables.get("OPENAI_BASE_URL", ""),))[-1]
    model = (model_of(question, around) or "gpt").split(",")[0].strip().lower()
    if "openrouter.ai" in base or "/" in model:
        return "openrouter"
    family = next((name for name, pattern in _FAMILIES if pattern().search(model)), None)
    return family or ("openai" if base else "openrouter")


def limit_name(question: OracleQuestion, provider: str) -> str:
    """What shares a limit: a provider, or one browser profile."""
    if provider != BROWSER:
        return provider
    flags = ("--browser-chrome-profile", "--browser-manual-login-profile-dir", "--remote-chrome")
    profile = "\0".join(value for flag in flags for value in question.flags.get(flag, ()))
    return f"browser-{sha256_text(profile)[:8]}" if profile else "browser"


def config_part(around: OracleContext) -> str | None:
    """What the config files bring into a key: a hash, since they may hold secrets."""
    texts = [_stripped(text) for text in around.configs]
    parts = [text for text in texts if text not in {"", "{}"}]
    return sha256_text("\0".join(parts)) if parts else None


def _config(around: OracleContext) -> dict[str, Any]:
    """The top of the merged config, as far as it can be read as JSON."""
    merged: dict[str, Any] = {}
    for text in around.configs:
        merged |= _decoded(text) or {}
    return merged


def _stripped(text: str) -> str:
    """A config without what never changes an answer; one we cannot read counts as a whole."""
    read = _decoded(text)
    if read is None:
        return text.strip()
    remaining = {key: value for key, value in read.items() if key not in _NEUTRAL}
    return msgspec.json.encode(remaining, order="sorted").decode()


def _decoded(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
