"""The engine `direct`: a call of oracle is asked by ourselves over HTTP, without Node.

The request is a file in the folder of the call; `ask_direct.py` is the program that sends it. It
prints and records what oracle would, so that a call is gated, waited for, adopted and judged in
the same way whichever program asks.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from oraclepack.engines import http
from oraclepack.engines.dialects import Dialect, Layout, Question
from oraclepack.errors import InputError, Refusal
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import read_content
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_models import api_name
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.providers import (
    AZURE,
    COMPATIBLE,
    OPENROUTER,
    ApiRoute,
    config_of,
    last_flag,
    vendor_of,
)

KEY_VARIABLE = "ORACLEPACK_DIRECT_KEY"
"""Carries the provider's key to the program that asks; the key is written nowhere."""
REQUEST = "request.json"
_PROGRAM = "oraclepack.engines.ask_direct"

_ANTHROPIC, _GOOGLE, _XAI = "anthropic", "google", "xai"
_ADDRESSES = {
    _ANTHROPIC: ("ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1"),
    _GOOGLE: ("GEMINI_BASE_URL", "https://generativelanguage.googleapis.com/v1beta"),
    _XAI: ("XAI_BASE_URL", "https://api.x.ai/v1"),
    OPENROUTER: ("OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"),
}
"""The variable of the user's environment that names another address, and the usual one."""
_NEEDS_BROWSER = "it is a matter of the browser"
REFUSED = {
    "--followup": "a conversation is continued by oracle alone",
    "--followup-model": "a conversation is continued by oracle alone",
    "--exec-session": "a stored session is oracle's own",
    "--generate-image": _NEEDS_BROWSER,
    "--edit-image": _NEEDS_BROWSER,
    "--aspect": _NEEDS_BROWSER,
    "--youtube": _NEEDS_BROWSER,
    "--browser-follow-up": _NEEDS_BROWSER,
    "--browser-research": _NEEDS_BROWSER,
    "--remote-host": "it is another machine's oracle",
    "--max-file-size-bytes": "the limit for a file is 1 MB",
}
"""Flags of oracle that change an answer and mean nothing here, and why.

What only steers the browser, logging or time limits is ignored.
"""
_EFFORTS = {
    "gpt-6-astra": "xhigh",
    "gpt-5.6": "xhigh",
    "gpt-5.6-sol": "xhigh",
    "gpt-5.5-pro": "xhigh",
    "gpt-5.5": "xhigh",
    "gpt-5.4-pro": "xhigh",
    "gpt-5.4": "xhigh",
    "gpt-5.2-pro": "xhigh",
    "gpt-5.2": "xhigh",
    "gpt-5.1": "high",
}
"""What oracle asks for where the call does not say; other models get none."""
_NEWER_SEARCH = frozenset({"gpt-6-astra", "grok-4.1"})


class SentFile(msgspec.Struct, frozen=True):
    """An attached file, and what was in it when the key of the question was made."""

    path: str
    """From the working directory of the call."""
    sha256: str


class DirectRequest(msgspec.Struct, frozen=True):
    """A question with where it goes and where its answer is written."""

    dialect: Dialect
    address: str
    """Without what is of the API itself, such as `/responses`."""
    model: str
    prompt: str
    output: str
    """The private path of the call."""
    session: str
    """A name that is printed and recorded."""
    files: tuple[SentFile, ...] = ()
    layout: Layout = Layout.FILES_FIRST
    search: str = ""
    effort: str = ""
    mode: str = ""
    max_output: int | None = None
    background: bool = False
    is_native: bool = True
    """The provider's own address; elsewhere `/responses` may not be served."""
    seconds: float = 7200.0


