"""Who answers a call: the provider, from engine, model and address, and with which key.

The rules are those of oracle 0.21.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from oraclepack.system.digests import sha256_text
from oraclepack.system.printable import readable
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_models import ORACLE_MODELS, resolve_model
from oraclepack.tools.oracle_question import OracleQuestion, asks_a_model
from oraclepack.tools.tool_names import ORACLE

API, BROWSER = "api", "browser"
"""The engines; the second is also the provider of calls that go through a browser."""
OPENAI, OTHER = "openai", "other"
KEYS_OF = {
    "openai": ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
}
"""The variables that may hold the key of a provider."""
OF_TOOL = {"codex": "openai", "gemini": "google"}
"""The provider of each other tool, where there is only one."""

_NEUTRAL = frozenset(
    ("background", "filesReport", "heartbeatSeconds", "notify", "sessionRetentionHours")
)
_FAMILIES = (
    ("anthropic", re.compile(r"claude|sonnet|opus|haiku")),
    ("google", re.compile(r"gemini")),
    ("xai", re.compile(r"grok")),
    ("openai", re.compile(r"^(?:gpt|o\d|chatgpt|codex|\d)")),
)


def may_cost(tool: str, argv: Sequence[str]) -> bool:
    """Whether a call of a tool may have to be paid for."""
    if tool != ORACLE:
        return tool in OF_TOOL
    return asks_a_model(parse_argv(table_of(tool), argv), argv)


def engine_of(question: OracleQuestion, around: OracleContext) -> str:
    """`api` or `browser`, as the tool itself chooses."""
    chosen = chosen_engine(question, around)
    if chosen is not None:
        return chosen
    model = resolve_model((question.models or (model_of(question, around),))[0]) or ""
    has_azure = bool(azure_endpoint(question, around)) and vendor_of(model) in {OPENAI, OTHER}
    in_browser = model.startswith(("gpt-", "gemini"))
    return API if around.has_key or (has_azure and "/" not in model) or not in_browser else BROWSER


def keyed_engine(question: OracleQuestion, around: OracleContext) -> str:
    """The engine in the key of a question, as version 0.1 computed it: another one pays again."""
    return chosen_engine(question, around) or (API if around.has_key else BROWSER)


def chosen_engine(question: OracleQuestion, around: OracleContext) -> str | None:
    """The engine that a flag, a variable or the config names; None where oracle chooses."""
    if question.engine:
        return question.engine
    if question.flags.keys() & {"--provider", "--azure-endpoint", "--no-azure"}:
        return API
    by_variable = around.variables.get("ORACLE_ENGINE", "").strip().lower()
    if by_variable in {API, BROWSER}:
        return by_variable
    by_config = config_of(around).get("engine")
    return str(by_config) if by_config in {API, BROWSER} else None


def azure_endpoint(question: OracleQuestion, around: OracleContext) -> str:
    """The Azure endpoint that a flag, a variable or the config names; empty where none is used."""
    if "--no-azure" in question.flags or last_flag(question, "--provider") == OPENAI:
        return ""
    flag = last_flag(question, "--azure-endpoint")
    azure = config_of(around).get("azure")
    by_config = azure.get("endpoint") if isinstance(azure, dict) else None
    by_variable = around.variables.get("AZURE_OPENAI_ENDPOINT")
    given = flag if flag is not None else by_variable or by_config
    return given.strip() if isinstance(given, str) else ""


def vendor_of(model: str) -> str:
    """Whose model it is, by the name that oracle has resolved: `openai`, or `other`."""
    known = ORACLE_MODELS.get(model)
    if known is not None:
        return known.provider
    prefix = model.partition("/")[0]
    if "/" in model and prefix in {OPENAI, "anthropic", "google", "xai"}:
        return prefix
    families = {"claude": "anthropic", "gemini": "google", "grok": "xai"}
    return next((name for start, name in families.items() if model.startswith(start)), OTHER)


def last_flag(question: OracleQuestion, name: str) -> str | None:
    """The value of a flag that counts."""
    values = question.flags.get(name)
    return values[-1] if values else None


def model_of(question: OracleQuestion, around: OracleContext) -> str | None:
    """The model that is asked; None when the tool chooses."""
    if question.models:
        return readable(",".join(question.models))
    by_config = config_of(around).get("model")
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
    family = next((name for name, pattern in _FAMILIES if pattern.search(model)), None)
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


def config_of(around: OracleContext) -> dict[str, Any]:
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


AZURE, OPENROUTER, COMPATIBLE = "azure", "openrouter", "compatible"
OPENAI_ADDRESS = "https://api.openai.com/v1"
_NATIVE_HOSTS = (
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "api.x.ai",
)
_KEYS = {
    "gpt": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "claude": "ANTHROPIC_API_KEY",
    "grok": "XAI_API_KEY",
}
_ADDRESS_VARIABLES = {"anthropic": "ANTHROPIC_BASE_URL", "xai": "XAI_BASE_URL"}


class ApiRoute(msgspec.Struct, frozen=True):
    """The provider of a question that goes over an API."""

    provider: str
    keys: tuple[str, ...]
    """The variables that may hold its key; the first one that is set counts."""
    responses: str = ""
    """The address of OpenAI's Responses API; empty where oracle speaks another protocol."""

    def key(self, environment: Mapping[str, str]) -> str:
        """The key that oracle would send; empty where there is none."""
        return next((key for name in self.keys if (key := environment.get(name, "").strip())), "")


