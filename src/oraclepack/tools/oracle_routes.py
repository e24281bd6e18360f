"""Where oracle sends a question over an API, and with which key; the rules are oracle 0.21's."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.providers import (
    OPENAI,
    OTHER,
    azure_endpoint,
    config_of,
    last_flag,
    vendor_of,
)

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