def direct_request(
    question: OracleQuestion,
    model: str,
    route: ApiRoute,
    around: OracleContext,
    environment: Mapping[str, str],
) -> DirectRequest | Refusal:
    """The request for a question to one model, whose name oracle has resolved.

    Its files, its place and its time limit are not known here.
    """
    for flag, why in REFUSED.items():
        if flag in question.flags:
            return Refusal(f"{flag} is not for --engine direct: {why}", subject=flag)
    dialect, address = _where(question, model, route, around, environment)
    if not http.is_safe_address(address):
        return Refusal(f"no key is sent to {address}: it must be an https address")
    deployment = last_flag(question, "--azure-deployment")
    is_responses = dialect is Dialect.RESPONSES
    limit = last_flag(question, "--max-output") or ""
    effort = last_flag(question, "--reasoning-effort") or _EFFORTS.get(model, "")
    return DirectRequest(
        dialect=dialect,
        address=address.rstrip("/"),
        model=(deployment if route.provider == AZURE else None) or api_name(model),
        prompt=question.prompt,
        output="",
        session="",
        search=_search(question, model),
        effort=effort if is_responses or dialect is Dialect.CHAT else "",
        mode=(last_flag(question, "--reasoning-mode") or "") if is_responses else "",
        max_output=int(limit) if limit.isdecimal() else None,
        background=is_responses and vendor_of(model) != _XAI,
        is_native=route.provider != COMPATIBLE,
    )


def question_of(request: DirectRequest, cwd: str = "") -> Question:
    """The question with its files, each as it was when the key was made. Raises InputError."""
    texts = []
    for file in request.files:
        data = read_content(Path(cwd, file.path)).data
        if data is None or sha256_bytes(data) != file.sha256:
            raise InputError(f"{file.path} was changed meanwhile")
        texts.append((file.path, data.decode("utf-8", "replace")))
    return Question(
        model=request.model,
        prompt=request.prompt,
        files=texts,
        layout=request.layout,
        search=request.search,
        effort=request.effort,
        mode=request.mode,
        max_output=request.max_output,
        background=request.background,
    )


def direct_argv(folder: Path) -> tuple[str, ...]:
    """The program that sends the request in a folder; no variable changes what it runs."""
    return (sys.executable, "-I", "-m", _PROGRAM, str(folder / REQUEST))


def _where(
    question: OracleQuestion,
    model: str,
    route: ApiRoute,
    around: OracleContext,
    environment: Mapping[str, str],
) -> tuple[Dialect, str]:
    """The API and the address. A pack's `--base-url` means OpenAI-compatible chat."""
    if route.provider == AZURE:
        return Dialect.RESPONSES, route.responses
    by_flag = last_flag(question, "--base-url")
    by_config = config_of(around).get("apiBaseUrl")
    named = by_flag or (by_config if isinstance(by_config, str) else "")
    is_openrouter = "openrouter.ai" in (urlsplit(named).hostname or "") if named else False
    # A key goes where oracle would send it: that of OpenRouter to no other host.
    if named and (route.provider != OPENROUTER or is_openrouter):
        return Dialect.CHAT, named
    vendor = vendor_of(model)
    is_elsewhere = route.provider == COMPATIBLE and vendor in _ADDRESSES
    provider = vendor if is_elsewhere else route.provider
    if provider not in _ADDRESSES:
        address = route.responses or environment.get("OPENAI_BASE_URL", "")
        return Dialect.RESPONSES, address.strip()
    variable, usual = _ADDRESSES[provider]
    address = environment.get(variable, "").strip() or usual
    if provider == _ANTHROPIC:
        bare = address.rstrip("/")
        return Dialect.MESSAGES, bare if bare.endswith("/v1") else f"{bare}/v1"
    dialects = {_GOOGLE: Dialect.GEMINI, _XAI: Dialect.RESPONSES}
    return dialects.get(provider, Dialect.CHAT), address


def _search(question: OracleQuestion, model: str) -> str:
    """The tool for searching the web that oracle sends; empty where it sends none."""
    wanted: Sequence[str] = question.flags.get("--search", ())
    if wanted and wanted[-1].strip().lower() in {"off", "false", "no", "0"}:
        return ""
    if model.startswith("claude"):
        return ""
    return "web_search" if model in _NEWER_SEARCH else "web_search_preview"