def environment_of(around: OracleContext, env: Mapping[str, str]) -> dict[str, str]:
    """What oracle finds in its environment: that of the call, and below it the `.env` file."""
    return {**around.dotenv, **env}


def api_route(
    question: OracleQuestion, model: str, around: OracleContext, environment: Mapping[str, str]
) -> ApiRoute:
    """The route of a question to one model, whose name oracle has resolved."""
    is_openai = "--no-azure" in question.flags or last_flag(question, "--provider") == OPENAI
    vendor, azure = vendor_of(model), azure_endpoint(question, around)
    forces_azure = last_flag(question, "--provider") == AZURE
    if azure and vendor in {OPENAI, OTHER} and (forces_azure or "/" not in model):
        keys = ("AZURE_OPENAI_API_KEY", "OPENAI_API_KEY")
        return ApiRoute(AZURE, keys, f"{azure.rstrip('/')}/openai/v1")
    is_qualified = "/" in model and not is_openai
    address = _address(question, around, environment, vendor, is_qualified=is_qualified)
    native = "OPENAI_API_KEY" if is_openai else _native_key(model, vendor)
    has_key = vendor != OTHER and bool(environment.get(native, "").strip())
    has_other = vendor == OTHER or bool(environment.get("OPENROUTER_API_KEY", "").strip())
    if not address and (is_qualified or (not (is_openai or has_key) and has_other)):
        return ApiRoute(OPENROUTER, ("OPENROUTER_API_KEY",))
    host = _host(address)
    if "openrouter.ai" in host:
        return ApiRoute(OPENROUTER, ("OPENAI_API_KEY",) if is_openai else ("OPENROUTER_API_KEY",))
    if host and not _is_native(host):
        return ApiRoute(COMPATIBLE, (native,))
    speaks_responses = vendor not in {"anthropic", "google"}
    return ApiRoute(vendor, (native,), (address or OPENAI_ADDRESS) if speaks_responses else "")


def _native_key(model: str, vendor: str) -> str:
    if "/" in model:
        return "OPENROUTER_API_KEY"
    by_name = next((key for start, key in _KEYS.items() if model.startswith(start)), None)
    return by_name or ("OPENROUTER_API_KEY" if vendor == OTHER else "OPENAI_API_KEY")


def _address(
    question: OracleQuestion,
    around: OracleContext,
    environment: Mapping[str, str],
    vendor: str,
    *,
    is_qualified: bool,
) -> str:
    """The base address that a flag, the config or the environment names; empty for oracle's own.

    A model named as `vendor/model` goes to OpenRouter, unless another host is named.
    """
    by_config = config_of(around).get("apiBaseUrl")
    given = last_flag(question, "--base-url") or (by_config if isinstance(by_config, str) else "")
    variable = environment.get(_ADDRESS_VARIABLES.get(vendor, "OPENAI_BASE_URL"), "").strip()
    if vendor == "xai" and not variable:
        variable = "https://api.x.ai/v1"
    for address in (given.strip(), variable):
        if address and not (is_qualified and _is_native(_host(address))):
            return address
    return ""


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_native(host: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in _NATIVE_HOSTS)
